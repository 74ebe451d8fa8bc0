/* Minimum, maximum and rounded-up quotient of two integers. */
#ifndef XLA_BASE_MIN_MAX_H
#define XLA_BASE_MIN_MAX_H

#include <stdint.h>

static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
/* Returns a / b, rounded up; a >= 0. */
static inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* Returns a, rounded up to a multiple of step. */
static inline int64_t round_up(int64_t a, int64_t step) { return divide_up(a, step) * step; }

#endif
