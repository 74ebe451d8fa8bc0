/*
** Rewrites a module of loops for engines with and without relaxed SIMD. It lies in this module as bytes, compiled with
** relaxed SIMD; to have it in two forms would be 10 kB more to download. What changes:
**
**     f32x4.relaxed_madd       becomes a product and a sum, unless the engine has relaxed SIMD and fusing is allowed
**     i8x16.relaxed_swizzle    becomes i8x16.swizzle, unless the engine has relaxed SIMD. Loops have only indices for
**                              which both do the same: below 16 or negative
**     v128.const               becomes a local, loaded before the function's first instruction, if the engine has
**                              relaxed SIMD. V8's Turboshaft makes a constant that a loop uses anew in each iteration,
**                              by five instructions. Without relaxed SIMD constants stay: V8 compiles a swizzle by a
**                              constant like a relaxed one
**
** Measured (V8 13.6, Zen 3): sums of s8 and s4 take 0.4 of the time.
*/
#ifndef XLA_KERNELS_CONTRACTION_RELAX_H
#define XLA_KERNELS_CONTRACTION_RELAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Three bytes become 18. */
enum { RELAX_GROWTH = 6 };
/* Writes the rewritten module, of at most RELAX_GROWTH times as many bytes; returns how many. `module` must stay where it is. */
size_t relax_module(const uint8_t *module, size_t size, bool relaxed, bool fused, uint8_t *out);

#endif
