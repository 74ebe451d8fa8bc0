/*
** Lowering: rewrites for speed, which make of a program what loops and kernels want. They are
** passes like those of passes/, but some ask what the target can do.
*/
#ifndef XLA_REWRITE_LOWER_H
#define XLA_REWRITE_LOWER_H

#include "plan/fusible.h"
#include "rewrite/passes.h"

/* A while that counts from a constant to another: an element of its state, what that is in the first turn, by
** how much it grows, and how often the body runs. */
typedef struct Counter {
  int64_t element, first, step, turns;
} Counter;
/* False if it is not plain to see that a while is of this kind. */
bool find_counter(const Instruction *loop, Counter *out);

bool lower_unroll_loops(Module *module); /* short ones, of element-wise operations */
bool lower_counters(Module *module);     /* what their ranges tell, of comparisons and clamps */
bool lower_block_scans(Module *module);  /* cumulative ones of narrow floats, as XLA rounds them */
bool lower_reduction_levels(Module *module); /* of 8-bit floats, as XLA rounds them */
bool lower_normalize_floats(Module *module); /* of formats that nothing is computed in */
bool lower_count_predicates(Module *module); /* products of predicates, as ones of bytes */
bool lower_plain_windows(Module *module);    /* reversed ones, and those that are the whole array */
bool lower_expand_batch_norm(Module *module); /* as reductions and loops */
bool lower_expand_pooling(Module *module);    /* select-and-scatter, as reduce and select */
bool lower_scatter_windows(Module *module);   /* the others, as reduce-window and scatter */
bool lower_mask_windows(
    Module *module); /* what is not there of a window, as an operand that says so */
bool lower_apply_in_order(
    Module *module);                    /* what has loops in it, of sort, scatter, reduce-window */
bool lower_large_topk(Module *module);  /* what is not worth a list of the best */
bool lower_sort_keys(Module *module);   /* what a comparator computes of one side, beforehand */
bool lower_hoist_loops(Module *module); /* out of loops, what is the same in every turn */
bool lower_narrow(Module *module);      /* products and reductions, to what is used of them */
bool lower_logistic(Module *module);    /* found in what it is made of */
bool lower_differences(Module *module); /* that are at most 0: noted */
bool lower_small_dots(Module *module);  /* as sums of products */
bool lower_merge_dimensions(Module *module);   /* where they are more than loops are planned for */
bool lower_order_convolutions(Module *module); /* their dimensions, as kernels are fast in */
/* Long ones, into pieces that several threads may take. */
bool lower_split_reductions(Module *module, const Target *target);
bool lower_pad_windows(Module *module, const Target *target); /* of reduce-window, as `pad` */
/* The comparators of sorts that are left, on arrays. */
bool lower_batch_comparators(Module *module, const Target *target);
bool lower_fuse_loops(Module *module, const Target *target); /* element-wise neighbourhoods */
bool lower_fuse_siblings(Module *module);                    /* these, of the same operands */
/* Puts instructions into an order that takes less memory. */
bool schedule_module(Module *module);

#endif
