/*
** Replaces custom calls that spell an operation of XLA's by that operation, and removes those that are
** hints to a partitioner or to a converter. LAPACK's stay: kernels run them (kernels/linalg/linalg_kernel.c).
** Factorisations that XLA expands on every backend become LAPACK's, which have the same results.
*/
#include <string.h>

#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

/* Calls that annotate the placement of data and return their operand; some return nothing. */
static const char *const hints[] = {
    "Sharding",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.PropagationBarrier",
    "xla.sdy.ShardingGroup",
    "annotate_device_placement",
    "InspectSharding",
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "mark_tensor", /* the bounds of composites, by LiteRT and torch_xla */
};

typedef struct Spelling {
  const char *target;
  Opcode opcode;
} Spelling;

static const Spelling spellings[] = {
    {"TopK", HLO_TOPK},        {"mhlo.topk", HLO_TOPK}, {"stablehlo.topk", HLO_TOPK},
    {"mhlo.erf", HLO_ERF},     {"mhlo.tan", HLO_TAN},   {"mhlo.acos", HLO_ACOS},
    {"mhlo.acosh", HLO_ACOSH}, {"mhlo.asin", HLO_ASIN}, {"mhlo.asinh", HLO_ASINH},
    {"mhlo.atanh", HLO_ATANH}, {"mhlo.cosh", HLO_COSH}, {"mhlo.sinh", HLO_SINH},
};

static bool gives_nothing(const Instruction *x) {
  return shape_is_tuple(x->shape) && x->shape->tuple_size == 0;
}

static bool is_hint(const Instruction *x) {
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
    if (strcmp(x->a->custom_call_target, hints[i]) == 0) {
      return x->operand_count == 1 &&
             (gives_nothing(x) || shape_compatible(x->shape, x->operands[0]->shape));
    }
  }
  return false;
}

static Opcode spelled(const Instruction *x) {
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    if (strcmp(x->a->custom_call_target, spellings[i].target) == 0) return spellings[i].opcode;
  }
  return HLO_CUSTOM_CALL;
}

static bool says_smallest(const char *attributes) {
  return attributes &&
         (strstr(attributes, "largest = false") || strstr(attributes, "largest=false"));
}

/* The result's shape determines k: (values, s32 positions), each [..., k]. */
static bool is_topk(const Instruction *x, Attributes *attributes) {
  const Shape *shape = x->shape;
  if (shape->type != TUPLE || shape->tuple_size != 2 || x->operand_count != 1) return false;
  const Shape *values = shape->elements[0], *operand = x->operands[0]->shape;
  if (!shape_is_array(values) || !shape_is_array(operand) || !operand->rank) return false;
  if (values->rank != operand->rank || values->type != operand->type) return false;
  int last = values->rank - 1;
  for (int d = 0; d < last; d++) {
    if (values->dims[d] != operand->dims[d]) return false;
  }
  if (values->dims[last] > operand->dims[last]) return false;
  if (shape->elements[1]->type != S32 || !shape_same_dims(shape->elements[1], values)) return false;
  attributes->k = values->dims[last];
  const FrontendAttributes *frontend = x->a->frontend_attributes;
  attributes->largest =
      !says_smallest(x->a->backend_config) && !says_smallest(frontend ? frontend->text : NULL);
  return true;
}

static bool is_floating_unary(const Instruction *x) {
  return x->operand_count == 1 && type_is_floating(x->shape->type) &&
         shape_compatible(x->shape, x->operands[0]->shape);
}

/* ---- Factorisations ---- */

/* Returns LAPACK's attributes for the config of an Eigh call: "lower,sorts,iterations,tolerance", in quotes. LAPACK sorts the
** values, which is a valid order also for a call that does not ask for one. */
static const char *eigh_config(const char *config) {
  return config && config[strspn(config, "\" ")] == '0' ? "{mode = 86 : ui8, uplo = 85 : ui8}"
                                                        : "{mode = 86 : ui8, uplo = 76 : ui8}";
}

/* Returns the name of LAPACK's routine without its type's letter; NULL for any other call. */
static const char *routine_of(const Instruction *x, bool is_complex) {
  const char *target = x->a->custom_call_target;
  int results = shape_is_tuple(x->shape) ? x->shape->tuple_size : 1;
  if (strcmp(target, "Qr") == 0 && x->operand_count == 1 && results == 2) return "geqrf";
  if (strcmp(target, "Eigh") == 0 && x->operand_count == 1 && results == 2) {
    return is_complex ? "heevd" : "syevd";
  }
  if (strcmp(target, "ProductOfElementaryHouseholderReflectors") == 0 && x->operand_count == 2 &&
      results == 1) {
    return is_complex ? "ungqr" : "orgqr";
  }
  return NULL;
}

/* Returns the shape of a routine's result: that of the call, of f32 for narrower floats, and with LAPACK's status. */
static const Shape *routine_shape(Arena *arena, const Shape *shape, bool is_narrow,
                                  bool has_status) {
  if (!shape_is_tuple(shape)) return is_narrow ? shape_with_type(arena, shape, F32) : shape;
  const Shape *parts[3];
  for (int i = 0; i < 2; i++) {
    parts[i] = routine_shape(arena, shape->elements[i], is_narrow, false);
  }
  const Shape *values = parts[1];
  int rank = values->rank > 0 ? values->rank - 1 : 0;
  Error error;
  parts[2] = has_status ? shape_make(arena, S32, rank, values->dims, &error) : NULL;
  return shape_tuple(arena, has_status ? 3 : 2, parts);
}

static bool factorise(Instruction *x) {
  Arena *arena = x->parent->module->arena;
  PrimitiveType type = x->operand_count ? x->operands[0]->shape->type : TUPLE;
  bool is_narrow = type == F16 || type == BF16;
  char letter = is_narrow || type == F32 ? 's'
                : type == F64            ? 'd'
                : type == C64            ? 'c'
                : type == C128           ? 'z'
                                         : 0;
  const char *routine = letter ? routine_of(x, letter == 'c' || letter == 'z') : NULL;
  if (!routine) return false;
  bool is_eigh = strcmp(x->a->custom_call_target, "Eigh") == 0;
  if (shape_is_tuple(x->shape) &&
      !(shape_is_array(x->shape->elements[0]) && shape_is_array(x->shape->elements[1]))) {
    return false;
  }
  Attributes attributes, element;
  attributes_init(&attributes);
  attributes_init(&element);
  attributes.custom_call_target = arena_printf(arena, "lapack_%c%s_ffi", letter, routine);
  attributes.backend_config = is_eigh ? eigh_config(x->a->backend_config) : "{}";
  Instruction *operands[2], *parts[2];
  for (int i = 0; i < x->operand_count; i++) {
    operands[i] =
        is_narrow ? computation_add_convert(x->parent, x->operands[i], F32) : x->operands[i];
  }
  Instruction *call = computation_add(x->parent, HLO_CUSTOM_CALL,
                                      routine_shape(arena, x->shape, is_narrow, is_eigh), operands,
                                      x->operand_count, &attributes);
  if (!shape_is_tuple(x->shape)) {
    instruction_become(x, is_narrow ? HLO_CONVERT : HLO_COPY, &call, 1, NULL);
    return true;
  }
  for (int i = 0; i < 2; i++) {
    element.tuple_index = i;
    Instruction *part = computation_add(x->parent, HLO_GET_TUPLE_ELEMENT, call->shape->elements[i],
                                        &call, 1, &element);
    parts[i] = is_narrow ? computation_add_convert(part->parent, part, type) : part;
  }
  instruction_become(x, HLO_TUPLE_OP, parts, 2, NULL);
  return true;
}

static bool rename_call(Instruction *x, void *data) {
  if (x->opcode != HLO_CUSTOM_CALL || !x->a->custom_call_target) return false;
  if (factorise(x)) return true;
  Attributes attributes;
  attributes_init(&attributes);
  if (is_hint(x) && gives_nothing(x)) {
    instruction_become(x, HLO_TUPLE_OP, NULL, 0, NULL);
    return true;
  }
  Opcode opcode = is_hint(x) ? HLO_COPY : spelled(x);
  if (opcode == HLO_CUSTOM_CALL) return false;
  if (opcode == HLO_TOPK ? !is_topk(x, &attributes) : opcode != HLO_COPY && !is_floating_unary(x)) {
    return false; /* unknown form: it may belong to the host */
  }
  instruction_become(x, opcode, x->operands, x->operand_count, &attributes);
  return true;
}

bool pass_custom_calls(Module *module) { return rewrite_each(module, rename_call, NULL); }
