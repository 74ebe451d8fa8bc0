/* Bounded arrays, which rewrites find, and kernels check. */
#ifndef XLA_PLAN_BOUNDED_H
#define XLA_PLAN_BOUNDED_H

/* Threshold ARRAY_BOUND: their numbers are below 2^ARRAY_BOUND. Those of models' caches are; and their products stay finite.
** Test: "keys after the position are not read, unless a query is large" in core/bounded_arrays.test.mjs. */
enum { ARRAY_BOUND = 30 };

#endif
