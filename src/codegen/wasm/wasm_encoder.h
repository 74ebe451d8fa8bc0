/*
** Encodes the part of the WebAssembly binary format that the loop emitter needs: a module of functions that
** import memory and other functions. Source: WebAssembly Core Specification 2.0, chapter 5; SIMD opcodes: 5.4.8.
*/
#ifndef XLA_CODEGEN_WASM_WASM_ENCODER_H
#define XLA_CODEGEN_WASM_WASM_ENCODER_H

#include <stdbool.h>

#include "codegen/wasm/bytebuf.h"
#include "codegen/wasm/instructions.h"

typedef enum WasmType {
  WASM_CONSTANT, /* not of the format: a vector that wasm_v128 sets, so wasm_local never returns its local */
  WASM_V128 = 0x7b,
  WASM_I64 = 0x7e,
  WASM_I32 = 0x7f,
} WasmType;

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
  ByteBuf constants; /* the vectors that locals hold from the start: 16 bytes each */
  bool is_rare;      /* what follows seldom runs: its constants are made there */
} WasmFunction;

/* Parameters are locals 0, 1, .... */
void wasm_function_begin(WasmFunction *function, WasmModule *module, WasmSignature signature);
void wasm_function_end(WasmFunction *function); /* appends it to the module */

/* Allocates a local, and returns its number. */
int wasm_local(WasmFunction *function, WasmType type);
/* Releases a local whose value is no longer needed. */
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
/* Pushes a vector of 16 bytes. One that takes several instructions to make is made at the function's start, for all uses:
** V8 since Turboshaft makes it at each use otherwise, in loops, too. */
void wasm_v128(WasmFunction *function, const void *bytes);
void wasm_block(WasmFunction *function, int opcode); /* block, loop or if, without a value */
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
