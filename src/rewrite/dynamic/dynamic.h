/*
** Declares the walk that this folder's files share: it finds the sizes of dynamic dimensions in one
** computation, from operands to users.
**
** The same rules run twice over the bodies of loops and branches. The first, dry walk only finds the
** dynamic dimensions, as these determine the state of a loop. The second walk makes instructions.
*/
#ifndef XLA_REWRITE_DYNAMIC_DYNAMIC_H
#define XLA_REWRITE_DYNAMIC_DYNAMIC_H

#include "rewrite/base/make.h"
#include "value/scalar.h"

/* One entry per dimension of each leaf of a value, in order: an s32[] instruction that holds its
** size; NULL where it is static. */
typedef Instruction **Sizes;

typedef struct CalleeMemo CalleeMemo;

/* The results of analysing called computations. */
typedef struct Callees {
  int dynamic_count, memo_count, memo_capacity;
  Computation **dynamic; /* those with dynamic dimensions, there or in a callee */
  CalleeMemo *memos;     /* control.c */
} Callees;

typedef struct Dynamic {
  Maker at; /* of the computation that is walked; new instructions go to its end */
  Arena *scratch;
  Callees *callees;
  bool dry;                 /* make no instructions: a size is any pointer but NULL */
  int count;                /* instructions when the walk began */
  Instruction **to;         /* by id: the replacement */
  Sizes *sizes;             /* by id */
  Instruction **parameters; /* by number: the replacement; not if dry */
  Sizes *parameter_sizes;   /* by number */
} Dynamic;

/* ---- queries.c ---- */

/* Whether an instruction has a dynamic dimension, or is about one. */
bool instruction_is_dynamic(const Instruction *instruction);

/* ---- dynamic.c ---- */

int size_count(const Shape *shape); /* entries in its Sizes */
bool any_dynamic(const Sizes sizes, int count);
/* Writes the bounds of the sizes. */
int64_t *put_bounds(const Shape *shape, int64_t *out);
/* Fails with UNIMPLEMENTED and the rule: "dimensions that ... must be static". `entry` is one of the
** operand's sizes. */
bool dynamic_refuse(Dynamic *d, const Instruction *instruction, int operand, int entry,
                    const char *rule);

/* ---- dimensions.c ---- */

/* Begins the walk over a computation. The parameters' sizes may be set before it continues. */
void dynamic_begin(Dynamic *d, Computation *computation);
bool dynamic_walk(Dynamic *d);

Sizes no_sizes(Dynamic *d, const Shape *shape); /* static ones */

/* ---- control.c ---- */

/* Handles while, conditional, call and fusion: finds the sizes of the result and, if not dry, the
** replacement of the instruction, whose operands have been replaced. */
bool dynamic_control(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result,
                     Instruction **stands_for);

/* ---- arithmetic.c ---- */

/* Returns `shape` without layout and dynamic dimensions, of another type. */
const Shape *plain_shape(Dynamic *d, const Shape *shape, PrimitiveType type);
/* Makes a pred array of the shape's dimensions: whether an element lies before `size` in a dimension. */
Instruction *size_mask(Dynamic *d, const Shape *shape, int64_t dimension, Instruction *size);
Instruction *size_is_one(Dynamic *d, Instruction *size); /* pred[] */
/* Makes a select of the shape of `then`; a scalar condition is broadcast. */
Instruction *dynamic_select(Dynamic *d, Instruction *condition, Instruction *then,
                            Instruction *otherwise);

/* s32[] arithmetic; a dry walk gets a marker. */
Instruction *size_of(Dynamic *d, int64_t value);
Instruction *size_binary(Dynamic *d, Opcode opcode, Instruction *x, Instruction *y);
Instruction *size_or_bound(Dynamic *d, Instruction *size, int64_t bound);
/* Merges the sizes of operands that should be equally long. NULL is static. */
void size_merge(Dynamic *d, Instruction **size, Instruction *other);
/* Returns the replacement of an operand of an instruction that still has its old operands. */
Instruction *new_operand(const Dynamic *d, const Instruction *instruction, int k);

/* ---- sizes.c: the sizes of a result from those of its operands ---- */

/* Infers the sizes of the result. `result` has NULL in all entries before; the instruction still has its
** old operands. Returns false with an error. */
bool dynamic_infer(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result);

/* Neighbouring dimensions of a reshape's operand and result with the same number of elements. */
typedef struct ReshapeGroup {
  int from, from_end, to, to_end;
} ReshapeGroup;
/* Finds the next group, from all zero at first; false after the last. Neither shape may be empty. */
bool reshape_next_group(const Shape *operand, const Shape *result, ReshapeGroup *group);

/* ---- padding.c ---- */

/* Rewrites an instruction with dynamic sizes, whose operands have been replaced. Returns its replacement,
** mostly itself with operands whose padding is neutral; NULL with an error. */
Instruction *dynamic_rewrite(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result);

#endif
