/*
** How a pass rewrites a computation in one walk, in time linear in its size: it visits each
** instruction after its operands, may change it in place, or says what takes its place. Whoever
** comes later in the walk then uses the replacement.
**
**     Rewrite rewrite;
**     rewrite_begin(&rewrite, computation);
**     for (int i = 0; i < rewrite.count; i++) {
**       Instruction *instruction = rewrite_visit(&rewrite, i);
**       ... rewrite_replace(&rewrite, instruction, instruction->operands[0]);
**     }
**     changed |= rewrite_end(&rewrite);
**
** The replaced instructions stay behind, unused, for pass_dead_code.
*/
#ifndef XLA_REWRITE_REWRITE_H
#define XLA_REWRITE_REWRITE_H

#include "rewrite/passes.h"
#include "value/scalar.h"

typedef struct Rewrite {
  Computation *computation;
  int count;        /* instructions when the walk began */
  Instruction **to; /* by id: what takes the place of that instruction; NULL: it stays */
  bool layouts_matter, changed;
} Rewrite;

void rewrite_begin(Rewrite *rewrite, Computation *computation);
/* Instruction number `index`, its operands brought up to date. */
Instruction *rewrite_visit(Rewrite *rewrite, int index);
/* `to` must have been visited or be new, and have the same dimensions and types as `from`. False,
** and nothing happens, where a bitcast could see that the layout is another. */
bool rewrite_replace(Rewrite *rewrite, Instruction *from, Instruction *to);
/* Puts new instructions in order. Returns whether anything changed (`changed` may be set by hand
** for changes in place). */
bool rewrite_end(Rewrite *rewrite);

/* Turns `instruction` into another operation on the spot, keeping its name, shape and users. */
void instruction_become(Instruction *instruction, Opcode opcode, Instruction *const *operands,
                        int operand_count, const Attributes *attributes);

/* The value that all elements of a constant, or of a broadcast one, have; false if it is neither. */
bool splat_value(const Instruction *x, Scalar *value);

/* Who uses each instruction of a computation, by id (it is renumbered): a list, with one entry per use. */
typedef struct Users {
  int *count;
  Instruction ***lists;
} Users;
Users find_users(Arena *arena, Computation *computation);

/* Whether elements of it are all that is used of a tuple in its computation, which has no control edges. */
bool has_only_elements(const Instruction *tuple);
/* Element i of a tuple is number[i] from now on. */
void renumber_element(Instruction *element, const int *number);
void renumber_elements(const Instruction *tuple, const int *number);
/* A tuple's element: what it is made of, or a new get-tuple-element of its computation. */
Instruction *tuple_element(Instruction *tuple, int64_t index);

/* Runs a rewrite of one computation on all of a module's. */
bool for_each_computation(Module *module, bool (*pass)(Computation *computation));

/* Whether `is` holds for the instruction or for one that it calls, directly or not. */
bool instruction_reaches(const Instruction *instruction, bool (*is)(const Instruction *));
/* The same of one instruction after the other: `*walk` is of module_walk() at first, and what was looked
** at for one is not for the next. Nobody else may walk meanwhile. */
bool instruction_reaches_on(const Instruction *instruction, bool (*is)(const Instruction *),
                            unsigned *walk);
bool instruction_has_side_effect_on(const Instruction *instruction, unsigned *walk);

/* Keeps the computations that the entry reaches, called ones before their callers; true if that
** dropped any. After module_add_computation, this restores the order. */
bool module_keep_reached(Module *module);

/* An array whose size is known before it runs. */
bool shape_is_static_array(const Shape *shape);

#endif
