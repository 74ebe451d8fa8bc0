/*
** Converts runs of elements to and from the types that contractions compute with (arithmetic.h).
*/
#ifndef XLA_KERNELS_CONTRACTION_ELEMENTS_H
#define XLA_KERNELS_CONTRACTION_ELEMENTS_H

#include "kernels/contraction/contraction.h"

/*
** How elements of type `from` become the arithmetic's, for a result of type `result`: as the
** evaluator does it (reference/wide_numbers.c). Where `run` is NULL they are that already.
*/
typedef struct Loader Loader;
struct Loader {
  PrimitiveType from, element, result;
  bool widens;              /* by a loop of widen.h */
  const Computed *computed; /* of a computed operand; then `elements` is an address as there */
  void (*run)(const Loader *loader, const uint8_t *elements, int64_t count, void *out);
};
Loader loader_for(PrimitiveType from, const Arithmetic *arithmetic, PrimitiveType result);
/* Returns the loader of an operand of a contraction. */
Loader operand_loader(const Contraction *contraction, const Arithmetic *arithmetic,
                      Operand operand);

/* Converts `count` elements, which are `stride` elements apart. */
void load_elements(const Loader *loader, const uint8_t *elements, int64_t stride, int64_t count,
                   uint8_t *out);

/* Whether the result's elements are the arithmetic's sums as they are. */
bool sums_are_results(const Arithmetic *arithmetic, PrimitiveType result);
/* Converts sums to the result's type: rounds floats to nearest even, wraps integers. */
void store_sums(const Arithmetic *arithmetic, const void *sums, int64_t count, PrimitiveType result,
                void *out);
/* Stores elements of `bytes` bytes, `stride` elements apart. */
void scatter_elements(const uint8_t *elements, int64_t count, size_t bytes, uint8_t *out,
                      int64_t stride);

#endif
