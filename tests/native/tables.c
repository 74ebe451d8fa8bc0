/*
** Tests that no row of a table is missing. Each element-wise operation of opcodes.def has a value for every type
** that inference takes, and is emitted or listed here. Every operation has an inference rule, an evaluator rule, and a
** derivative and a batching rule, or a reason for having none. Every element-wise operation has a cost. Every element
** type is stored and loaded. Every function that generated code calls exists: otherwise this test does not link.
*/
#include <stdio.h>
#include <string.h>

#include "base/host/platform.h"
#include "codegen/codegen.h"
#include "derive/batch/batching.h"
#include "derive/gradient/linear.h"
#include "hlo/infer/builder.h"
#include "hlo/scalar/element.h"
#include "reference/eval.h"
#include "vectors/vector_functions.h"

#define VECTOR_FUNCTION(opcode, name, lanes, arity) (const void *)xla_##name##_##lanes,
static const void *const vector_functions[] = {
#include "vectors/vector_functions.def"
};
#undef VECTOR_FUNCTION

/* Element-wise operations that are not emitted for these types, with the reason. */
static const struct {
  const char *opcode;
  const char *types; /* separated by spaces; NULL: all */
} not_emitted[] = {
    {"mulhi", NULL}, /* products of double width; no program has needed it */
    /* With real operands, only in hand-written programs: */
    {"real", "f16 f32 f64 bf16 f8e5m2 f8e4m3fn f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz f8e4m3 f8e3m4"},
    {"imag", "f16 f32 f64 bf16 f8e5m2 f8e4m3fn f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz f8e4m3 f8e3m4"},
    /* A chain of operations in f16; the last bits of exp show in its results: */
    {"logistic", "f8e5m2 f8e4m3fn f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz f8e4m3 f8e3m4"},
    /* The exponent's sign depends on its type, which 32-bit lanes do not show: */
    {"power", "s2 s4 s8 s16 u2 u4 u8 u16"},
    {NULL, NULL},
};

static int failures, rules;

static void fail(Opcode opcode, const char *what) {
  failures++;
  printf("%s: %s\n", opcode_name(opcode), what);
}

static void fail_for(Opcode opcode, PrimitiveType type, const char *what) {
  failures++;
  printf("%s of %s: %s\n", opcode_name(opcode), type_name(type), what);
}

static bool is_excepted(Opcode opcode, PrimitiveType type) {
  for (int i = 0; not_emitted[i].opcode; i++) {
    if (strcmp(not_emitted[i].opcode, opcode_name(opcode)) != 0) continue;
    if (!not_emitted[i].types || strstr(not_emitted[i].types, type_name(type))) return true;
  }
  return false;
}

static void apply(void *argument) {
  const Instruction *instruction = argument;
  PrimitiveType type = instruction->operands[0]->shape->type;
  Scalar one = scalar_one(type);
  if (instruction->operand_count == 1) {
    scalar_unary(instruction, type, one);
  } else {
    scalar_binary(instruction, type, one, one);
  }
}

static void check(Opcode opcode, PrimitiveType type) {
  Builder *builder = builder_new("row");
  Error error = {0};
  Attributes attributes;
  attributes_init(&attributes);
  attributes.exponent_bits = 5;
  attributes.mantissa_bits = 2;
  Instruction *operands[2];
  int count = opcode_rows[opcode].arity;
  int64_t four = 4;
  const Shape *shape = shape_make(builder->module->arena, type, 1, &four, NULL);
  for (int i = 0; i < count; i++) {
    operands[i] = builder_parameter(builder, i, shape, NULL, &error);
  }
  Instruction *instruction = builder_add(builder, opcode, NULL, operands, count, &attributes,
                                         (Int64List){.count = -1}, &error);
  if (instruction) {
    rules++;
    if (!platform_try(apply, instruction, &error)) fail_for(opcode, type, error.message);
    bool emits = can_fuse(&codegen_target, instruction);
    bool is_stored_only = type_computed_in(type) != type; /* rewrite/expand/normalize_floats.c */
    if (!emits && !is_stored_only && codegen_target.has_type(type) && !is_excepted(opcode, type)) {
      fail_for(opcode, type,
               "src/codegen does not write it; if it need not, add it to not_emitted in "
               "tests/native/tables.c");
    }
  }
  builder_free(builder);
}

/* Each operation has an inference rule. */
static void check_inference(Opcode opcode) {
  Builder *builder = builder_new("row");
  Error error = {0};
  Attributes attributes;
  attributes_init(&attributes);
  builder_add(builder, opcode, NULL, NULL, 0, &attributes, (Int64List){.count = -1}, &error);
  if (strstr(error.message, "no shape inference rule")) {
    fail(opcode, "no inference rule in src/hlo/infer/inference.c");
  }
  builder_free(builder);
}

/* Each operation has an evaluator rule, unless it is an argument or needs other devices or the host. */
static void check_evaluation(Opcode opcode) {
  Instruction instruction = {.opcode = opcode};
  OpCategory category = opcode_category(opcode);
  bool needs_none = category == COLLECTIVE || category == TRANSFER || opcode == HLO_CUSTOM_CALL ||
                    opcode == HLO_PARAMETER;
  if (!needs_none && !eval_knows(&instruction)) {
    fail(opcode, "no evaluator rule in src/reference/eval.c");
  }
}

/* Each operation has a derivative, or the reason for having none. */
static void check_derivative(Opcode opcode) {
  const Rule *rule = &derivative_rules[opcode];
  bool some =
      rule->linear_operands || rule->linearize || rule->replace || rule->is_zero || rule->none;
  for (int k = 0; k < 3; k++) some |= rule->formulas[k] != NULL;
  if (!some) fail(opcode, "no derivative, and no reason in hlo/ir/opcodes.def");
  if (rule->linear_operands && !rule->transpose) fail(opcode, "linear, but no transposition");
}

/* Each operation has a batching rule, or the reason for having none. */
static void check_batching(Opcode opcode) {
  const BatchRow *row = &batch_rows[opcode];
  if (row->rule || row->none) return;
  bool needs_none = row->is_source && opcode_rows[opcode].arity == 0;
  if (!needs_none) fail(opcode, "no batching rule, and no reason in hlo/ir/opcodes.def");
}

/* Each element-wise operation has a cost; other ones have none. */
static void check_cost(Opcode opcode) {
  if ((opcode_cost(opcode) != COST_NONE) != opcode_is_elementwise(opcode)) {
    fail(opcode, "its cost, in src/plan/fusible.c");
  }
}

/* Each element type is stored and loaded. */
static void check_type(PrimitiveType type) {
  _Alignas(16) unsigned char memory[16] = {0};
  Scalar one = scalar_one(type), back;
  scalar_store(type, memory, 0, one);
  back = scalar_load(type, memory, 0);
  if (back.u != one.u) {
    failures++;
    printf("%s: src/value/scalar.c does not store it\n", type_name(type));
  }
}

int main(void) {
  int functions = 0;
  for (size_t i = 0; i < sizeof vector_functions / sizeof *vector_functions; i++) {
    functions += vector_functions[i] != NULL;
  }
  for (int type = 0; type < 64; type++) {
    if (type_is_array((PrimitiveType)type)) check_type((PrimitiveType)type);
  }
  for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
    OpCategory category = opcode_category((Opcode)opcode);
    check_inference((Opcode)opcode);
    check_evaluation((Opcode)opcode);
    check_derivative((Opcode)opcode);
    check_batching((Opcode)opcode);
    check_cost((Opcode)opcode);
    if (category != ELEMENTWISE_UNARY && category != ELEMENTWISE_BINARY) continue;
    for (int type = 0; type < 64; type++) {
      if (type_is_array((PrimitiveType)type)) check((Opcode)opcode, (PrimitiveType)type);
    }
  }
  printf("%d rules, %d functions, %d failures\n", rules, functions, failures);
  return failures != 0;
}
