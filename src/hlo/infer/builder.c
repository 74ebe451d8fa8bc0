#include "hlo/infer/builder.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "hlo/infer/inference_rules.h"
#include "hlo/infer/verifier.h"

/* Threshold MAX_PARAMETERS: more parameters are refused. No path. */
enum { MAX_PARAMETERS = 1 << 16 };

/* ---- Names that the text format can read back ---- */

static bool is_reserved(const char *name) {
  static const char *const words[] = {"nan", "inf", "true", "false"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!strcmp(name, words[i])) return true;
  }
  return type_from_name(name, strlen(name)) != PRIMITIVE_TYPE_INVALID;
}

static const char *text_name(Arena *arena, const char *name, const char *otherwise) {
  if (!name || !*name) return otherwise;
  char *copy = arena_strdup(arena, name);
  for (char *c = copy; *c; c++) {
    if (!isalnum((unsigned char)*c) && !strchr("_.-", *c)) *c = '_';
  }
  bool starts_well = isalpha((unsigned char)*copy) || *copy == '_';
  return arena_printf(arena, "%s%s%s", starts_well ? "" : "_", copy, is_reserved(copy) ? "_" : "");
}

/* ---- Making and ending builders ---- */

Builder *builder_new(const char *name) {
  Builder *builder = scope_new(1, sizeof *builder);
  builder->module = module_new("computation");
  Arena *arena = builder->module->arena;
  builder->module->name = text_name(arena, name, "computation");
  builder->computation = module_add_computation(builder->module, builder->module->name);
  return builder;
}

void builder_free(Builder *builder) {
  if (!builder) return;
  module_free(builder->module);
  scope_free(builder);
}

static bool check_open(const Builder *builder, const char *operation, Error *error) {
  if (builder->module) return true;
  return error_set_op(error, STATUS_FAILED_PRECONDITION, operation,
                      "the computation was already built; a builder builds once");
}

/* ---- Broadcasting: XlaBuilder's conveniences, spelled out in HLO ---- */

typedef struct Operation {
  Builder *builder;
  Inference in; /* for reporting */
  Instruction as_given;
  Instruction **operands; /* a copy, whose items are replaced by broadcast ones */
} Operation;

static Instruction *add_shaped(Operation *op, Opcode opcode, const Dims *dims, Instruction *operand,
                               Int64List dimensions) {
  const Shape *shape = dims_shape(&op->in, operand->shape->type, dims);
  if (!shape) return NULL;
  return computation_add(op->builder->computation, opcode, shape, &operand, 1,
                         ATTRIBUTES(.dimensions = dimensions));
}

/* Broadcasts a scalar to `target`. */
static Instruction *broadcast_scalar(Operation *op, Instruction *scalar, const Dims *target) {
  Dims dims = *target;
  dims.any_dynamic = false;
  return add_shaped(op, HLO_BROADCAST, &dims, scalar, (Int64List){0, NULL});
}

/* Broadcasts an operand, whose dimension i becomes dimension dimensions[i] of `target` with the same size. */
static Instruction *broadcast_in_dim(Operation *op, Instruction *operand, const Dims *target,
                                     Int64List dimensions) {
  Dims dims = *target;
  for (int d = 0; d < dims.rank; d++) dims.dynamic[d] = false;
  dims.any_dynamic = false;
  int64_t *copy = ARENA_ARRAY(op->in.arena, int64_t, dimensions.count);
  for (int i = 0; i < dimensions.count; i++) {
    int64_t d = copy[i] = dimensions.items[i];
    dims.sizes[d] = operand->shape->dims[i];
    dims.dynamic[d] = dimension_is_dynamic(operand->shape, i);
    dims.any_dynamic |= dims.dynamic[d];
  }
  return add_shaped(op, HLO_BROADCAST, &dims, operand, (Int64List){dimensions.count, copy});
}

/* Broadcasts degenerate dimensions: a reshape removes them, and the other dimensions are broadcast. */
static Instruction *broadcast_degenerate(Operation *op, Instruction *operand, const Dims *target) {
  Dims kept = {0};
  int64_t *dimensions = ARENA_ARRAY(op->in.arena, int64_t, target->rank);
  for (int d = 0; d < target->rank; d++) {
    if (operand->shape->dims[d] != target->sizes[d]) continue;
    dimensions[kept.rank] = d;
    dims_push(&op->in, &kept, operand->shape->dims[d], dimension_is_dynamic(operand->shape, d));
  }
  Instruction *reshaped = add_shaped(op, HLO_RESHAPE, &kept, operand, (Int64List){0, NULL});
  if (!reshaped) return NULL;
  return broadcast_in_dim(op, reshaped, target, (Int64List){kept.rank, dimensions});
}

/* Broadcasts operand `index`, of at most the rank of `target`, to its dimensions. */
static bool broadcast_to(Operation *op, int index, const Dims *target, Int64List dimensions) {
  Instruction **operand = &op->operands[index];
  const Shape *shape = (*operand)->shape;
  if (shape->rank == 0 && target->rank > 0) {
    *operand = broadcast_scalar(op, *operand, target);
    return *operand != NULL;
  }
  if (shape->rank < target->rank) {
    *operand = broadcast_in_dim(op, *operand, target, dimensions);
    if (!*operand) return false;
    shape = (*operand)->shape;
  }
  for (int d = 0; d < target->rank; d++) {
    if (shape->dims[d] == target->sizes[d]) continue;
    *operand = broadcast_degenerate(op, *operand, target);
    return *operand != NULL;
  }
  return true;
}

static bool check_equal_ranks(Inference *in, const Shape *shape, Int64List dimensions) {
  bool identity = dimensions.count <= 0 || dimensions.count == shape->rank;
  for (int i = 0; i < dimensions.count && identity; i++) identity = dimensions.items[i] == i;
  REQUIRE(in, identity,
          "broadcast_dimensions=%s with operands %s and %s of the same rank; it must be absent or "
          "the identity",
          text_list(in, dimensions), text_operand(in, 0), text_operand(in, 1));
  return true;
}

/* Dimensions that would fit, " [1]", for an error; the last ones that do, as NumPy has it. */
static const char *text_fitting(Inference *in, const Shape *lower, const Shape *higher) {
  const char *text = "]";
  int d = higher->rank;
  for (int i = lower->rank - 1; i >= 0; i--) {
    do {
      if (--d < i) return "";
    } while (higher->dims[d] != lower->dims[i]);
    text = arena_printf(in->arena, "%s%d%s", i ? "," : " [", d, text);
  }
  return text;
}

static bool check_in_dim(Inference *in, const Shape *lower, const Shape *higher,
                         Int64List dimensions) {
  REQUIRE(
      in, lower->rank == 0 || dimensions.count > 0,
      "operands %s and %s have different ranks; pass broadcast_dimensions%s or reshape one of them",
      text_operand(in, 0), text_operand(in, 1), text_fitting(in, lower, higher));
  REQUIRE(in, dimensions.count <= 0 || dimensions.count == lower->rank,
          "broadcast_dimensions=%s has %d entries for operands %s and %s; its size must be %d, the "
          "rank of the lower-rank operand",
          text_list(in, dimensions), dimensions.count, text_operand(in, 0), text_operand(in, 1),
          lower->rank);
  for (int i = 0; i < dimensions.count; i++) {
    int64_t d = dimensions.items[i];
    REQUIRE(in, d >= 0 && d < higher->rank,
            "broadcast_dimensions=%s: %lld is out of range for operands %s and %s; the higher-rank "
            "operand has rank %d",
            text_list(in, dimensions), (long long)d, text_operand(in, 0), text_operand(in, 1),
            higher->rank);
    REQUIRE(
        in, i == 0 || dimensions.items[i - 1] < d,
        "broadcast_dimensions=%s with operands %s and %s: %lld comes after %lld; the order must "
        "be strictly increasing",
        text_list(in, dimensions), text_operand(in, 0), text_operand(in, 1), (long long)d,
        (long long)dimensions.items[i - 1]);
    REQUIRE(in, lower->dims[i] == higher->dims[d] || lower->dims[i] == 1 || higher->dims[d] == 1,
            "broadcast_dimensions=%s match dimension %d of size %lld with dimension %lld of size "
            "%lld of operands %s and %s; the sizes must be equal, or one of them 1",
            text_list(in, dimensions), i, (long long)lower->dims[i], (long long)d,
            (long long)higher->dims[d], text_operand(in, 0), text_operand(in, 1));
  }
  return true;
}

/* Merges a dimension of an operand into that of the result. The sizes are equal, or one is 1. */
static void merge_dimension(Dims *dims, int64_t d, int64_t size, bool dynamic) {
  if (dims->sizes[d] == size) {
    dims->dynamic[d] |= dynamic;
  } else if (dims->sizes[d] == 1) {
    dims->sizes[d] = size;
    dims->dynamic[d] = dynamic;
  }
  dims->any_dynamic |= dims->dynamic[d];
}

/* Finds the dimensions that two operands broadcast to, as on XLA's broadcasting page. */
static bool binary_dims(Operation *op, Int64List dimensions, Dims *result) {
  Inference *in = &op->in;
  const Shape *lhs = operand_shape(in, 0), *rhs = operand_shape(in, 1);
  const Shape *lower = lhs->rank < rhs->rank ? lhs : rhs;
  const Shape *higher = lower == lhs ? rhs : lhs;
  bool equal_ranks = lhs->rank == rhs->rank;
  if (equal_ranks ? !check_equal_ranks(in, lhs, dimensions)
                  : !check_in_dim(in, lower, higher, dimensions)) {
    return false;
  }
  dims_of(result, higher);
  for (int i = 0; i < lower->rank; i++) {
    int64_t d = equal_ranks ? i : dimensions.items[i];
    REQUIRE(
        in, lower->dims[i] == higher->dims[d] || lower->dims[i] == 1 || higher->dims[d] == 1,
        "operands %s and %s have incompatible shapes; dimension %d must be equal in both, or 1 in "
        "one of them",
        text_operand(in, 0), text_operand(in, 1), i);
    merge_dimension(result, d, lower->dims[i], dimension_is_dynamic(lower, i));
  }
  return true;
}

static bool broadcast_binary(Operation *op, Int64List dimensions) {
  if (op->in.operand_count != 2) return true; /* inference will say */
  if (!check_array(&op->in, 0, "lhs") || !check_array(&op->in, 1, "rhs")) return false;
  Dims target;
  return binary_dims(op, dimensions, &target) && broadcast_to(op, 0, &target, dimensions) &&
         broadcast_to(op, 1, &target, dimensions);
}

/* Broadcasts the scalars of clamp and select to the dimensions of the other operands. */
static bool broadcast_ternary(Operation *op) {
  const Shape *target = NULL;
  for (int i = 0; i < op->in.operand_count; i++) {
    const Shape *shape = operand_shape(&op->in, i);
    if (!shape_is_array(shape)) return true; /* inference will say */
    if (!target && shape->rank > 0) target = shape;
  }
  if (!target) return true;
  Dims dims;
  dims_of(&dims, target);
  for (int i = 0; i < op->in.operand_count; i++) {
    Instruction **operand = &op->operands[i];
    if ((*operand)->shape->rank > 0) continue;
    if (!(*operand = broadcast_scalar(op, *operand, &dims))) return false;
  }
  return true;
}

static bool broadcast_operands(Operation *op, Int64List dimensions) {
  switch (opcode_category(op->as_given.opcode)) {
  case ELEMENTWISE_BINARY: return broadcast_binary(op, dimensions);
  case ELEMENTWISE_TERNARY:
    if (dimensions.count <= 0) return broadcast_ternary(op);
    break;
  default:
    if (dimensions.count <= 0) return true;
    break;
  }
  return broken(&op->in,
                "broadcast_dimensions=%s is given; it belongs to element-wise operations "
                "of two operands",
                text_list(&op->in, dimensions));
}

/* ---- Adding operations ---- */

/* Selects between tuples, as XlaBuilder does, by a conditional whose branches return their operand. */
static Instruction *select_tuple(Operation *op) {
  Builder *builder = op->builder;
  Attributes a;
  attributes_init(&a);
  Computation **branches[] = {&a.true_computation, &a.false_computation};
  for (int i = 0; i < 2; i++) {
    *branches[i] = module_add_computation(builder->module, "passthrough");
    computation_add_parameter(*branches[i], 0, op->operands[1 + i]->shape, NULL);
  }
  return builder_add(builder, HLO_CONDITIONAL, NULL, op->operands, 3, &a, (Int64List){-1, NULL},
                     op->in.error);
}

/* Returns (state, bits) for an array shape, with unsigned bits, as XlaBuilder::RngBitGenerator does. */
static const Shape *generator_shape(Arena *arena, const Shape *state, const Shape *shape) {
  static const PrimitiveType types[] = {U8, U16, U32, U64};
  if (!shape || !shape_is_array(shape)) return shape;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (type_bits(shape->type) == type_bits(types[i]) && !type_is_complex(shape->type))
      shape = shape_with_type(arena, shape, types[i]);
  }
  return shape_tuple(arena, 2, (const Shape *const[]){state, shape});
}

static bool check_operands(const Builder *builder, Opcode opcode, Instruction *const *operands,
                           int count, Error *error) {
  for (int i = 0; i < count; i++) {
    if (!operands[i])
      return invalid_argument(error, opcode_name(opcode), "operand %d is missing", i);
    if (operands[i]->parent != builder->computation) {
      return invalid_argument(error, opcode_name(opcode),
                              "operand %d belongs to another builder; operands must be made by the "
                              "builder that uses them",
                              i);
    }
  }
  return true;
}

static Instruction *add(Operation *op, Int64List dimensions) {
  const Instruction *given = &op->as_given;
  if (given->opcode == HLO_SELECT && given->operand_count == 3 &&
      shape_is_tuple(operand_shape(&op->in, 1))) {
    return select_tuple(op);
  }
  if (!broadcast_operands(op, dimensions)) return NULL;
  Instruction checked = op->as_given;
  checked.operands = op->operands;
  const Shape *shape = infer_checked_shape(op->in.arena, &checked, op->in.error);
  if (!shape) return NULL;
  return computation_add(op->builder->computation, checked.opcode,
                         checked.shape ? checked.shape : shape, op->operands, checked.operand_count,
                         checked.a);
}

Instruction *builder_add(Builder *builder, Opcode opcode, const Shape *shape,
                         Instruction *const *operands, int operand_count,
                         const Attributes *attributes, Int64List broadcast_dimensions,
                         Error *error) {
  const char *name = opcode_name(opcode);
  if (!check_open(builder, name, error) ||
      !check_operands(builder, opcode, operands, operand_count, error)) {
    return NULL;
  }
  if (opcode == HLO_PARAMETER || opcode == HLO_CONSTANT) {
    invalid_argument(error, name, "it has a number or a value; the builder has a method for it");
    return NULL;
  }
  Arena *arena = builder->module->arena;
  Operation op = {.builder = builder};
  Instruction *as_given = &op.as_given;
  *as_given = (Instruction){.opcode = opcode,
                            .shape = shape ? shape_copy(arena, shape) : NULL,
                            .operand_count = operand_count,
                            .parent = builder->computation};
  as_given->operands = arena_copy(arena, operands, sizeof *operands * (size_t)operand_count);
  op.operands = arena_copy(arena, operands, sizeof *operands * (size_t)operand_count);
  as_given->a = attributes ? attributes : builder->module->defaults;
  op.in = (Inference){arena, as_given, as_given->a, as_given->shape, operand_count, error};
  if (opcode == HLO_RNG_BIT_GENERATOR && operand_count == 1)
    as_given->shape = generator_shape(arena, operands[0]->shape, as_given->shape);

  /* On failure, the broadcasts and branches added so far are removed. */
  Computation *computation = builder->computation, before = *computation;
  int computations = builder->module->count;
  Instruction *added = add(&op, broadcast_dimensions);
  if (!added) {
    computation->count = before.count;
    computation->root = before.root;
    builder->module->count = computations;
  }
  return added;
}

Instruction *builder_parameter(Builder *builder, int64_t number, const Shape *shape,
                               const char *name, Error *error) {
  if (!check_open(builder, "parameter", error)) return NULL;
  Computation *computation = builder->computation;
  Arena *arena = builder->module->arena;
  if (number < 0 || number >= MAX_PARAMETERS) {
    invalid_argument(error, "parameter", "parameter number %lld of shape %s; it must be in [0, %d)",
                     (long long)number, shape_str(arena, shape), MAX_PARAMETERS);
    return NULL;
  }
  if (number < computation->parameter_count && computation->parameters[number]) {
    invalid_argument(error, "parameter",
                     "parameter number %lld of shape %s is already taken by %s; numbers must be "
                     "unique",
                     (long long)number, shape_str(arena, shape),
                     computation->parameters[number]->name);
    return NULL;
  }
  return computation_add_parameter(computation, number, shape_copy(arena, shape),
                                   text_name(arena, name, NULL));
}

Instruction *builder_constant(Builder *builder, const Literal *literal, Error *error) {
  if (!check_open(builder, "constant", error)) return NULL;
  return computation_add_constant(builder->computation,
                                  literal_copy(builder->module->arena, literal), NULL);
}

Instruction *builder_constant_of(Builder *builder, const Literal *literal, Error *error) {
  if (!check_open(builder, "constant", error)) return NULL;
  Module *module = builder->module;
  Literal *view = literal_view(module->arena, literal->shape, literal->data);
  Instruction *constant = computation_add_constant(builder->computation, view, NULL);
  module_own(module, literal->data);
  return constant;
}

Computation *builder_import(Builder *builder, const Computation *computation) {
  return module_clone_computation(builder->module, computation, NULL);
}

/* ---- Ending ---- */

static bool check_finish(const Builder *builder, const Instruction *root, Error *error) {
  const Computation *computation = builder->computation;
  if (computation->count == 0) {
    return error_set(error, STATUS_INVALID_ARGUMENT,
                     "build: computation %s has no instructions; it needs at least a root",
                     computation->name);
  }
  if (root && root->parent != computation) {
    return error_set(error, STATUS_INVALID_ARGUMENT,
                     "build: root %s belongs to another builder; it must be made by this one",
                     root->name);
  }
  for (int i = 0; i < computation->parameter_count; i++) {
    if (computation->parameters[i]) continue;
    return error_set(error, STATUS_INVALID_ARGUMENT,
                     "build: parameter number %d of %d is missing; numbers must be 0..n-1 without "
                     "gaps",
                     i, computation->parameter_count);
  }
  return true;
}

/* Moves the entry after the imported computations, which must precede it. */
static void move_entry_last(Module *module, Computation *entry) {
  int at = 0;
  while (module->computations[at] != entry) at++;
  for (; at + 1 < module->count; at++) module->computations[at] = module->computations[at + 1];
  module->computations[at] = entry;
}

Module *builder_finish(Builder *builder, Instruction *root, Error *error) {
  if (!check_open(builder, "build", error) || !check_finish(builder, root, error)) return NULL;
  Module *module = builder->module;
  Computation *computation = builder->computation;
  if (root) computation->root = root;
  computation_renumber(computation);
  move_entry_last(module, computation);
  module->entry = computation;
  if (!verify_module(module, error)) return NULL;
  builder->module = NULL;
  builder->computation = NULL;
  return module;
}
