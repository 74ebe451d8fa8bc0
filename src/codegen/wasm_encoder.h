/*
** Encodes the part of the WebAssembly binary format that the loop emitter needs: a module of functions that
** import memory and other functions. Source: WebAssembly Core Specification 2.0, chapter 5; SIMD opcodes: 5.4.8.
*/
#ifndef XLA_CODEGEN_WASM_ENCODER_H
#define XLA_CODEGEN_WASM_ENCODER_H

#include <stdbool.h>

#include "codegen/bytebuf.h"

typedef enum WasmType {
  WASM_V128 = 0x7b,
  WASM_I64 = 0x7e,
  WASM_I32 = 0x7f,
} WasmType;

enum {
  WASM_BLOCK_VOID = 0x40,
  /* Control */
  OP_BLOCK = 0x02,
  OP_LOOP = 0x03,
  OP_IF = 0x04,
  OP_ELSE = 0x05,
  OP_END = 0x0b,
  OP_BR = 0x0c,
  OP_BR_IF = 0x0d,
  OP_BR_TABLE = 0x0e,
  OP_RETURN = 0x0f,
  OP_CALL = 0x10,
  OP_DROP = 0x1a,
  OP_SELECT = 0x1b,
  /* Locals */
  OP_LOCAL_GET = 0x20,
  OP_LOCAL_SET = 0x21,
  OP_LOCAL_TEE = 0x22,
  /* Memory */
  OP_I32_LOAD = 0x28,
  OP_I64_LOAD = 0x29,
  OP_I32_LOAD8_S = 0x2c,
  OP_I32_LOAD8_U = 0x2d,
  OP_I32_LOAD16_S = 0x2e,
  OP_I32_LOAD16_U = 0x2f,
  OP_I64_LOAD8_S = 0x30, /* then those of u8, s16, u16, s32, u32 */
  OP_I32_STORE = 0x36,
  OP_I32_STORE8 = 0x3a,
  /* Scalars */
  OP_I32_CONST = 0x41,
  OP_I64_CONST = 0x42,
  OP_I32_EQZ = 0x45,
  OP_I32_EQ = 0x46,
  OP_I32_NE = 0x47,
  OP_I32_LT_S = 0x48,
  OP_I32_LT_U = 0x49,
  OP_I32_GT_S = 0x4a,
  OP_I32_GT_U = 0x4b,
  OP_I32_GE_S = 0x4e,
  OP_I64_EQZ = 0x50,
  OP_I64_LT_U = 0x54,
  OP_I64_GT_S = 0x55,
  OP_I32_ADD = 0x6a,
  OP_I32_SUB = 0x6b,
  OP_I32_MUL = 0x6c,
  OP_I32_DIV_U = 0x6e,
  OP_I32_REM_U = 0x70,
  OP_I32_AND = 0x71,
  OP_I32_OR = 0x72,
  OP_I32_SHL = 0x74,
  OP_I64_ADD = 0x7c,
  OP_I64_MUL = 0x7e,
  OP_I32_WRAP_I64 = 0xa7,
  OP_I64_EXTEND_I32_S = 0xac,  /* the unsigned form is the next */
  OP_F32_CONVERT_I64_S = 0xb4, /* each unsigned form is the next */
  OP_F64_CONVERT_I64_S = 0xb9,
  OP_SATURATING = 0xfc, /* a prefix: */
  OP_I64_TRUNC_SAT_F64_S = 0x06,
};

/* Opcodes after the SIMD prefix. */
enum {
  SIMD_PREFIX = 0xfd,
  V128_LOAD = 0x00,
  V128_LOAD16X4_S = 0x03,
  V128_LOAD16X4_U = 0x04,
  V128_LOAD8_SPLAT = 0x07,
  V128_LOAD16_SPLAT = 0x08,
  V128_LOAD32_SPLAT = 0x09,
  V128_LOAD64_SPLAT = 0x0a,
  V128_STORE = 0x0b,
  V128_CONST = 0x0c,
  I8X16_SHUFFLE = 0x0d,
  I32X4_SPLAT = 0x11,
  I64X2_SPLAT = 0x12,
  F32X4_SPLAT = 0x13,
  F64X2_SPLAT = 0x14,
  I8X16_EXTRACT_LANE_S = 0x15, /* each unsigned form is the next */
  I16X8_EXTRACT_LANE_S = 0x18,
  I32X4_EXTRACT_LANE = 0x1b,
  I32X4_REPLACE_LANE = 0x1c,
  I64X2_EXTRACT_LANE = 0x1d,
  I64X2_REPLACE_LANE = 0x1e,
  F32X4_REPLACE_LANE = 0x20,
  F64X2_EXTRACT_LANE = 0x21,
  F64X2_REPLACE_LANE = 0x22,
  I32X4_EQ = 0x37,
  I32X4_NE = 0x38,
  I32X4_LT_S = 0x39,
  I32X4_LT_U = 0x3a,
  I32X4_GT_S = 0x3b,
  I32X4_GT_U = 0x3c,
  I32X4_LE_S = 0x3d,
  I32X4_LE_U = 0x3e,
  I32X4_GE_S = 0x3f,
  I32X4_GE_U = 0x40,
  F32X4_EQ = 0x41,
  F32X4_NE = 0x42,
  F32X4_LT = 0x43,
  F32X4_GT = 0x44,
  F32X4_LE = 0x45,
  F32X4_GE = 0x46,
  F64X2_EQ = 0x47,
  F64X2_NE = 0x48,
  F64X2_LT = 0x49,
  F64X2_GT = 0x4a,
  F64X2_LE = 0x4b,
  F64X2_GE = 0x4c,
  V128_NOT = 0x4d,
  V128_AND = 0x4e,
  V128_ANDNOT = 0x4f,
  V128_OR = 0x50,
  V128_XOR = 0x51,
  V128_BITSELECT = 0x52,
  V128_LOAD8_LANE = 0x54,
  V128_LOAD16_LANE = 0x55,
  V128_LOAD32_LANE = 0x56,
  V128_LOAD64_LANE = 0x57,
  V128_STORE8_LANE = 0x58,
  V128_STORE16_LANE = 0x59,
  I32X4_BITMASK = 0xa4,
  V128_STORE32_LANE = 0x5a,
  V128_STORE64_LANE = 0x5b,
  V128_LOAD32_ZERO = 0x5c,
  V128_LOAD64_ZERO = 0x5d,
  F32X4_DEMOTE_F64X2_ZERO = 0x5e,
  F64X2_PROMOTE_LOW_F32X4 = 0x5f,
  I8X16_EQ = 0x23,
  I8X16_NE = 0x24,
  I8X16_POPCNT = 0x62,
  I8X16_ADD = 0x6e,
  I8X16_MIN_S = 0x76, /* each unsigned form follows */
  I8X16_MAX_S = 0x78,
  F32X4_CEIL = 0x67,
  F32X4_FLOOR = 0x68,
  F32X4_TRUNC = 0x69,
  F32X4_NEAREST = 0x6a,
  F64X2_CEIL = 0x74,
  F64X2_FLOOR = 0x75,
  F64X2_TRUNC = 0x7a,
  I16X8_EXTADD_PAIRWISE_I8X16_U = 0x7d,
  I32X4_EXTADD_PAIRWISE_I16X8_U = 0x7f,
  I16X8_EXTEND_LOW_I8X16_S = 0x87,
  I16X8_EXTEND_LOW_I8X16_U = 0x89,
  F64X2_NEAREST = 0x94,
  I32X4_ABS = 0xa0,
  I32X4_NEG = 0xa1,
  I32X4_EXTEND_LOW_I16X8_S = 0xa7,
  I32X4_EXTEND_LOW_I16X8_U = 0xa9,
  I32X4_SHL = 0xab,
  I32X4_SHR_S = 0xac,
  I32X4_SHR_U = 0xad,
  I32X4_ADD = 0xae,
  I32X4_SUB = 0xb1,
  I32X4_MUL = 0xb5,
  I32X4_MIN_S = 0xb6,
  I32X4_MIN_U = 0xb7,
  I32X4_MAX_S = 0xb8,
  I32X4_MAX_U = 0xb9,
  I64X2_ABS = 0xc0,
  I64X2_NEG = 0xc1,
  I64X2_EXTEND_LOW_I32X4_S = 0xc7,
  I64X2_EXTEND_HIGH_I32X4_S = 0xc8,
  I64X2_EXTEND_LOW_I32X4_U = 0xc9,
  I64X2_EXTEND_HIGH_I32X4_U = 0xca,
  I64X2_SHL = 0xcb,
  I64X2_SHR_S = 0xcc,
  I64X2_SHR_U = 0xcd,
  I64X2_ADD = 0xce,
  I64X2_SUB = 0xd1,
  I64X2_MUL = 0xd5,
  I64X2_EQ = 0xd6,
  I64X2_NE = 0xd7,
  I64X2_LT_S = 0xd8,
  I64X2_GT_S = 0xd9,
  I64X2_LE_S = 0xda,
  I64X2_GE_S = 0xdb,
  I64X2_EXTMUL_LOW_I32X4_U = 0xde, /* and HIGH, the next */
  F32X4_ABS = 0xe0,
  F32X4_NEG = 0xe1,
  F32X4_SQRT = 0xe3,
  F32X4_ADD = 0xe4,
  F32X4_SUB = 0xe5,
  F32X4_MUL = 0xe6,
  F32X4_DIV = 0xe7,
  F32X4_MIN = 0xe8,
  F32X4_MAX = 0xe9,
  F32X4_PMIN = 0xea,
  F32X4_PMAX = 0xeb,
  F64X2_ABS = 0xec,
  F64X2_NEG = 0xed,
  F64X2_SQRT = 0xef,
  F64X2_ADD = 0xf0,
  F64X2_SUB = 0xf1,
  F64X2_MUL = 0xf2,
  F64X2_DIV = 0xf3,
  F64X2_MIN = 0xf4,
  F64X2_MAX = 0xf5,
  F64X2_PMIN = 0xf6,
  F64X2_PMAX = 0xf7,
  I32X4_TRUNC_SAT_F32X4_S = 0xf8,
  I32X4_TRUNC_SAT_F32X4_U = 0xf9,
  F32X4_CONVERT_I32X4_S = 0xfa,
  F32X4_CONVERT_I32X4_U = 0xfb,
  I32X4_TRUNC_SAT_F64X2_S_ZERO = 0xfc,
  I32X4_TRUNC_SAT_F64X2_U_ZERO = 0xfd,
  F64X2_CONVERT_LOW_I32X4_S = 0xfe,
  F64X2_CONVERT_LOW_I32X4_U = 0xff,
};

/* --- Modules ---------------------------------------------------------------------------------- */

/* The types of functions. ORDER SIGNATURE: vectors follow each other by arity. */
typedef enum WasmSignature {
  SIGNATURE_KERNEL, /* void(i32, i64, i64) */
  SIGNATURE_VECTOR, /* v128(v128) */
  SIGNATURE_VECTOR_2,
  SIGNATURE_VECTOR_3,
  SIGNATURE_REGION, /* i32(i32, i32, i32, i32) */
  SIGNATURE_STEP,   /* i32(i32, i32) */
  SIGNATURE_COUNT,
} WasmSignature;

typedef struct WasmImport {
  const char *name; /* static storage */
  WasmSignature signature;
} WasmImport;

/* A body in the module's code, and its hash. */
typedef struct WasmBody {
  size_t offset, size;
  uint64_t hash;
  WasmSignature signature;
} WasmBody;

/* A call of another body. Its function's index is known when all imports are. */
typedef struct WasmCall {
  size_t at; /* the offset of the five-byte index, in the code of the function or of the module */
  int body;
} WasmCall;

typedef struct WasmModule {
  int import_count, import_capacity;
  WasmImport *imports;
  int body_count, body_capacity;
  WasmBody *bodies;
  ByteBuf code; /* the bodies so far, each after its size */
  int export_count, export_capacity;
  int *exports; /* the body of each function: equal functions share one */
  int call_count, call_capacity;
  WasmCall *calls;
} WasmModule;

/* Writes the whole module. It exports its functions as "0", "1", ..., in the order in which they ended. */
void wasm_module_encode(WasmModule *module, bool shared_memory, ByteBuf *out);
void wasm_module_free(WasmModule *module);

/* --- Functions -------------------------------------------------------------------------------- */

/* The function that is being emitted. */
typedef struct WasmFunction {
  WasmModule *module;
  WasmSignature signature;
  ByteBuf body;
  int parameters;
  int call_count, call_capacity;
  WasmCall *calls; /* in `body` */
  int local_count, local_capacity;
  uint8_t *local_types; /* of locals 0, 1, ..., parameters first */
  bool *local_free;
} WasmFunction;

/* Parameters are locals 0, 1, .... */
void wasm_function_begin(WasmFunction *function, WasmModule *module, WasmSignature signature);
void wasm_function_end(WasmFunction *function); /* appends it to the module */

/* Allocate a local; release it, when its value is no longer needed. */
int wasm_local(WasmFunction *function, WasmType type);
void wasm_local_release(WasmFunction *function, int local);
/* Releases all locals allocated since wasm_locals_in_use returned the list `was_free`, which belongs to a
** scope. */
bool *wasm_locals_in_use(const WasmFunction *function, int *count);
void wasm_locals_restore(WasmFunction *function, bool *was_free, int count);

void wasm_op(WasmFunction *function, int opcode);
void wasm_simd(WasmFunction *function, int opcode);
void wasm_get(WasmFunction *function, int local);
void wasm_set(WasmFunction *function, int local);
void wasm_tee(WasmFunction *function, int local);
void wasm_i32(WasmFunction *function, int64_t value);
void wasm_v128(WasmFunction *function, const void *bytes); /* 16 of them */
void wasm_block(WasmFunction *function, int opcode);       /* block, loop or if, without a value */
void wasm_branch(WasmFunction *function, int opcode, int depth);
void wasm_call(WasmFunction *function, const char *name, WasmSignature signature);
/* Calls a finished function of the same module, by its number. */
void wasm_call_function(WasmFunction *function, int number);
void wasm_i64(WasmFunction *function, int64_t value);

/* Emit loads and stores. The alignment is always 1, as engines ignore this hint. */
void wasm_memory(WasmFunction *function, int opcode, int64_t offset);
void wasm_memory_copy(WasmFunction *function); /* target, source, size -> */
void wasm_simd_memory(WasmFunction *function, int opcode, int64_t offset);
void wasm_simd_memory_lane(WasmFunction *function, int opcode, int64_t offset, int lane);
void wasm_extract_lane(WasmFunction *function, int opcode, int lane);

/* Emits i8x16.shuffle in units of 32 bits: lanes 0-3 of the first operand, 4-7 of the second. */
void wasm_shuffle32(WasmFunction *function, int a, int b, int c, int d);
void wasm_shuffle8(WasmFunction *function, const uint8_t *lanes); /* 16 of them */

#endif
