/*
** Replaces custom calls that spell an operation of XLA's by that operation, and removes those that are
** hints to a partitioner. LAPACK's stay: kernels run them (kernels/linalg/linalg_kernel.c).
*/
#include <string.h>

#include "rewrite/rewrite.h"

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
  if (shape->elements[1]->type != S32) return false;
  attributes->k = values->dims[last];
  attributes->largest =
      !says_smallest(x->a->backend_config) && !says_smallest(x->a->frontend_attributes);
  return true;
}

static bool is_floating_unary(const Instruction *x) {
  return x->operand_count == 1 && type_is_floating(x->shape->type) &&
         shape_compatible(x->shape, x->operands[0]->shape);
}

static bool rename_call(Instruction *x, void *data) {
  if (x->opcode != HLO_CUSTOM_CALL || !x->a->custom_call_target) return false;
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
