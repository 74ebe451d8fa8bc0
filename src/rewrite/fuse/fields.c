/* Finds the fields of packed numbers: see fields.h. */
#include "rewrite/fuse/fields.h"

#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/simplify/fold_constants.h"

/* Threshold MAX_STEPS: a bound of recursion. No path. */
enum { MAX_STEPS = 16 };

/* ---- A field ---- */

/* Whether x is an operation on an array, `*of`, and a number. */
static bool is_with_number(const Instruction *x, Opcode opcode, Instruction **of, int64_t *number) {
  Scalar value;
  if (x->opcode != opcode) return false;
  bool first = opcode == HLO_AND && splat_value(x->operands[0], &value);
  if (!first && !splat_value(x->operands[1], &value)) return false;
  *number = value.i;
  *of = x->operands[first];
  return true;
}

/* Returns the integers whose bits are the lower ones of x: of a type of at most its width, and at least `bits`. */
static Instruction *same_bits(Instruction *x, int bits) {
  while (x->opcode == HLO_CONVERT) {
    PrimitiveType from = x->operands[0]->shape->type;
    bool fits = type_bits(from) <= type_bits(x->shape->type) && type_bits(from) >= bits;
    if (!type_is_integral(from) || !fits) break;
    x = x->operands[0];
  }
  return x;
}

/* Returns the number of bits of a mask 2^bits - 1; 0 if it is none. */
static int bits_of_mask(int64_t mask) {
  int bits = 0;
  while (bits < 32 && mask >> bits & 1) bits++;
  return mask == (INT64_C(1) << bits) - 1 ? bits : 0;
}

static bool is_shifted_right(const Instruction *x, Instruction **of, int64_t *shift) {
  return is_with_number(x, HLO_SHIFT_RIGHT_LOGICAL, of, shift) ||
         is_with_number(x, HLO_SHIFT_RIGHT_ARITHMETIC, of, shift);
}

/* Returns the field that x is, without the extension of a sign. */
static Field unextended_field(const Instruction *x) {
  int64_t mask, shift = 0, up = 0;
  Field none = {0};
  Instruction *from;
  if (!shape_is_array(x->shape) || !type_is_integral(x->shape->type)) return none;
  if (is_with_number(x, HLO_AND, &from, &mask)) { /* (array >> shift) & mask */
    is_shifted_right(from, &from, &shift);
    return (Field){same_bits(from, 0), (int)shift, bits_of_mask(mask), false};
  }
  if (!is_shifted_right(x, &from, &shift)) return none;
  int width = type_bits(x->shape->type);
  if (shift <= 0 || shift >= width) return none;
  if (x->opcode == HLO_SHIFT_RIGHT_ARITHMETIC) { /* (array << up) >> shift */
    is_with_number(from, HLO_SHIFT_LEFT, &from, &up);
    bool is_signed = type_kind(x->shape->type) == KIND_SIGNED;
    return is_signed ? (Field){same_bits(from, width), (int)(shift - up), width - (int)shift, true}
                     : none;
  }
  if (is_with_number(from, HLO_AND, &from, &mask)) { /* (array & mask) >> shift */
    return (Field){same_bits(from, 0), (int)shift, bits_of_mask(mask >> shift), false};
  }
  Instruction *array = same_bits(from, 0);
  int bits = type_bits(array->shape->type);
  bool extends = type_kind(array->shape->type) == KIND_SIGNED && bits < width; /* by its sign */
  return extends ? none : (Field){array, (int)shift, bits - (int)shift, false};
}

Field field_of(const Instruction *x) {
  int64_t half, flipped;
  Instruction *from;
  if (!is_with_number(x, HLO_SUBTRACT, &from, &half) ||
      !is_with_number(from, HLO_XOR, &from, &flipped) || type_kind(x->shape->type) != KIND_SIGNED) {
    return unextended_field(x);
  }
  Field field = unextended_field(from);
  bool extends = !field.is_signed && field.bits > 0 && half == flipped &&
                 half == INT64_C(1) << (field.bits - 1) && field.bits < type_bits(x->shape->type);
  field.is_signed = true;
  return extends ? field : (Field){0};
}

bool field_is_part(const Field *f) {
  int width = f->array ? type_bits(f->array->shape->type) : 0;
  return f->bits > 0 && f->bits < width && width <= 32 && f->shift >= 0 &&
         f->shift + f->bits <= width;
}

bool field_is_stored(const Field *f) {
  int width = f->array ? type_bits(f->array->shape->type) : 0;
  bool stored = f->bits == 2 || f->bits == 4 || f->bits == 8;
  return stored && f->bits < width && f->shift >= 0 && f->shift + f->bits <= width &&
         f->shift % f->bits == 0;
}

/* ---- Fields ---- */

bool keeps_element_order(const Instruction *x) {
  const Int64List *dims = &x->a->dimensions;
  if (x->opcode == HLO_RESHAPE) return true;
  if (x->opcode != HLO_BROADCAST) return false;
  for (int i = 1; i < dims->count; i++) {
    if (dims->items[i] <= dims->items[i - 1]) return false;
  }
  return shape_elements(x->shape) == shape_elements(x->operands[0]->shape);
}

int array_operand(const Instruction *x) {
  Scalar value;
  if (keeps_element_order(x) || x->opcode == HLO_CONVERT) return 0;
  if (!opcode_is_elementwise(x->opcode) || x->operand_count != 2) return ABSENT;
  bool first = splat_value(x->operands[0], &value), second = splat_value(x->operands[1], &value);
  return first == second ? ABSENT : first ? 1 : 0;
}

/* Finds the field that x is a function of. The other part must be the same function of another field. */
static bool find_field(const Fields *f, const Instruction *x, const Instruction *other,
                       Field *field, Field *others) {
  for (int step = 0; step < MAX_STEPS; step++) {
    *field = field_of(x);
    *others = field_of(other);
    bool found = f->is_field(field) && f->is_field(others);
    if ((x->opcode != other->opcode && !found) || x->shape->type != other->shape->type)
      return false;
    if (found) return true;
    int operand = array_operand(x);
    if (operand == ABSENT || operand != array_operand(other)) return false;
    if (x->operand_count == 2) {
      Scalar a, b;
      splat_value(x->operands[1 - operand], &a);
      splat_value(other->operands[1 - operand], &b);
      if (a.u != b.u || a.im != b.im) return false;
    }
    x = x->operands[operand];
    other = other->operands[operand];
  }
  return false;
}

/* Sets the place of a field. Of stored ones it must be free. */
static bool set_order(Fields *f, int i, const Field *field) {
  int at = field->shift / f->first.bits;
  if (field->array != f->first.array || field->bits != f->first.bits ||
      field->is_signed != f->first.is_signed) {
    return false;
  }
  f->shift[i] = field->shift;
  f->order[i] = at;
  bool is_free = at < f->count;
  for (int k = 0; k < i; k++) is_free &= f->order[k] != at;
  return is_free || f->is_field == field_is_part;
}

static bool has_all(const Fields *f) {
  bool all = f->count * f->first.bits == type_bits(f->first.array->shape->type);
  return (all || f->is_field == field_is_part) &&
         shape_elements(f->x->shape) == f->count * shape_elements(f->first.array->shape);
}

static bool find_concatenated(Instruction *x, Fields *f, bool (*is_field)(const Field *)) {
  int count = x->operand_count;
  if (x->opcode != HLO_CONCATENATE || count < 2 || count > MAX_FIELDS) return false;
  *f = (Fields){.x = x, .is_field = is_field, .part = x->operands[0], .count = count};
  f->dim = (int)x->a->dimensions.items[0];
  f->each = f->part->shape->dims[f->dim];
  for (int i = 0; i < count; i++) {
    Field first, field;
    if (x->operands[i]->shape->dims[f->dim] != f->each ||
        !find_field(f, f->part, x->operands[i], &first, &field)) {
      return false;
    }
    f->first = first;
    if (!set_order(f, i, &field)) return false;
  }
  return has_all(f);
}

/* Returns the only dimension that a broadcast adds; ABSENT if it adds none, or several. */
static int added_dimension(const Instruction *x) {
  const Int64List *dims = &x->a->dimensions;
  if (x->opcode != HLO_BROADCAST || dims->count != x->shape->rank - 1) return ABSENT;
  int d = 0;
  while (d < dims->count && dims->items[d] == d) d++;
  for (int i = d; i < dims->count; i++) {
    if (dims->items[i] != i + 1) return ABSENT;
  }
  return d;
}

/* Returns the first of the integers that become x by conversions. Their lower `bits` are the same. */
static Instruction *lower_bits(Instruction *x, int bits) {
  while (x->opcode == HLO_CONVERT && type_is_integral(x->operands[0]->shape->type) &&
         type_bits(x->shape->type) >= bits && type_bits(x->operands[0]->shape->type) >= bits) {
    x = x->operands[0];
  }
  return x;
}

/* ---- Other orders ---- */

int64_t elements_after(const Shape *shape, int dim) {
  int64_t count = 1;
  for (int d = dim + 1; d < shape->rank; d++) count *= shape->dims[d];
  return count;
}

bool reshape_range(const Shape *from, const Shape *to, Range *range) {
  int64_t unit = range->unit * elements_after(from, range->dim), after = 1;
  for (int d = to->rank - 1; d >= 0; after *= to->dims[d--]) {
    if (unit % after == 0 && after * to->dims[d] % (unit * range->size) == 0) {
      *range = (Range){d, unit / after, range->size};
      return true;
    }
  }
  return false;
}

/* The same, by conversions and reshapes. */
static Instruction *without_moves(Instruction *x, int bits) {
  for (;;) {
    x = lower_bits(x, bits);
    if (x->opcode != HLO_RESHAPE) return x;
    x = x->operands[0];
  }
}

/* Finds the numbers by which a gather permutes each block of the last dimension. Returns false if it does something else. */
static bool find_permutation(const Instruction *gather, int count, Arena *arena, int *from) {
  const Attributes *a = gather->a;
  const Shape *shape = gather->shape;
  int last = shape->rank - 1, vector = gather->operands[1]->shape->rank - 1;
  bool is_whole = last >= 0 && shape_same_dims(shape, gather->operands[0]->shape) &&
                  a->offset_dims.count == last && a->start_index_map.count == 1 &&
                  a->start_index_map.items[0] == last && a->collapsed_slice_dims.count == 1 &&
                  a->collapsed_slice_dims.items[0] == last && a->index_vector_dim >= vector;
  for (int d = 0; d < last && is_whole; d++) {
    is_whole = a->offset_dims.items[d] == d && a->slice_sizes.items[d] == shape->dims[d];
  }
  if (!is_whole || shape_elements(gather->operands[1]->shape) != shape->dims[last] ||
      shape->dims[last] % count) {
    return false;
  }
  const Literal *at = constant_value(gather->operands[1], arena);
  for (int64_t i = 0; i < shape->dims[last] && at; i++) {
    int64_t number = scalar_load(at->shape->type, at->data, i).i - i / count * count;
    if (i < count) from[i] = (int)number;
    if (number < 0 || number >= count || number != from[i % count]) return false;
  }
  return at;
}

/* Finds a shift by amounts that are listed along a dimension: (broadcast(array) >> broadcast(amounts)) & mask, perhaps reshaped.
** A gather may permute the fields. */
static bool find_amounts(Instruction *x, Instruction *shift, const int *from, Fields *f,
                         Arena *arena) {
  if (shift->opcode != HLO_SHIFT_RIGHT_LOGICAL && shift->opcode != HLO_SHIFT_RIGHT_ARITHMETIC) {
    return false;
  }
  Instruction *array = shift->operands[0], *by = shift->operands[1];
  int dim = added_dimension(array);
  if (dim == ABSENT || by->opcode != HLO_BROADCAST || by->a->dimensions.count != 1 ||
      by->a->dimensions.items[0] != dim || !type_is_integral(by->shape->type) ||
      shift->shape->dims[dim] > MAX_FIELDS) {
    return false;
  }
  Range range = {dim, 1, f->count = (int)shift->shape->dims[dim]};
  const Literal *amounts = constant_value(by->operands[0], arena);
  if (!amounts || !reshape_range(shift->shape, x->shape, &range) || range.unit > 1) return false;
  f->dim = range.dim;
  bool is_last = dim == shift->shape->rank - 1 && elements_after(x->shape, f->dim) == 1;
  if (from && !is_last) return false; /* a gather permutes the last dimension */
  f->first.array = array->operands[0];
  for (int i = 0; i < f->count; i++) {
    Field field = f->first;
    int64_t amount = scalar_load(by->shape->type, amounts->data, from ? from[i] : i).i;
    if (amount < 0 || amount >= 64) return false;
    field.shift = (int)amount;
    if (!f->is_field(&field) || !set_order(f, i, &field)) return false;
  }
  return has_all(f);
}

static bool find_shifted(Instruction *x, Fields *f, bool (*is_field)(const Field *)) {
  int64_t mask;
  int from[MAX_FIELDS];
  Instruction *shift;
  if (!is_with_number(x, HLO_AND, &shift, &mask) || !bits_of_mask(mask)) return false;
  int bits = bits_of_mask(mask);
  Arena *arena = arena_new();
  shift = without_moves(shift, bits);
  bool permutes = shift->opcode == HLO_GATHER;
  const Instruction *gather = shift;
  if (permutes) shift = without_moves(shift->operands[0], bits);
  *f = (Fields){.x = x, .is_field = is_field, .each = 1, .first = {.bits = bits}};
  int last = shift->shape->rank - 1;
  bool found = !permutes || (last >= 0 && shift->shape->dims[last] <= MAX_FIELDS &&
                             find_permutation(gather, (int)shift->shape->dims[last], arena, from));
  found = found && find_amounts(x, shift, permutes ? from : NULL, f, arena);
  arena_free(arena);
  return found;
}
bool fields_find(Instruction *x, Fields *f, bool (*is_field)(const Field *)) {
  return find_concatenated(x, f, is_field) || find_shifted(x, f, is_field);
}
