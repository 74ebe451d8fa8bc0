#include "hlo/ir/attribute_compare.h"

#include <string.h>

/* FNV-1a */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* A value of a list kind: a count and the bytes of the items. */
typedef struct Bytes {
  const void *data;
  size_t size;
} Bytes;

#define LIST(type, list)                      {(list)->items, sizeof(type) * (size_t)(list)->count}
#define BYTES_OF(list_type, item_type, field) (Bytes) LIST(item_type, (const list_type *)(field))

/* Finds the bytes that determine a value of this kind; false for kinds with more than one list. */
static bool value_bytes(AttributeKind kind, const void *field, Bytes *out) {
  switch (kind) {
  case ATTR_INT64: *out = (Bytes){field, sizeof(int64_t)}; return true;
  case ATTR_FLOAT: *out = (Bytes){field, sizeof(double)}; return true;
  case ATTR_BOOL: *out = (Bytes){field, sizeof(bool)}; return true;
  case ATTR_INT64_LIST: *out = BYTES_OF(Int64List, int64_t, field); return true;
  case ATTR_SLICE: *out = BYTES_OF(SliceConfig, SliceDimension, field); return true;
  case ATTR_PADDING: *out = BYTES_OF(PaddingConfig, PaddingDimension, field); return true;
  case ATTR_PAIR_LIST: *out = BYTES_OF(PairList, Pair, field); return true;
  case ATTR_STRING:
  case ATTR_RAW:
  case ATTR_PRECISION_LIST: {
    const char *text = *(const char *const *)field;
    *out = (Bytes){text, text ? strlen(text) + 1 : 0};
    return true;
  }
  default: {
    int count; /* of an enumeration's names */
    *out = (Bytes){field, sizeof(int)};
    return attribute_enum_names(kind, &count) != NULL;
  }
  }
}

static bool windows_equal(const Window *a, const Window *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; i++) {
    const WindowDimension *x = &a->items[i], *y = &b->items[i];
    if (x->size != y->size || x->stride != y->stride || x->padding_low != y->padding_low ||
        x->padding_high != y->padding_high || x->window_dilation != y->window_dilation ||
        x->base_dilation != y->base_dilation || x->window_reversal != y->window_reversal) {
      return false;
    }
  }
  return true;
}

static bool constants_equal(const Instruction *a, const Instruction *b) {
  return shape_is_array(a->shape) &&
         !memcmp(a->literal->data, b->literal->data, (size_t)shape_bytes(a->shape));
}

bool computations_equal(Computation *a, Computation *b) {
  if (a == b) return true;
  if (!a || !b || a->count != b->count || a->parameter_count != b->parameter_count) return false;
  computation_renumber(a);
  computation_renumber(b);
  bool same = a->root->id == b->root->id;
  for (int i = 0; i < a->count && same; i++) {
    const Instruction *x = a->instructions[i], *y = b->instructions[i];
    same = x->opcode == y->opcode && x->parameter_number == y->parameter_number &&
           x->operand_count == y->operand_count && shape_equal(x->shape, y->shape) &&
           !x->a->control_predecessors.count && !y->a->control_predecessors.count &&
           attributes_equal(x->opcode, x->a, y->a) &&
           (x->opcode != HLO_CONSTANT || constants_equal(x, y));
    for (int k = 0; k < x->operand_count && same; k++) {
      same = x->operands[k]->id == y->operands[k]->id;
    }
  }
  return same;
}

static bool lists_equal(const ComputationList *a, const ComputationList *b) {
  bool same = a->count == b->count;
  for (int i = 0; i < a->count && same; i++) same = computations_equal(a->items[i], b->items[i]);
  return same;
}

static bool values_equal(AttributeKind kind, const void *a, const void *b) {
  Bytes x, y;
  if (kind == ATTR_COMPUTATION) {
    return computations_equal(*(Computation *const *)a, *(Computation *const *)b);
  }
  if (kind == ATTR_COMPUTATION_LIST) return lists_equal(a, b);
  if (value_bytes(kind, a, &x) && value_bytes(kind, b, &y)) {
    return x.size == y.size && (x.size == 0 || !memcmp(x.data, y.data, x.size));
  }
  if (kind == ATTR_WINDOW) return windows_equal(a, b);
  return false; /* convolutions and collectives: two are rarely equal */
}

/* Threshold MAX_HASHED: bytes of a constant, since weights may have many megabytes. All bytes of
** constants with equal hashes are compared. No path. */
enum { MAX_HASHED = 4096 };

uint64_t instruction_hash(uint64_t hash, const Instruction *x) {
  hash = hash_bytes(hash, &x->opcode, sizeof x->opcode);
  hash = hash_bytes(hash, &x->shape->type, sizeof x->shape->type);
  hash = hash_bytes(hash, x->shape->dims, sizeof(int64_t) * (size_t)x->shape->rank);
  for (int i = 0; i < x->operand_count; i++) {
    hash = hash_bytes(hash, &x->operands[i]->id, sizeof(int));
  }
  if (x->opcode == HLO_CONSTANT && shape_is_array(x->shape)) {
    int64_t bytes = shape_bytes(x->shape);
    hash = hash_bytes(hash, x->literal->data, bytes < MAX_HASHED ? (size_t)bytes : MAX_HASHED);
  }
  return hash;
}

/* ORDER ATTRIBUTE: a bit for each row, and one more. */
/* Threshold WORDS: words of a hash, and a case. No path. */
enum { WORDS = 2 };
_Static_assert(ATTRIBUTE_COUNT < WORDS * 64, "a row has no bit");

/* Finds the table's rows of an operation's attributes, one bit each. */
static void find_attributes(Opcode opcode, uint64_t *words) {
  const char *names = opcode_rows[opcode].attributes;
  for (const AttributeRow *row; (row = attribute_next(&names));) {
    size_t i = (size_t)(row - attribute_rows);
    words[i / 64] |= UINT64_C(1) << i % 64;
  }
}

/* Calls `step` for each attribute of `opcode`, until it returns false. Names are looked up once: the last
** bit says that they were. Threads that look them up at the same time find the same rows. */
static bool for_each_attribute(Opcode opcode, bool (*step)(const AttributeRow *row, void *data),
                               void *data) {
  static _Atomic uint64_t known[OPCODE_COUNT][WORDS];
  uint64_t words[WORDS] = {known[opcode][0], known[opcode][1]};
  if (!(words[WORDS - 1] >> 63)) {
    words[0] = words[1] = 0;
    find_attributes(opcode, words);
    known[opcode][0] = words[0];
    known[opcode][1] = words[1] | UINT64_C(1) << 63;
  }
  words[WORDS - 1] &= ~(UINT64_C(1) << 63);
  for (int word = 0; word < WORDS; word++) {
    for (uint64_t left = words[word]; left; left &= left - 1) {
      if (!step(&attribute_rows[64 * word + __builtin_ctzll(left)], data)) return false;
    }
  }
  return true;
}

typedef struct Compared {
  const char *a, *b;
} Compared;

static bool compare_step(const AttributeRow *row, void *data) {
  const Compared *compared = data;
  return values_equal(row->kind, compared->a + row->offset, compared->b + row->offset);
}

bool attributes_equal(Opcode opcode, const Attributes *a, const Attributes *b) {
  Compared compared = {(const char *)a, (const char *)b};
  /* Facts count, too: code that relies on a fact is wrong for an equal instruction without it. */
#define FACT(type, name) \
  if (a->derived.name != b->derived.name) return false;
  DERIVED_FACTS(FACT)
#undef FACT
  return for_each_attribute(opcode, compare_step, &compared);
}

typedef struct Hashed {
  const char *a;
  uint64_t hash;
} Hashed;

static bool hash_step(const AttributeRow *row, void *data) {
  Hashed *hashed = data;
  Bytes bytes;
  if (value_bytes(row->kind, hashed->a + row->offset, &bytes)) {
    hashed->hash = hash_bytes(hashed->hash, bytes.data, bytes.size);
  }
  return true;
}

uint64_t attributes_hash(Opcode opcode, const Attributes *a) {
  Hashed hashed = {(const char *)a, HASH_SEED};
  for_each_attribute(opcode, hash_step, &hashed);
  return hashed.hash;
}

uint64_t computation_hash(Computation *computation) {
  uint64_t hash = HASH_SEED;
  computation_renumber(computation);
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    hash = instruction_hash(hash, x);
    if (x->opcode != HLO_PARAMETER) hash ^= attributes_hash(x->opcode, x->a);
  }
  return hash ^ hash >> 32;
}
