/*
** Declares what the batching rules share.
**
** A rule gets an instruction of the source, of whose operands at least one is batched, and the operands in the new
** computation. It adds the instruction for the batch, and returns the value that has its result.
*/
#ifndef XLA_DERIVE_BATCH_BATCHING_H
#define XLA_DERIVE_BATCH_BATCHING_H

#include "hlo/ir/module.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/make.h"

typedef struct Batching Batching;

typedef Instruction *BatchRule(Batching *b, const Instruction *x, Instruction **operands);

typedef struct BatchRow {
  BatchRule *rule;
  bool shifts;      /* batch_front: the numbers in the attribute `dimensions` grow by one */
  bool is_source;   /* has no operands */
  const char *none; /* the reason for having no rule */
  bool is_refused;  /* even if it does not depend on the batch */
} BatchRow;
extern const BatchRow batch_rows[OPCODE_COUNT];

/* A computation with some leaves of its parameters batched. */
typedef struct Case Case;
struct Case {
  Case *next;
  const bool *in;    /* by leaf of the parameters, in order */
  bool *out;         /* by leaf of the result: those that depend on the batch */
  Computation *made; /* for results as in `made_out` */
  const bool *made_out;
};

typedef struct Batch {
  Module *module;
  int64_t size;
  Error *error;
  bool failed;
  Case **cases; /* by number of the computation: a list */
} Batch;

/* One computation that is being written. */
struct Batching {
  Batch *all;
  Arena *arena;
  Maker m;
  const Computation *source;
  Instruction **map; /* by id in the source: the value in the new computation */
};

/* ---- cases.c ---- */

/* Returns the case of a computation for these batched leaves. Beyond a maximal number of cases, all share one case in which
** every leaf is batched, so `in` of the result may have more leaves. */
const Case *case_of(Batch *all, const Computation *source, const bool *in);
/* Finds which leaves of a loop's state are batched in some iteration. `flags` has those at the start. Returns whether
** the condition is batched; then all of them are. */
bool loop_flags(Batch *all, const Instruction *loop, bool *flags);
/* Returns the leaves of a conditional's result that are batched in some branch, if its predicate or index is not.
** `flags` has the leaves of all operands. */
bool *branch_flags(Batch *all, const Instruction *conditional, const bool *flags);
/* The leaves of all operands. */
int operand_leaf_count(const Instruction *x);

/* ---- walk.c ---- */

/* Begins the computation for a source. */
Batching batch_begin(Batch *all, const Computation *source);
/* Adds all instructions of the source. The parameters are in the map. Returns the result. */
Instruction *batch_walk(Batching *b);
/* Returns the computation for a case, whose result has at least the leaves `out` batched; NULL: those of the case. */
Computation *batch_computation(Batching *b, const Computation *source, const Case *one,
                               const bool *out);
/* Fails with UNIMPLEMENTED, the instruction, and this reason. Returns some value. */
Instruction *no_batch(Batching *b, const Instruction *x, const char *why);

/* Whether a value of the source has become a batched one. */
bool is_batched(const Instruction *value, const Instruction *source);
/* Writes which leaves of a value are batched, and returns the end. */
bool *put_flags(const Shape *value, const Shape *source, bool *out);
/* Returns the shape of an array of the source with the batch as dimension `at`. */
const Shape *with_batch(Batching *b, const Shape *source, int at);
/* Returns a shape of the source with the batch in all its arrays. */
const Shape *batched_shape(Batching *b, const Shape *source);
/* Returns the batched shape with a layout such as the source has, which may be column-major; also of tuples. */
const Shape *batched_with_layout(Batching *b, const Shape *source);
/* Returns a shape of the source with the batch in the arrays that have a flag. */
const Shape *flagged_shape(Batching *b, const Shape *source, const bool *flags);
/* Returns an array with the batch in front, broadcast if it is not batched. */
Instruction *in_front(Batching *b, Instruction *value, const Instruction *source);
/* Writes the leaves of a value, and returns them. */
Instruction **leaves_of(Batching *b, Instruction *value);
/* Returns a value with the batch in front of the leaves with a flag; no others are batched. */
Instruction *flagged_in_front(Batching *b, Instruction *value, const Shape *source,
                              const bool *flags);
/* Selects the leaves of x where an element of `predicate` is true, else those of y. Tokens are those of x. */
Instruction *select_leaves(Batching *b, Instruction *predicate, Instruction *x, Instruction *y);

/* Returns the attributes of an instruction for the batch: without those that are about shapes or order. */
Attributes batched_attributes(const Instruction *x);
/* Adds an instruction for the batch, under the source's name. */
Instruction *add_batched(Batching *b, const Instruction *x, Opcode opcode, const Shape *shape,
                         Instruction *const *operands, int count, const Attributes *attributes);
/* Returns the list with each number one larger. */
Int64List shifted(Batching *b, Int64List list);
/* Returns the batch's dimension, 0, and after it the shifted list. */
Int64List shifted_with_batch(Batching *b, Int64List list);
/* Moves dimension `from` to `to`. */
Instruction *move_dimension(Batching *b, Instruction *x, int from, int to);

/* ---- products.c ---- */

/* The rule of a triangular solve whose matrix is not batched; `left`: it is on the left. */
Instruction *batch_shared_solve(Batching *b, const Instruction *x, Instruction **operands,
                                bool left);

/* ---- The rules, by file ---- */

BatchRule batch_front; /* walk.c */
BatchRule batch_map, batch_broadcast, batch_transpose, batch_slice, batch_pad, batch_reshape,
    batch_dimension_size, batch_reduce, batch_window, batch_generator,
    batch_custom_call;                                                            /* dimensions.c */
BatchRule batch_dynamic_slice, batch_dynamic_update, batch_gather, batch_scatter; /* indexing.c */
BatchRule batch_dot, batch_ragged_dot, batch_convolution, batch_triangular_solve; /* products.c */
BatchRule batch_call, batch_conditional, batch_while;                             /* control.c */
BatchRule batch_in_turn;                                                          /* in_turn.c */
BatchRule batch_shard_call;                                                       /* shards.c */

#endif
