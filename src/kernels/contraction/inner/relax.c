/* Rewrites loops for relaxed SIMD: see relax.h. Instructions are found by their first bytes; tests/core/relaxed.test.mjs checks
** that these occur nowhere else. */
#include "kernels/contraction/inner/relax.h"

#include <string.h>

/* WebAssembly's format. */
enum {
  HEADER_BYTES = 8,
  TYPE_SECTION = 1,
  FUNCTION_SECTION = 3,
  CODE_SECTION = 10,
  TYPE_V128 = 0x7b,
  LOCAL_GET = 0x20,
  LOCAL_SET = 0x21,
  I32_CONST = 0x41,
  SIMD = 0xfd, /* what vector instructions begin with */
  V128_LOAD = 0x00,
  V128_CONST = 0x0c,
  I8X16_SWIZZLE = 0x0e,
  F32X4_ADD = 0xe4,
  F32X4_MUL = 0xe6, /* and a last byte, 1 */
  RELAXED = 2,      /* the last byte of relaxed instructions; in between is: */
  RELAXED_SWIZZLE = 0x80,
  RELAXED_MADD = 0x85,
};

/* Threshold MAX_TYPES, MAX_CONSTANTS, CONSTANT_BYTES: types of functions in a module of loops, vectors in a function. No path. */
enum { MAX_TYPES = 8, MAX_CONSTANTS = 16, CONSTANT_BYTES = 18 };

typedef struct Rewriter {
  bool relaxed, fused;
  uint8_t parameters[MAX_TYPES]; /* of each type of function */
  const uint8_t *types;          /* of each function */
  uint8_t *to;
  /* Of a function: */
  const uint8_t *constants[MAX_CONSTANTS]; /* that are loaded before its first instruction */
  int constant_count;
  uint32_t locals; /* the number of the first added one; then come those of constants */
} Rewriter;

static uint32_t read_number(const uint8_t **from) {
  uint32_t value = 0;
  for (int shift = 0;; shift += 7) {
    uint8_t byte = *(*from)++;
    value |= (uint32_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

/* Threshold NUMBER_BYTES: as many as any number needs. No path. */
enum { NUMBER_BYTES = 5 };
static void write_number_at(uint8_t *to, uint32_t value) {
  for (int i = 0; i < NUMBER_BYTES - 1; i++, value >>= 7) to[i] = (uint8_t)(value | 0x80);
  to[NUMBER_BYTES - 1] = (uint8_t)value;
}
static void write_number(Rewriter *r, uint32_t value) {
  write_number_at(r->to, value);
  r->to += NUMBER_BYTES;
}
static void write(Rewriter *r, const void *bytes, size_t count) {
  memcpy(r->to, bytes, count);
  r->to += count;
}
static void write_byte(Rewriter *r, uint8_t byte) { *r->to++ = byte; }

static void write_local(Rewriter *r, uint8_t instruction, int added) {
  write_byte(r, instruction);
  write_number(r, r->locals + (uint32_t)added);
}

/* Replaces a fused multiply-add of three operands by a product and a sum. The last operand waits in the first added local. */
static void write_madd(Rewriter *r) {
  write_local(r, LOCAL_SET, 0);
  write(r, (const uint8_t[]){SIMD, F32X4_MUL, 1}, 3);
  write_local(r, LOCAL_GET, 0);
  write(r, (const uint8_t[]){SIMD, F32X4_ADD, 1}, 3);
}

/* Returns the number of a constant in the list; constant_count: it is not there. */
static int constant_number(const Rewriter *r, const uint8_t *bytes) {
  int i = 0;
  while (i < r->constant_count && memcmp(r->constants[i], bytes, 16) != 0) i++;
  return i;
}

/* Lists the vectors of a function that are no zeros, which need no load. */
static void find_constants(Rewriter *r, const uint8_t *from, const uint8_t *end) {
  static const uint8_t zeros[16];
  r->constant_count = 0;
  for (; r->relaxed && from < end && r->constant_count < MAX_CONSTANTS; from++) {
    if (from[0] != SIMD || from[1] != V128_CONST) continue;
    const uint8_t *bytes = from + 2;
    from += CONSTANT_BYTES - 1;
    if (memcmp(bytes, zeros, 16) == 0 || constant_number(r, bytes) < r->constant_count) continue;
    r->constants[r->constant_count++] = bytes;
  }
}

static void load_constants(Rewriter *r) {
  for (int i = 0; i < r->constant_count; i++) {
    write_byte(r, I32_CONST);
    write_number(r, (uint32_t)(uintptr_t)r->constants[i]);
    write(r, (const uint8_t[]){SIMD, V128_LOAD, 0, 0}, 4);
    write_local(r, LOCAL_SET, 1 + i);
  }
}

/* Rewrites the instruction at `from` if it is one of those that change. Returns its bytes; 0 if it is none. */
static int rewrite(Rewriter *r, const uint8_t *from) {
  if (from[0] != SIMD) return 0;
  if (from[1] == V128_CONST) {
    int i = constant_number(r, from + 2);
    if (i < r->constant_count) {
      write_local(r, LOCAL_GET, 1 + i);
    } else {
      write(r, from, CONSTANT_BYTES);
    }
    return CONSTANT_BYTES;
  }
  if (from[2] != RELAXED) return 0;
  if (from[1] == RELAXED_SWIZZLE && !r->relaxed) {
    write(r, (const uint8_t[]){SIMD, I8X16_SWIZZLE}, 2);
    return 3;
  }
  if (from[1] == RELAXED_MADD && !r->fused) {
    write_madd(r);
    return 3;
  }
  return 0;
}

/* Adds locals to those of a function. */
static void add_locals(Rewriter *r, const uint8_t **from, uint32_t parameters) {
  uint32_t groups = read_number(from);
  const uint8_t *first = *from;
  r->locals = parameters;
  for (uint32_t i = 0; i < groups; i++, (*from)++) r->locals += read_number(from);
  write_number(r, groups + 1);
  write(r, first, (size_t)(*from - first));
  write_number(r, 1 + (uint32_t)r->constant_count);
  write_byte(r, TYPE_V128);
}

static void rewrite_code(Rewriter *r, const uint8_t *from) {
  uint32_t functions = read_number(&from);
  write_number(r, functions);
  for (uint32_t i = 0; i < functions; i++) {
    uint32_t size = read_number(&from);
    const uint8_t *end = from + size;
    uint8_t *place = r->to;
    r->to += NUMBER_BYTES;
    find_constants(r, from, end);
    add_locals(r, &from, r->parameters[r->types[i]]);
    load_constants(r);
    while (from < end) {
      int bytes = rewrite(r, from);
      if (!bytes) write_byte(r, *from);
      from += bytes ? bytes : 1;
    }
    write_number_at(place, (uint32_t)(r->to - place - NUMBER_BYTES));
  }
}

/* Functions return nothing. Types are single bytes. */
static void read_types(Rewriter *r, const uint8_t *from) {
  uint32_t count = read_number(&from);
  for (uint32_t i = 0; i < count; i++, from += 3 + from[1]) r->parameters[i] = from[1];
}

size_t relax_module(const uint8_t *module, size_t size, bool relaxed, bool fused, uint8_t *out) {
  Rewriter r = {.relaxed = relaxed, .fused = fused, .to = out};
  write(&r, module, HEADER_BYTES);
  for (const uint8_t *from = module + HEADER_BYTES, *end = module + size; from < end;) {
    uint8_t id = *from++;
    uint32_t bytes = read_number(&from);
    if (id == TYPE_SECTION) read_types(&r, from);
    if (id == FUNCTION_SECTION) r.types = from + 1;
    write_byte(&r, id);
    uint8_t *place = r.to;
    r.to += NUMBER_BYTES;
    if (id == CODE_SECTION) {
      rewrite_code(&r, from);
    } else {
      write(&r, from, bytes);
    }
    write_number_at(place, (uint32_t)(r.to - place - NUMBER_BYTES));
    from += bytes;
  }
  return (size_t)(r.to - out);
}
