/*
** Fuses the matrix of a dot into the dot, which then computes it block by block as it reads it: weights that are stored in
** fewer bytes, and dequantised. An array of the matrix's size is neither written nor read.
**
**     dot(x, convert(w))                        dot(x, w), if each number of w has that type's value
**     dot(x, fusion(w, scale), calls=f)         fusion(x, w, scale), calls={ dot(x, fusion(w, scale), calls=f) }
**
**     dot(x, dynamic-slice(w, i))               the same, with a loop of the slice alone
**
** The second is for loops that read fewer bytes than they write and have no other user. In the third, the dot reads the
** slice in place. An example is one layer's weights in an array of all layers' weights.
*/
#include "base/min_max.h"
#include "base/scope.h"
#include "plan/fusible.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold MIN_ELEMENTS. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
  MIN_ELEMENTS = 4096,
  /* Threshold MAX_INPUTS. Test: "loops of many inputs, and of many operations after a transpose" in
  ** core/quantised.test.mjs. */
  MAX_INPUTS = 32,
  /* Threshold MAX_COMPUTATIONS: engines take at most 100,000 functions in one module. No path. */
  MAX_COMPUTATIONS = 1 << 15,
};

/* Whether an operation converts exactly, and a dot of the result's type reads the operand as fast as the result. Other types
** would be converted by scalar code. Measured: 0.2 ms, not 18 ms, with 65,536 numbers of s16 (Node 20, 2026-11). */
static bool widens(const Instruction *x) {
  if (x->opcode != HLO_CONVERT) return false;
  PrimitiveType to = x->shape->type, from = x->operands[0]->shape->type;
  return (to == F32 || to == F16 || to == BF16) && type_widens(from) && type_holds(to, from);
}

/* Returns the bytes that a loop reads of an array: of one that is only sliced, those of the slices. */
static int64_t bytes_of(const Computation *loop, const Instruction *array) {
  int64_t sliced = 0;
  for (int i = 0; i < loop->count; i++) {
    const Instruction *x = loop->instructions[i];
    for (int k = 0; k < x->operand_count; k++) {
      if (x->operands[k] != array) continue;
      bool slices = x->opcode == HLO_DYNAMIC_SLICE || x->opcode == HLO_SLICE;
      bool is_same = x->opcode == HLO_RESHAPE || is_unpacking(x);
      if ((!slices && !is_same) || k > 0) return shape_bytes(array->shape);
      sliced += is_same ? bytes_of(loop, x) : shape_bytes(x->shape);
    }
  }
  return sliced;
}

/* Returns the bytes that a loop reads: of each array at most one element for each of the result. */
static int64_t bytes_read(const Computation *loop) {
  int64_t bytes = 0, results = shape_elements(loop->root->shape);
  for (int i = 0; i < loop->parameter_count; i++) {
    const Instruction *array = loop->parameters[i];
    bytes += min_i64(bytes_of(loop, array), divide_up(results * type_bits(array->shape->type), 8));
  }
  return bytes;
}

/* Whether a loop's code computes any range of its result's elements in row-major order. */
static bool has_ranges(const Computation *loop) {
  if (loop->root->opcode == HLO_REDUCE || loop->root->opcode == HLO_REDUCE_WINDOW ||
      loop->root->opcode == HLO_SCATTER) {
    return false;
  }
  Arena *arena = arena_new();
  LoopPlan plan;
  bool has = loop_plan_fusion(&plan, arena, loop) && !plan.addresses;
  arena_free(arena);
  return has;
}

/* Returns the array that a value is after exact conversions, whose number is added to `*steps`. */
static Instruction *widened(Instruction *x, int *steps) {
  while (widens(x)) {
    x = x->operands[0];
    ++*steps;
  }
  return x;
}

/* Returns the loop that computes an operand, reshaped or not; NULL if none does. */
static Instruction *loop_of(const Instruction *dot, int side) {
  Instruction *x = dot->operands[side];
  if (x->opcode == HLO_RESHAPE) x = x->operands[0];
  bool is_loop = x->opcode == HLO_FUSION && !fused_product(x) && shape_is_array(x->shape) &&
                 !x->a->control_predecessors.count;
  return is_loop && shape_elements(x->shape) >= MIN_ELEMENTS ? x : NULL;
}

/* Returns an array with the dimensions of another one. */
static Instruction *reshaped(Instruction *x, const Shape *like) {
  if (shape_same_dims(x->shape, like)) return x;
  Computation *computation = x->parent;
  const Shape *shape =
      shape_make(computation->module->arena, x->shape->type, like->rank, like->dims, NULL);
  return computation_add(computation, HLO_RESHAPE, shape, &x, 1, NULL);
}

/* ---- Conversions ---- */

static bool drop_conversion(Instruction *dot, int side) {
  Instruction *loop = loop_of(dot, side);
  int steps = 0;
  if (!loop) return false;
  Instruction *from = widened(loop->a->calls->root, &steps);
  if (!steps || from->opcode != HLO_PARAMETER) return false;
  dot->operands[side] =
      reshaped(loop->operands[from->parameter_number], dot->operands[side]->shape);
  return true;
}

/* ---- Loops ---- */

/* The uses of the computation's instructions, by id. */
typedef struct Uses {
  int *all, *kept, *dots; /* kept: uses other than slices; these may run after the slices */
} Uses;

/* Whether a loop only takes some lines of an array: heads of a stack of keys and values. A dot reads them in place. */
static bool takes_lines(const Computation *loop) {
  const Instruction *x = loop->root;
  int last = x->shape->rank - 1;
  if (x->opcode != HLO_SLICE || x->operands[0]->opcode != HLO_PARAMETER || last < 1) return false;
  for (int d = 0; d <= last; d++) {
    if (x->a->slice.items[d].stride != 1) return false;
  }
  return x->shape->dims[last] == x->operands[0]->shape->dims[last];
}

/* Whether a loop takes a few machine instructions per element, so that several dots may compute it. */
static bool is_light(const Computation *loop) {
  bool light = true;
  for (int i = 0; i < loop->count; i++) {
    const Instruction *x = loop->instructions[i];
    light &= x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT ||
             is_index_operation(x->opcode) || opcode_cost(x->opcode) == COST_LIGHT;
  }
  return light;
}

/* Whether a dot has more than one row of this operand for each matrix of the other one. */
static bool has_rows(const Instruction *dot, int side) {
  const Attributes *a = dot->a;
  const Shape *shape = dot->operands[side]->shape;
  Int64List batch = side ? a->rhs_batch_dims : a->lhs_batch_dims;
  Int64List depth = side ? a->rhs_contracting_dims : a->lhs_contracting_dims;
  int64_t rows = 1;
  for (int d = 0; d < shape->rank; d++) {
    if (!list_has(batch, d) && !list_has(depth, d)) rows *= shape->dims[d];
  }
  return rows > 1;
}

/* Whether a loop only rounds numbers of f32, in their order, to bf16: products with a vector do that as they read them. */
static bool only_rounds(const Computation *loop) {
  const Instruction *x = loop->root, *from = x->operand_count ? x->operands[0] : NULL;
  if (x->opcode != HLO_CONVERT || x->shape->type != BF16 || from->shape->type != F32) return false;
  while (from->opcode == HLO_RESHAPE || from->opcode == HLO_DYNAMIC_SLICE) {
    from = from->operands[0];
  }
  return from->opcode == HLO_PARAMETER;
}

/* Whether a dot that computes the loop's result moves fewer bytes. An example of the second kind are weights of f32 that are
** rounded to bf16: a loop of its own would write the result, which is read again. Measured, ms (Node 20, 2026-11): 2 M weights,
** 64 rows 14.7 -> 13.3, 8 rows 4.3 -> 4.3; 4 M weights, a vector, for which products have loops: 1.22 -> 0.76. */
static bool saves_bytes(const Instruction *dot, int side) {
  const Instruction *loop = loop_of(dot, side);
  int64_t result = shape_bytes(loop->shape), read = bytes_read(loop->a->calls);
  bool suits = has_rows(dot, 1 - side) ? is_light(loop->a->calls) : only_rounds(loop->a->calls);
  bool is_rounded = type_bits(loop->shape->type) == 16 && suits;
  int64_t twice = 2 * result + result / 64; /* with the starts of slices */
  return read < result || (is_rounded && read <= twice) || takes_lines(loop->a->calls);
}

static bool is_wanted(const Instruction *dot, int side, const Uses *uses) {
  const Instruction *loop = loop_of(dot, side), *x = dot->operands[side];
  const Instruction *other = dot->operands[1 - side];
  if (!loop || (x != loop && (uses->all[x->id] != 1 || uses->all[loop->id] != 1))) return false;
  if (uses->all[loop->id] != 1 &&
      (uses->dots[loop->id] != uses->all[loop->id] || !is_light(loop->a->calls))) {
    return false;
  }
  PrimitiveType type = loop->shape->type;
  bool is_float = type_is_floating(type) && type_bits(type) <= 32;
  bool is_f64 = dot->shape->type == F64 || other->shape->type == F64;
  return is_float && !is_f64 && type_is_floating(dot->shape->type) &&
         shape_elements(loop->shape) >= shape_elements(other->shape) &&
         loop->operand_count < MAX_INPUTS && saves_bytes(dot, side) && has_ranges(loop->a->calls);
}

/* Adds a conversion to f32 to a loop: the type that products are computed in. */
static Computation *converted(Computation *loop) {
  Instruction *root = loop->root;
  if (root->shape->type == F32) return loop;
  Arena *arena = loop->module->arena;
  const Shape *shape = shape_make(arena, F32, root->shape->rank, root->shape->dims, NULL);
  loop->root = computation_add(loop, HLO_CONVERT, shape, &root, 1, NULL);
  return loop;
}

/* Whether a slice is a contiguous part of an array: no dimension but the outermost of several elements is cut. */
static bool is_contiguous(const Instruction *slice) {
  bool is_cut = false;
  for (int d = slice->shape->rank - 1; d >= 0; d--) {
    if (is_cut && slice->shape->dims[d] > 1) return false;
    is_cut |= slice->shape->dims[d] != slice->operands[0]->shape->dims[d];
  }
  return true;
}

/* Returns the slice that a dot can read in place; NULL if there is none. An array that an iteration of a loop also updates
** is read before that. */
static Instruction *slice_of(const Instruction *dot, int side, const Uses *uses) {
  Instruction *x = dot->operands[side];
  PrimitiveType type = x->shape->type;
  if (x->opcode == HLO_RESHAPE && uses->all[x->id] == 1) x = x->operands[0];
  bool reads = type_is_floating(type) && (type == F32 || type_widens(type));
  if (x->opcode != HLO_DYNAMIC_SLICE || uses->all[x->id] != 1 || !reads ||
      x->a->control_predecessors.count) {
    return NULL;
  }
  PrimitiveType result = dot->shape->type, other = dot->operands[1 - side]->shape->type;
  if (!type_is_floating(result) || result == F64 || other == F64) return NULL;
  bool fits = shape_elements(x->shape) >= MIN_ELEMENTS && shape_elements(x->shape) <= INT32_MAX &&
              x->operand_count == 1 + x->shape->rank && x->operand_count < MAX_INPUTS;
  return fits && is_contiguous(x) && !uses->kept[x->operands[0]->id] ? x : NULL;
}

/* Makes the slice a loop of its own. */
static void make_loop(Instruction *slice) {
  Module *module = slice->parent->module;
  Computation *loop =
      module_add_computation(module, arena_printf(module->arena, "sliced_%s", slice->name));
  Instruction *parameters[MAX_INPUTS];
  for (int i = 0; i < slice->operand_count; i++) {
    parameters[i] = computation_add_parameter(loop, i, slice->operands[i]->shape, NULL);
  }
  loop->root = computation_add_named(loop, HLO_DYNAMIC_SLICE, slice->shape, parameters,
                                     slice->operand_count, slice->a, slice->name);
  instruction_become(slice, HLO_FUSION, slice->operands, slice->operand_count,
                     ATTRIBUTES(.calls = loop, .fusion_kind = FUSION_LOOP));
}

/* Whether a loop only converts an array exactly, and moves its elements. */
static bool only_converts(const Computation *loop) {
  for (int i = 0; i < loop->count; i++) {
    const Instruction *x = loop->instructions[i];
    bool joins = x->opcode == HLO_CONCATENATE || x->opcode == HLO_PAD;
    bool moves = x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT || is_unpacking(x) ||
                 (is_index_operation(x->opcode) && !joins);
    if (!moves && !widens(x)) return false;
  }
  return true;
}

/* Copies the instructions of the loop `from` into another loop, where `parameter` is the first parameter of `from`. Appends
** parameters for the other ones. Returns the copy of the root. */
static Instruction *copy_loop(const Computation *from, Computation *loop, Instruction *parameter) {
  Instruction **copies = scope_new((size_t)from->count, sizeof *copies);
  int64_t given = loop->parameter_count - 1;
  for (int k = 0; k < from->count; k++) {
    Instruction *y = from->instructions[k], *operands[MAX_INPUTS];
    if (y->opcode == HLO_PARAMETER) {
      int64_t number = y->parameter_number;
      copies[y->id] =
          number ? computation_add_parameter(loop, given + number, y->shape, NULL) : parameter;
      continue;
    }
    if (y->opcode == HLO_CONSTANT) {
      copies[y->id] = computation_add_constant(loop, y->literal, NULL);
      continue;
    }
    for (int j = 0; j < y->operand_count; j++) operands[j] = copies[y->operands[j]->id];
    copies[y->id] = computation_add(loop, y->opcode, y->shape, operands, y->operand_count, y->a);
  }
  Instruction *root = copies[from->root->id];
  scope_free(copies);
  return root;
}

/* Whether a loop shifts words: then code for it converts scales in each row, and the products' own loops do not run. */
static bool has_shifts(const Computation *loop) {
  bool has = false;
  for (int i = 0; i < loop->count; i++) {
    Opcode opcode = loop->instructions[i]->opcode;
    has |= opcode == HLO_SHIFT_RIGHT_LOGICAL || opcode == HLO_SHIFT_RIGHT_ARITHMETIC;
  }
  return has;
}

/* Converts scales or zeros in the loop that reads them: input number i of `count`. Adds inputs. Returns the loop that does; the
** same loop if it would have no range any more, as one that repeats scales in blocks which do not divide a dimension. */
static Computation *take_conversion(Computation *loop, int i, Instruction **inputs, int *count) {
  Instruction *x = inputs[i];
  if (x->opcode == HLO_RESHAPE) x = x->operands[0];
  if (x->opcode != HLO_FUSION || fused_product(x) || !x->operand_count ||
      !only_converts(x->a->calls) || *count + x->operand_count > MAX_INPUTS) {
    return loop;
  }
  Computation *from = x->a->calls, *taken = module_clone_computation(loop->module, loop, NULL);
  Instruction *parameter = taken->parameters[i], *kept = taken->root;
  computation_renumber(from);
  int old = taken->count;
  Instruction *root = reshaped(copy_loop(from, taken, parameter), parameter->shape);
  parameter->shape = from->parameters[0]->shape;
  for (int k = 0; k < old; k++) {
    Instruction *y = taken->instructions[k];
    for (int j = 0; j < y->operand_count; j++) {
      if (y->operands[j] == parameter) y->operands[j] = root;
    }
  }
  taken->root = kept == parameter ? root : kept;
  computation_sort(taken);
  if (!has_ranges(taken)) return loop;
  inputs[i] = x->operands[0];
  for (int k = 1; k < x->operand_count; k++) inputs[(*count)++] = x->operands[k];
  return taken;
}

static void fuse(Instruction *dot, int side) {
  Instruction *loop = loop_of(dot, side), *other = dot->operands[1 - side];
  Module *module = dot->parent->module;
  Instruction *inputs[MAX_INPUTS + 1], *parameters[MAX_INPUTS + 1], *operands[2];
  const char *name = arena_printf(module->arena, "product_%s", dot->name);
  Computation *fused = module_add_computation(module, name);
  int count = loop->operand_count;
  for (int i = 0; i < count; i++) inputs[i] = loop->operands[i];
  Computation *computed = loop->a->calls;
  for (int i = 0, given = count; i < given && !has_shifts(loop->a->calls); i++) {
    computed = take_conversion(computed, i, inputs, &count);
  }
  inputs[count] = other;
  for (int i = 0; i <= count; i++) {
    parameters[i] = computation_add_parameter(fused, i, inputs[i]->shape, NULL);
  }
  computed = converted(computed);
  const Attributes *a = ATTRIBUTES(.calls = computed, .fusion_kind = FUSION_LOOP);
  Instruction *matrix =
      computation_add(fused, HLO_FUSION, computed->root->shape, parameters, count, a);
  operands[side] = reshaped(matrix, dot->operands[side]->shape);
  operands[1 - side] = parameters[count];
  fused->root = computation_add(fused, HLO_DOT, dot->shape, operands, 2, dot->a);
  instruction_become(dot, HLO_FUSION, inputs, count + 1,
                     ATTRIBUTES(.calls = fused, .fusion_kind = FUSION_OUTPUT));
}

/* ---- The walk ---- */

static void count_uses(const Computation *computation, Uses *uses) {
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    bool slices =
        x->opcode == HLO_DYNAMIC_SLICE || x->opcode == HLO_SLICE || x->opcode == HLO_TUPLE_OP;
    for (int k = 0; k < x->operand_count; k++) {
      uses->all[x->operands[k]->id]++;
      uses->kept[x->operands[k]->id] += !slices;
      uses->dots[x->operands[k]->id] += x->opcode == HLO_DOT;
    }
  }
}

static bool fuse_into(Instruction *dot, const Uses *uses) {
  bool dropped[2] = {drop_conversion(dot, 0), drop_conversion(dot, 1)};
  for (int side = 1; side >= 0; side--) {
    if (dropped[side]) continue;
    Instruction *slice = slice_of(dot, side, uses);
    if (slice) make_loop(slice);
    if (!slice && !is_wanted(dot, side, uses)) continue;
    fuse(dot, side);
    return true;
  }
  return dropped[0] || dropped[1];
}

/* ---- Limited products (limit_products.c) ---- */

/* The last operand of a product that is limited, and the dimensions. */
typedef struct Limited {
  Instruction *limit;
  Derived derived;
} Limited;

/* Turns a limited product into its dot. */
static Limited without_limit(Instruction *x) {
  const Instruction *dot = fused_product(x);
  if (!dot || !x->a->derived.used_dimension || fused_operand(dot)) return (Limited){0};
  Limited limited = {x->operands[x->operand_count - 1], x->a->derived};
  Instruction *operands[] = {x->operands[dot->operands[0]->parameter_number],
                             x->operands[dot->operands[1]->parameter_number]};
  instruction_become(x, HLO_DOT, operands, 2, dot->a);
  return limited;
}

/* Limits a dot, or the fusion that has become of it, again. */
static void limit_again(Instruction *x, Limited limited) {
  Module *module = x->parent->module;
  Instruction *operands[MAX_INPUTS + 2], *parameters[2];
  int count = x->operand_count;
  for (int i = 0; i < count; i++) operands[i] = x->operands[i];
  operands[count] = limited.limit;
  Computation *fused = x->a->calls;
  if (x->opcode == HLO_DOT) {
    fused = module_add_computation(module, arena_printf(module->arena, "limited_%s", x->name));
    for (int i = 0; i < 2; i++) {
      parameters[i] = computation_add_parameter(fused, i, operands[i]->shape, NULL);
    }
    fused->root = computation_add(fused, HLO_DOT, x->shape, parameters, 2, x->a);
  }
  Instruction *root = fused->root;
  Instruction *limit = computation_add_parameter(fused, count, limited.limit->shape, NULL);
  instruction_attributes(limit)->derived.is_limit = true;
  fused->root = root;
  instruction_become(
      x, HLO_FUSION, operands, count + 1,
      ATTRIBUTES(.calls = fused, .fusion_kind = FUSION_OUTPUT, .derived = limited.derived));
}

static bool fuse_operands(Computation *computation) {
  bool changed = false;
  computation_renumber(computation);
  int count = computation->count;
  Uses uses = {scope_new((size_t)count, sizeof(int)), scope_new((size_t)count, sizeof(int)),
               scope_new((size_t)count, sizeof(int))};
  count_uses(computation, &uses);
  for (int i = 0; i < count; i++) {
    Instruction *x = computation->instructions[i];
    Limited limited = without_limit(x);
    if (x->opcode == HLO_DOT && !x->a->control_predecessors.count) changed |= fuse_into(x, &uses);
    if (!limited.limit) continue;
    limit_again(x, limited);
    changed = true;
  }
  scope_free(uses.dots);
  scope_free(uses.kept);
  scope_free(uses.all);
  if (changed) computation_sort(computation);
  return changed;
}

bool pass_fuse_operands(Module *module) {
  bool changed = false;
  for (int i = 0, count = module->count; i < count && count < MAX_COMPUTATIONS; i++) {
    changed |= fuse_operands(module->computations[i]);
  }
  if (changed) module_keep_reached(module);
  return module_remove_dead(module) | changed;
}
