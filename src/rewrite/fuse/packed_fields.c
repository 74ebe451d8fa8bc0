/*
** Finds matrices of narrow numbers that a program packs into wider ones by itself, and reads them as packed arrays:
**
**     q = u8[n, k/2]                                   p = u4[n, k/2, 2] bitcast-convert(q)
**     concatenate(f(q & 15), f(q >> 4))                f(convert(p)), reshaped
**
** where the fields of a number (Fields) become neighbours, and f is element-wise: a conversion, a zero point. Then products read
** the packed numbers as they do those of s4 and u4 (rewrite/fuse/pack_storage.c). Words of 32 bits have 8 such fields.
**
** The program may want the fields in another order than memory's: the upper one first, or all lower ones before all upper ones.
** Then the matrix keeps memory's order. If the fields are summed over, the other operand is permuted; else, the product's result.
** That is right only if all operations between the fields and the product treat these fields alike (`alike`), or if their other
** operands, such as scales, are permuted, too: where these have far fewer elements (`permuted`).
**
** All other fields of a product's operand are shifted as one array: those along another dimension than the last one, of 1 or 3
** bits, or in an order that some operand does not allow. A product moves their bits to the top of a word, one shift down again:
**
**     concatenate(q & 15, q >> 4) along rows           (broadcast(q) * {2^28, 2^24}) >> 28
**     (broadcast(q) >> {0, 4}) & 15                    the same
**
** Loops compute that where they read it. A concatenate would be written to memory. A shift by an amount for each lane is 15
** instructions, a product and a constant shift are 2.
*/
#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/simplify/fold_constants.h"

/* Threshold MAX_FIELDS, MAX_STEPS: u64 has 32 fields of 2 bits; a bound of recursion. No path. */
/* Threshold MIN_REPEATS, MAX_PERMUTED: of scales and zeros that are permuted. No path. */
enum { MAX_FIELDS = 32, MAX_STEPS = 16, MIN_REPEATS = 8, MAX_PERMUTED = 4, ABSENT = -1 };

/* ---- A field ---- */

/* Bits of each number of an array, as the result of an instruction. */
typedef struct Field {
  Instruction *array;
  int shift, bits;
  bool is_signed;
} Field;

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

/* The field may be an unsigned one whose sign is extended: (field ^ 8) - 8. */
static Field field_of(const Instruction *x) {
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

/* Whether a field is a part of each number. */
static bool is_part(const Field *f) {
  int width = f->array ? type_bits(f->array->shape->type) : 0;
  return f->bits > 0 && f->bits < width && width <= 32 && f->shift >= 0 &&
         f->shift + f->bits <= width;
}

/* Whether a field is one of several, side by side, of a type that is stored packed, or of a byte. */
static bool is_stored(const Field *f) {
  int width = f->array ? type_bits(f->array->shape->type) : 0;
  bool stored = f->bits == 2 || f->bits == 4 || f->bits == 8;
  return stored && f->bits < width && f->shift >= 0 && f->shift + f->bits <= width &&
         f->shift % f->bits == 0;
}

/* ---- Fields ---- */

/* Neighbouring elements of an array, `unit` apart, that hold all fields: a part of this dimension. */
typedef struct Range {
  int dim;
  int64_t unit, size;
} Range;

/* All fields of each number of an array, along dimension `dim` of x: `each` elements of the first one, and so on. */
typedef struct Fields {
  Instruction *x;
  Field first;
  bool (*is_field)(const Field *);
  const Instruction *part; /* the first operand of a concatenate: a function of the first field */
  int count, shift[MAX_FIELDS],
      order[MAX_FIELDS]; /* number i of x is field order[i]; shifts: of that */
  int dim;
  int64_t each;
  /* Operands of other instructions, on the way to the product, that are permuted. */
  int permuted_count;
  struct {
    Instruction *user;
    int operand;
    Range range;
  } permuted[MAX_PERMUTED];
} Fields;

/* Whether x has the elements of its operand in the same order: a reshape, or a broadcast that only adds dimensions of size 1. */
static bool keeps_order(const Instruction *x) {
  const Int64List *dims = &x->a->dimensions;
  if (x->opcode == HLO_RESHAPE) return true;
  if (x->opcode != HLO_BROADCAST) return false;
  for (int i = 1; i < dims->count; i++) {
    if (dims->items[i] <= dims->items[i - 1]) return false;
  }
  return shape_elements(x->shape) == shape_elements(x->operands[0]->shape);
}

/* Returns which operand of an operation is no number that all elements share; ABSENT if it has not one such operand. */
static int operand_of_step(const Instruction *x) {
  Scalar value;
  if (keeps_order(x) || x->opcode == HLO_CONVERT) return 0;
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
    int operand = operand_of_step(x);
    if (operand == ABSENT || operand != operand_of_step(other)) return false;
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
  return is_free || f->is_field == is_part;
}

static bool has_all(const Fields *f) {
  bool all = f->count * f->first.bits == type_bits(f->first.array->shape->type);
  return (all || f->is_field == is_part) &&
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

static int64_t elements_after(const Shape *shape, int dim) {
  int64_t count = 1;
  for (int d = dim + 1; d < shape->rank; d++) count *= shape->dims[d];
  return count;
}

/* Finds the range in a reshaped array. Returns false if it isn't a part of one dimension there. */
static bool reshape_range(const Shape *from, const Shape *to, Range *range) {
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

/* Whether all elements of x along the range are alike. */
static bool alike(const Instruction *x, Range range, int steps) {
  const Int64List *dims = &x->a->dimensions;
  if (steps == 0 || !shape_is_array(x->shape)) return false;
  if (opcode_is_elementwise(x->opcode) || x->opcode == HLO_COPY) {
    bool all = x->operand_count > 0;
    for (int i = 0; i < x->operand_count; i++) all &= alike(x->operands[i], range, steps - 1);
    return all;
  }
  switch (x->opcode) {
  case HLO_BROADCAST:
    for (int i = 0; i < dims->count; i++) {
      if (dims->items[i] != range.dim) continue;
      range.dim = i;
      return alike(x->operands[0], range, steps - 1);
    }
    return true;
  case HLO_TRANSPOSE: range.dim = (int)dims->items[range.dim]; break;
  case HLO_RESHAPE:
    if (!reshape_range(x->shape, x->operands[0]->shape, &range)) return false;
    break;
  default: return false;
  }
  return alike(x->operands[0], range, steps - 1);
}

/* Whether a user looks up each element of x in a table. */
static bool is_lookup(const Instruction *x, const Instruction *user) {
  return user->opcode == HLO_GATHER && user->operands[1] == x && user->a->offset_dims.count == 0 &&
         shape_elements(user->shape) == shape_elements(x->shape);
}

static Int64List list_in(const Computation *c, int count, const int64_t *items) {
  return (Int64List){count, arena_copy(c->module->arena, items, (size_t)count * sizeof *items)};
}

/* Permutes a range of x. to_memory: into the order of memory; otherwise from it into the order of the fields. */
static Instruction *permute(const Fields *f, Instruction *x, Range range, bool to_memory) {
  static const int64_t swap[] = {0, 2, 1, 3};
  Computation *c = x->parent;
  int64_t inside = range.unit * elements_after(x->shape, range.dim);
  int64_t outside = shape_elements(x->shape) / (range.size * inside);
  int dim = to_memory ? 1 : 2; /* of the fields */
  int64_t dims[] = {outside, to_memory ? f->count : f->each, to_memory ? f->each : f->count,
                    inside};
  Instruction *parts[MAX_FIELDS], *split = computation_add_reshape(c, x, 4, dims);
  for (int i = 0; i < f->count; i++) {
    int from = to_memory ? i : f->order[i];
    parts[to_memory ? f->order[i] : i] = computation_add_range(c, split, dim, from, from + 1);
  }
  split = computation_add(c, HLO_CONCATENATE, split->shape, parts, f->count,
                          ATTRIBUTES(.dimensions = list_in(c, 1, (int64_t[]){dim})));
  return computation_add_reshape(c, computation_add_transpose(c, split, swap), x->shape->rank,
                                 x->shape->dims);
}

/* Returns x with a range permuted into the order of memory, by permuting an array that it repeats; NULL if there is none. makes:
** otherwise returns x or NULL, and adds nothing. */
static Instruction *permuted(const Fields *f, Instruction *x, Range range, int steps, bool makes) {
  const Int64List *dims = &x->a->dimensions;
  Instruction *operands[2];
  if (steps == 0 || !shape_is_array(x->shape)) return NULL;
  if (alike(x, range, steps)) return x;
  if (shape_elements(x->shape) <= shape_elements(f->x->shape) / MIN_REPEATS) {
    if (!makes) return x;
    x = permute(f, x, range, true);
    Literal *value = constant_value(x, x->parent->module->arena);
    if (value) return computation_add_constant(x->parent, value, NULL);
    /* Its concatenate would join the matrix's loop. */
    return computation_add(x->parent, HLO_OPTIMIZATION_BARRIER, x->shape, &x, 1, NULL);
  }
  if (opcode_is_elementwise(x->opcode) && x->operand_count > 0 && x->operand_count <= 2) {
    for (int i = 0; i < x->operand_count; i++) {
      operands[i] = permuted(f, x->operands[i], range, steps - 1, makes);
      if (!operands[i]) return NULL;
    }
    return makes ? computation_add(x->parent, x->opcode, x->shape, operands, x->operand_count, x->a)
                 : x;
  }
  if (x->opcode == HLO_BROADCAST) {
    int i = 0;
    while (dims->items[i] != range.dim) i++;
    range.dim = i;
  } else if (x->opcode == HLO_TRANSPOSE) {
    range.dim = (int)dims->items[range.dim];
  } else if (x->opcode != HLO_RESHAPE || !reshape_range(x->shape, x->operands[0]->shape, &range)) {
    return NULL;
  }
  operands[0] = permuted(f, x->operands[0], range, steps - 1, makes);
  if (!operands[0] || !makes) return operands[0];
  return computation_add(x->parent, x->opcode, x->shape, operands, 1, x->a);
}

/* Whether an operand of the user can stay, or be permuted later. */
static bool treats_alike(Fields *f, Instruction *user, int operand, Range range) {
  Instruction *x = user->operands[operand];
  if (alike(x, range, MAX_STEPS)) return true;
  if (f->permuted_count == MAX_PERMUTED || !permuted(f, x, range, MAX_STEPS, false)) return false;
  f->permuted[f->permuted_count].user = user;
  f->permuted[f->permuted_count].operand = operand;
  f->permuted[f->permuted_count++].range = range;
  return true;
}

/* Follows the range from x to its only user. Returns false if the user treats elements of it differently. range: NULL if the order
** stays. */
static bool follow(Fields *f, const Instruction *x, Instruction *user, Range *range) {
  if (user->opcode == HLO_RESHAPE || is_lookup(x, user)) {
    return !range || reshape_range(x->shape, user->shape, range);
  }
  if (user->opcode == HLO_TRANSPOSE && !range) return true;
  if (user->opcode == HLO_TRANSPOSE) {
    int d = 0;
    while (user->a->dimensions.items[d] != range->dim) d++;
    range->dim = d;
    return true;
  }
  if (!opcode_is_elementwise(user->opcode) && user->opcode != HLO_COPY) return false;
  for (int i = 0; i < user->operand_count && range; i++) {
    if (user->operands[i] != x && !treats_alike(f, user, i, *range)) return false;
  }
  return true;
}

/* Finds the product that x goes to, and the range in its operand. Returns NULL if it goes elsewhere, too. */
static Instruction *find_product(const Users *users, Fields *f, Range *range, int *operand) {
  Instruction *x = f->x;
  for (int steps = 0; steps < MAX_STEPS && users->count[x->id] == 1; steps++) {
    Instruction *user = users->lists[x->id][0];
    if (user->opcode == HLO_DOT) {
      *operand = user->operands[1] == x;
      return x == x->parent->root || user->operands[*operand] != x ? NULL : user;
    }
    if (x == x->parent->root || !follow(f, x, user, range)) return NULL;
    x = user;
  }
  return NULL;
}

/* Returns the dimension of a product's result that dimension d of its operand becomes; ABSENT if it is summed over or a batch. */
static int result_dimension(const Instruction *dot, int operand, int d) {
  const Attributes *a = dot->a;
  const Int64List *batch = operand ? &a->rhs_batch_dims : &a->lhs_batch_dims;
  const Int64List *depth = operand ? &a->rhs_contracting_dims : &a->lhs_contracting_dims;
  int at = batch->count;
  if (list_has(*batch, d) || list_has(*depth, d)) return ABSENT;
  for (int i = 0; i < d; i++) at += !list_has(*batch, i) && !list_has(*depth, i);
  if (operand) at += dot->operands[0]->shape->rank - batch->count - depth->count;
  return at;
}

/* Changes a product whose operand, at this range, has the order of memory now. */
static bool permute_product(const Fields *f, Instruction *dot, int operand, Range range) {
  const Int64List *lists[] = {&dot->a->lhs_contracting_dims, &dot->a->rhs_contracting_dims};
  Instruction *operands[] = {dot->operands[0], dot->operands[1]};
  if (dot->a->control_predecessors.count || operands[0] == operands[1]) return false;
  int64_t matrix = shape_elements(operands[operand]->shape);
  int depth = 0, result = result_dimension(dot, operand, range.dim);
  if (result != ABSENT) {
    if (shape_elements(dot->shape) > matrix) return false;
    Instruction *product = computation_add(dot->parent, HLO_DOT, dot->shape, operands, 2, dot->a);
    range.dim = result;
    product = permute(f, product, range, false);
    instruction_become(dot, HLO_COPY, &product, 1, NULL);
    return true;
  }
  while (depth < lists[operand]->count && lists[operand]->items[depth] != range.dim) depth++;
  if (depth == lists[operand]->count) return false;
  Instruction **other = &operands[1 - operand];
  if (shape_elements((*other)->shape) > matrix) return false;
  range.dim = (int)lists[1 - operand]->items[depth];
  *other = permute(f, *other, range, true);
  instruction_become(dot, HLO_DOT, operands, 2, dot->a);
  return true;
}

/* ---- Reading ---- */

static Instruction *bits_of(Instruction *x, PrimitiveType type) {
  const Shape *shape = x->shape;
  int64_t dims[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) dims[d] = shape->dims[d];
  dims[shape->rank] = type_bits(shape->type) / type_bits(type);
  const Shape *to = shape_make(x->parent->module->arena, type, shape->rank + 1, dims, NULL);
  return computation_add(x->parent, HLO_BITCAST_CONVERT, to, &x, 1, NULL);
}

/* Returns the fields of an array, in one more dimension. Those of a slice are a slice of the whole array's, which loops read in
** place. */
static Instruction *unpack(Instruction *x, PrimitiveType type) {
  int rank = x->shape->rank, per = type_bits(x->shape->type) / type_bits(type);
  int64_t dims[MAX_RANK];
  Computation *c = x->parent;
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  dims[rank] = per;
  if (x->opcode == HLO_RESHAPE) {
    return computation_add_reshape(c, unpack(x->operands[0], type), rank + 1, dims);
  }
  if (x->opcode == HLO_DYNAMIC_SLICE) {
    Instruction *operands[MAX_RANK + 2] = {unpack(x->operands[0], type)};
    for (int i = 1; i <= rank; i++) operands[i] = x->operands[i];
    operands[rank + 1] = computation_add_integer(c, x->operands[1]->shape->type, 0);
    const Shape *shape = shape_make(c->module->arena, type, rank + 1, dims, NULL);
    return computation_add(c, HLO_DYNAMIC_SLICE, shape, operands, rank + 2,
                           ATTRIBUTES(.slice_sizes = list_in(c, rank + 1, dims)));
  }
  if (type_bits(x->shape->type) > 8 && type_bits(type) < 8) {
    return computation_add_reshape(c, bits_of(bits_of(x, U8), type), rank + 1, dims);
  }
  return bits_of(x, type);
}

static PrimitiveType type_of(const Field *f) {
  if (f->bits == 8) return f->is_signed ? S8 : U8;
  if (f->bits == 4) return f->is_signed ? S4 : U4;
  return f->is_signed ? S2 : U2;
}

/* Returns what x, a function of the first field, is of all fields. */
static Instruction *apply(const Fields *f, const Instruction *x, Instruction *fields) {
  Field field = field_of(x);
  PrimitiveType type = x->shape->type;
  Computation *c = fields->parent;
  if (f->is_field(&field)) return computation_add_convert(c, fields, type);
  int operand = operand_of_step(x);
  Instruction *y = apply(f, x->operands[operand], fields);
  if (keeps_order(x)) return y;
  if (x->opcode == HLO_CONVERT) {
    bool is_again = y->opcode == HLO_CONVERT && !f->first.is_signed &&
                    type_bits(y->shape->type) > f->first.bits &&
                    (type_is_integral(type) || fields->shape->type == S32);
    return computation_add_convert(c, is_again ? fields : y, type);
  }
  Scalar value;
  Instruction *other = x->operands[1 - operand], *operands[] = {y, y};
  splat_value(other, &value);
  Instruction *number = computation_add_number(c, other->shape->type, value);
  const Shape *shape = shape_with_type(c->module->arena, fields->shape, other->shape->type);
  operands[1 - operand] = computation_add(c, HLO_BROADCAST, shape, &number, 1, NULL);
  shape = shape_with_type(c->module->arena, fields->shape, type);
  return computation_add(c, x->opcode, shape, operands, 2, x->a);
}

/* Broadcasts x along the other dimensions of a shape. */
static Instruction *spread(Instruction *x, const Shape *shape, Int64List dimensions) {
  return computation_add(x->parent, HLO_BROADCAST, shape, &x, 1,
                         ATTRIBUTES(.dimensions = dimensions));
}

/* Returns the fields as numbers of s32, shifted. */
static Instruction *shift_fields(const Fields *f) {
  Computation *c = f->x->parent;
  Arena *arena = c->module->arena;
  int64_t after = f->each * elements_after(f->x->shape, f->dim), count = f->count;
  int64_t dims[] = {shape_elements(f->first.array->shape) / after, count, after};
  const Shape *all = shape_make(arena, S32, 3, dims, NULL);
  Literal *list = literal_new(arena, shape_make(arena, S32, 1, &count, NULL));
  int above = 32 - f->first.bits;
  for (int i = 0; i < f->count; i++) {
    scalar_store(S32, list->data, i, (Scalar){.i = (int32_t)(1u << (above - f->shift[i]))});
  }
  Instruction *flat = computation_add_reshape(c, f->first.array, 2, (int64_t[]){dims[0], dims[2]});
  const Shape *narrow = shape_with_type(arena, all, flat->shape->type);
  Instruction *x = spread(flat, narrow, list_in(c, 2, (int64_t[]){0, 2}));
  x = computation_add_convert(c, x, S32); /* where loops compute it */
  Instruction *by = computation_add_constant(c, list, NULL);
  by = spread(by, all, list_in(c, 1, (int64_t[]){1}));
  x = computation_add_binary(c, HLO_MULTIPLY, x, by);
  by = spread(computation_add_integer(c, S32, above), all, (Int64List){0});
  bool is_signed = f->first.is_signed;
  x = computation_add_binary(c, is_signed ? HLO_SHIFT_RIGHT_ARITHMETIC : HLO_SHIFT_RIGHT_LOGICAL, x,
                             by);
  return computation_add_reshape(c, x, f->x->shape->rank, f->x->shape->dims);
}

/* Whether loops can unpack the array, or if it is a slice, the whole one. */
static bool can_unpack_whole(const Instruction *x) {
  while (x->opcode == HLO_RESHAPE || x->opcode == HLO_DYNAMIC_SLICE) x = x->operands[0];
  return can_unpack(x);
}

/* Makes x a function of the fields. */
static void set_fields(const Fields *f, Instruction *fields) {
  Instruction *value = f->part ? apply(f, f->part, fields)
                               : computation_add_convert(f->x->parent, fields, f->x->shape->type);
  instruction_become(f->x, HLO_COPY, &value, 1, NULL);
}

static bool is_in_order(const Fields *f) {
  bool is = true;
  for (int i = 0; i < f->count; i++) is &= f->order[i] == i;
  return is;
}

/* Reads an array's fields along the last dimension as a packed array. Returns false and changes nothing if that cannot be. */
static bool read_fields(const Users *users, Fields *f) {
  const Instruction *x = f->x;
  Instruction *array = f->first.array;
  bool in_order = f->each == 1 && is_in_order(f);
  Range range = {f->dim, 1, f->count * f->each};
  int operand;
  if (elements_after(x->shape, f->dim) > 1 || array->shape->rank > MAX_RANK - 2 ||
      !can_unpack_whole(array)) {
    return false;
  }
  Instruction *dot = in_order ? NULL : find_product(users, f, &range, &operand);
  if (!in_order && (!dot || !permute_product(f, dot, operand, range))) return false;
  for (int i = 0; i < f->permuted_count; i++) {
    Instruction *user = f->permuted[i].user, **other = &user->operands[f->permuted[i].operand];
    *other = permuted(f, *other, f->permuted[i].range, MAX_STEPS, true);
  }
  set_fields(f, computation_add_reshape(x->parent, unpack(array, type_of(&f->first)),
                                        x->shape->rank, x->shape->dims));
  return true;
}

/* Shifts the fields of a product's operand. */
static bool read_shifted(const Users *users, Fields *f) {
  int operand;
  if (!find_product(users, f, NULL, &operand)) return false;
  set_fields(f, shift_fields(f));
  return true;
}

/* Returns the array that a transpose of packed numbers becomes by its fields, which are neighbours in the dimension that was the
** last one; NULL if there is none:
**
**     t = transpose(q); concatenate(f(t & 15), f(t >> 4)), reshaped          transpose(f(fields(q)), reshaped)
*/
static Instruction *transposed_fields(const Users *users, const Fields *f) {
  const Instruction *first = f->first.array;
  Instruction *x = f->x;
  if (first->opcode != HLO_TRANSPOSE) return NULL;
  int rank = first->shape->rank, along = 0;
  while (first->a->dimensions.items[along] != rank - 1) along++;
  if (f->each * elements_after(f->x->shape, f->dim) != elements_after(first->shape, along))
    return NULL;
  while (users->count[x->id] == 1 && x != x->parent->root &&
         users->lists[x->id][0]->opcode == HLO_RESHAPE) {
    x = users->lists[x->id][0];
  }
  bool is = x->shape->rank == rank;
  for (int d = 0; d < rank && is; d++) {
    is = x->shape->dims[d] == first->shape->dims[d] * (d == along ? f->count : 1);
  }
  return is ? x : NULL;
}

/* Makes x a transpose of y, or if its only user is the transpose back, makes that one y. */
static void set_transposed(const Users *users, Instruction *x, Instruction *y,
                           const Attributes *a) {
  Instruction *user = users->lists[x->id][0];
  bool undoes = user->opcode == HLO_TRANSPOSE;
  for (int d = 0; d < a->dimensions.count && undoes; d++) {
    undoes = a->dimensions.items[user->a->dimensions.items[d]] == d;
  }
  instruction_become(undoes ? user : x, undoes ? HLO_COPY : HLO_TRANSPOSE, &y, 1,
                     undoes ? NULL : a);
}

/* Reads the fields of a transposed array, for a product, as a packed array that is transposed. */
static bool read_transposed(const Users *users, Fields *f) {
  int operand;
  Instruction *to = transposed_fields(users, f);
  if (!to || !f->part || !is_in_order(f) || !find_product(users, f, NULL, &operand)) return false;
  Instruction *array = f->first.array->operands[0];
  int last = array->shape->rank - 1;
  if (last > MAX_RANK - 3 || !can_unpack_whole(array)) return false;
  int64_t dims[MAX_RANK];
  for (int d = 0; d <= last; d++) dims[d] = array->shape->dims[d] * (d == last ? f->count : 1);
  Instruction *value = apply(f, f->part, unpack(array, type_of(&f->first)));
  value = computation_add_reshape(array->parent, value, last + 1, dims);
  set_transposed(users, to, value, f->first.array->a);
  return true;
}

static bool find_fields(Instruction *x, Fields *f, bool (*is_field)(const Field *)) {
  return find_concatenated(x, f, is_field) || find_shifted(x, f, is_field);
}

static bool read_once(Computation *computation) {
  Arena *arena = arena_new();
  bool changed = false;
  int count = computation->count;
  Users users = find_users(arena, computation);
  for (int i = 0; i < count; i++) {
    Fields fields;
    Instruction *x = computation->instructions[i];
    changed |= (find_fields(x, &fields, is_stored) &&
                (read_transposed(&users, &fields) || read_fields(&users, &fields))) ||
               (find_fields(x, &fields, is_part) && read_shifted(&users, &fields));
  }
  arena_free(arena);
  if (changed) computation_sort(computation);
  return changed;
}

/* Once the fields of one array are read, those of others are permuted. */
static bool read_packed(Computation *computation) {
  bool changed = false;
  for (int round = 0; round < MAX_STEPS && read_once(computation); round++) changed = true;
  return changed;
}

bool pass_packed_fields(Module *module) {
  bool changed = for_each_computation(module, read_packed);
  if (changed) pass_fold_transposes(module); /* those of packed arrays that products read */
  return changed;
}
