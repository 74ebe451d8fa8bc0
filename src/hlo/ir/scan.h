/*
** Defines scan. A scan of n steps walks its inputs along one dimension. Step i calls to_apply with element i
** of each input (from the last one on if is_reverse) and with the carries. It returns element i of each
** output and the carries of the next step.
**
**     (outputs..., carries...) scan(inputs..., carries...), dimensions={d}, num_carries=...,
**                              to_apply=f
**     f(input elements..., carries...) -> (output elements..., carries...)
**
** An element of an input or output has its dimensions except d. A single result need not be in a tuple: in
** f, in the scan, or in both.
*/
#ifndef XLA_HLO_IR_SCAN_H
#define XLA_HLO_IR_SCAN_H

#include "hlo/ir/module.h"

typedef struct Scan {
  int inputs, outputs, carries;
  int64_t dimension, length; /* d; n */
} Scan;

/* Returns the number of results in a shape; the next function returns one of them. */
static inline int scan_result_count(const Shape *shape) {
  return shape_is_tuple(shape) ? shape->tuple_size : 1;
}
static inline const Shape *scan_result(const Shape *shape, int index) {
  return shape_is_tuple(shape) ? shape->elements[index] : shape;
}

/* Reads an instruction that inference accepted. Without inputs, the outputs determine the number of steps. */
static inline Scan scan_of(const Instruction *instruction) {
  Scan scan = {.carries = (int)instruction->a->num_carries};
  scan.inputs = instruction->operand_count - scan.carries;
  scan.outputs = scan_result_count(instruction->shape) - scan.carries;
  scan.dimension = instruction->a->dimensions.items[0];
  const Shape *walked =
      scan.inputs ? instruction->operands[0]->shape : scan_result(instruction->shape, 0);
  scan.length = walked->dims[scan.dimension];
  return scan;
}

#endif
