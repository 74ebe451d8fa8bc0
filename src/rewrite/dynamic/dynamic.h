/*
** What the files of this folder share: the sizes of dynamic dimensions in one computation,
** while it is walked from operands to users.
**
** The same rules run twice over the bodies of loops and branches: first dry, to learn which
** dimensions are dynamic, as that decides what must be carried around a loop; then in earnest.
*/
#ifndef XLA_REWRITE_DYNAMIC_DYNAMIC_H
#define XLA_REWRITE_DYNAMIC_DYNAMIC_H

#include "hlo/ir/module.h"
#include "value/scalar.h"

/* One entry per dimension of each leaf of a value, in order: an s32[] instruction that holds its
** size; NULL where it is static. */
typedef Instruction **Sizes;

typedef struct CalleeMemo CalleeMemo;

/* What is known of computations that are called. */
typedef struct Callees {
  int dynamic_count, memo_count, memo_capacity;
  Computation **dynamic; /* have dynamic dimensions, or call what has */
  CalleeMemo *memos;     /* control.c */
} Callees;

typedef struct Dynamic {
  Computation *computation; /* that is walked; new instructions go to its end */
  Arena *scratch;
  Error *error;
  Callees *callees;
  bool dry;                 /* make nothing: a size is any pointer but NULL */
  int count;                /* instructions when the walk began */
  Instruction **to;         /* by id: what stands for that instruction now */
  Sizes *sizes;             /* by id */
  Instruction **parameters; /* by number: what stands for it; not if dry */
  Sizes *parameter_sizes;   /* by number */
} Dynamic;

/* ---- dynamic.c ---- */

int size_count(const Shape *shape); /* entries in its Sizes */
bool any_dynamic(const Sizes sizes, int count);
/* The bounds that go with the sizes. */
int64_t *put_bounds(const Shape *shape, int64_t *out);
/* UNIMPLEMENTED, with the rule: "dimensions that ... must be static". `entry` is one of the
** operand's sizes. */
bool dynamic_refuse(Dynamic *d, const Instruction *instruction, int operand, int entry,
                    const char *rule);

/* ---- dimensions.c ---- */

/* The walk over a computation, whose parameters' sizes may be set in between. */
void dynamic_begin(Dynamic *d, Computation *computation);
bool dynamic_walk(Dynamic *d);

/* ---- control.c ---- */

/* while, conditional, call and fusion: gives the sizes of the result, and if not dry what stands for
** the instruction, whose operands have been replaced. */
bool dynamic_control(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result,
                     Instruction **stands_for);

/* ---- emit.c: new instructions ---- */

Instruction *emit(Dynamic *d, Opcode opcode, const Shape *shape, Instruction **operands, int count,
                  const Attributes *attributes);
Instruction *emit_binary(Dynamic *d, Opcode opcode, Instruction *x, Instruction *y);
Instruction *emit_constant(Dynamic *d, PrimitiveType type, Scalar value);
Instruction *emit_splat(Dynamic *d, Instruction *scalar, const Shape *shape);
Instruction *emit_iota(Dynamic *d, const Shape *shape, int64_t dimension);
Instruction *emit_element(Dynamic *d, Instruction *tuple, int64_t index);
/* `shape` without layout and dynamic dimensions, of another type. */
const Shape *plain_shape(Dynamic *d, const Shape *shape, PrimitiveType type);
/* pred of the shape's dimensions: whether an element lies before `size` in a dimension. */
Instruction *emit_mask(Dynamic *d, const Shape *shape, int64_t dimension, Instruction *size);

Instruction *emit_is_one(Dynamic *d, Instruction *size); /* pred[] */
/* select; a scalar condition is for all elements. */
Instruction *emit_choice(Dynamic *d, Instruction *condition, Instruction *then,
                         Instruction *otherwise);

/* s32[] arithmetic; a dry walk gets a marker. */
Instruction *size_of(Dynamic *d, int64_t value);
Instruction *size_binary(Dynamic *d, Opcode opcode, Instruction *x, Instruction *y);
Instruction *size_or_bound(Dynamic *d, Instruction *size, int64_t bound);
/* For operands that should be equally long: what all have. NULL is static. */
void size_merge(Dynamic *d, Instruction **size, Instruction *other);
/* What stands for an operand of an instruction whose operands are those that it had. */
Instruction *new_operand(const Dynamic *d, const Instruction *instruction, int k);

/* ---- sizes.c: the sizes of a result from those of its operands ---- */

/* `result` has NULL in all entries before; the instruction's operands are those it had. False with
** an error. */
bool dynamic_infer(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result);

/* Neighbouring dimensions of a reshape's operand and result that have equally many elements. */
typedef struct ReshapeGroup {
  int from, from_end, to, to_end;
} ReshapeGroup;
/* Starts with all zero; false after the last. Neither shape may be empty. */
bool reshape_next_group(const Shape *operand, const Shape *result, ReshapeGroup *group);

/* ---- padding.c ---- */

/* What stands for an instruction some of whose sizes are dynamic and whose operands have been
** replaced; mostly itself with operands whose padding does no harm. NULL with an error. */
Instruction *dynamic_rewrite(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result);

/* ---- batch_norm.c ---- */

/* batch-norm-training and -grad; `sizes` are those of the operand. */
Instruction *dynamic_batch_norm(Dynamic *d, Instruction *instruction, Sizes sizes);

#endif
