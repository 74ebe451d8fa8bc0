/*
** The functions that generated code calls: vector_functions.def has the list. They are exported
** from the core under their own names, and can be tested like any C function.
*/
#ifndef XLA_VECTORS_VECTOR_FUNCTIONS_H
#define XLA_VECTORS_VECTOR_FUNCTIONS_H

#include <stdint.h>

/* Clang's vector types: all of 16 bytes are v128 in WebAssembly, whatever their lanes. */
typedef int32_t s32x4 __attribute__((vector_size(16)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef int64_t s64x2 __attribute__((vector_size(16)));
typedef uint64_t u64x2 __attribute__((vector_size(16)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef s32x4 V128;

#define VECTOR_PARAMETERS_1 V128
#define VECTOR_PARAMETERS_2 V128, V128
#define VECTOR_FUNCTION(opcode, name, lanes, arity) \
  __attribute__((used, visibility("default"))) V128 xla_##name##_##lanes(VECTOR_PARAMETERS_##arity);
#include "vectors/vector_functions.def"
#undef VECTOR_FUNCTION

#endif
