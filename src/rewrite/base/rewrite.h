/*
** Rewrites a computation in one walk, in linear time. A pass visits each instruction after its operands,
** and may change it in place or replace it. Later instructions of the walk then use the replacement.
**
**     Rewrite rewrite;
**     rewrite_begin(&rewrite, computation);
**     for (int i = 0; i < rewrite.count; i++) {
**       Instruction *instruction = rewrite_visit(&rewrite, i);
**       ... rewrite_replace(&rewrite, instruction, instruction->operands[0]);
**     }
**     changed |= rewrite_end(&rewrite);
**
** Replaced instructions stay, unused, until module_remove_dead removes them.
*/
#ifndef XLA_REWRITE_BASE_REWRITE_H
#define XLA_REWRITE_BASE_REWRITE_H

#include "rewrite/base/passes.h"
#include "rewrite/base/side_effects.h"
#include "rewrite/base/users.h"
#include "value/scalar.h"

typedef struct Rewrite {
  Computation *computation;
  int count;        /* instructions when the walk began */
  Instruction **to; /* by id: the replacement; NULL: it stays */
  bool layouts_matter, changed;
} Rewrite;

void rewrite_begin(Rewrite *rewrite, Computation *computation);
/* Returns instruction number `index`, with replaced operands updated. */
Instruction *rewrite_visit(Rewrite *rewrite, int index);
/* Replaces `from` by `to`, which is new or was visited and has the same dimensions and types. Returns false
** and changes nothing if a bitcast depends on a different layout. */
bool rewrite_replace(Rewrite *rewrite, Instruction *from, Instruction *to);
/* Sorts new instructions. Returns whether anything changed; a pass sets `changed` itself for changes in
** place. */
bool rewrite_end(Rewrite *rewrite);

/* Turns `instruction` into another operation, keeping its name, shape and users. */
void instruction_become(Instruction *instruction, Opcode opcode, Instruction *const *operands,
                        int operand_count, const Attributes *attributes);

/* Finds the value of all elements of a constant, which may be moved (broadcast, sliced ...) or converted. Returns false if
** x is another operation or its elements differ. */
bool splat_value(const Instruction *x, Scalar *value);
/* Whether all elements equal this number; of 0, either zero. */
bool is_splat_of(const Instruction *x, double number);

/* Returns x, or the array that it reshapes, through any number of reshapes. */
Instruction *without_reshapes(const Instruction *x);

/* Runs a pass over each computation of a module. */
bool for_each_computation(Module *module, bool (*pass)(Computation *computation));

/* Replaces an instruction in place, and may add instructions and computations for it. Returns whether it did. */
typedef bool RewriteVisit(Instruction *x, void *data);
/* Visits each instruction of a module, without those that visits add. Then restores the order of changed computations,
** and of the module if computations were added. Returns whether a visit changed anything. */
bool rewrite_each(Module *module, RewriteVisit *visit, void *data);

/* Keeps the computations that the entry reaches, callees before callers. Returns whether it dropped any.
** After module_add_computation, it restores the order. */
bool module_keep_reached(Module *module);

/* Whether a shape is an array of static size. All arrays are, once dynamic dimensions are resolved: before the first row
** of the pipeline. */
bool shape_is_static_array(const Shape *shape);

#endif
