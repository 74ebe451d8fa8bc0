/* Finds users of instructions, and reads and renumbers elements of tuples. */
#ifndef XLA_REWRITE_BASE_USERS_H
#define XLA_REWRITE_BASE_USERS_H

#include "hlo/ir/module.h"

/* The users of each instruction of a computation, by id (it is renumbered): a list, with one entry per use. */
typedef struct Users {
  int *count;
  Instruction ***lists;
} Users;
Users find_users(Arena *arena, Computation *computation);

bool is_element_of(const Instruction *x, const Instruction *tuple); /* a get-tuple-element */
/* Whether every use of a tuple in its computation is a get-tuple-element, and there are no control edges. */
bool has_only_elements(const Instruction *tuple);
/* Changes the index of a get-tuple-element from i to number[i]. */
void renumber_element(Instruction *element, const int *number);
void renumber_elements(const Instruction *tuple, const int *number);
/* Returns a tuple's element: the tuple instruction's operand, or a new get-tuple-element. */
Instruction *tuple_element(Instruction *tuple, int64_t index);

#endif
