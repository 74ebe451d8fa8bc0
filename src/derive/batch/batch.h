/*
** Makes programs for batches: from HLO to HLO, before all other rewrites. This is JAX's vmap.
**
** In: a module, and for each array of its parameters the dimension in which the batch comes, or none. Out: a new module,
** which computes the same for each element of the batch. It is HLO as any other: it can be printed, run by XLA,
** differentiated, and batched again.
**
** One table says how: opcodes.def, with a row for each operation. Most operations get one dimension more, at the front.
** An operation with operands that do not depend on the batch stays as it is, and is computed once.
**
** Invariant: a value that depends on the batch is *batched*: each of its arrays, or some arrays of a tuple, have one
** dimension more than in the source, the first one, of the batch's size. So shapes say which arrays are batched.
**
** The trick: which arrays become batched is found before an instruction is written (cases.c). A loop needs this, as its
** state may become batched in some iteration. Each called computation is written once for each such case.
**
** Read opcodes.def next, then batching.h and walk.c.
**
** Source: the batching rules of JAX (Bradbury et al.), whose vmap this one is held against.
*/
#ifndef XLA_DERIVE_BATCH_BATCH_H
#define XLA_DERIVE_BATCH_BATCH_H

#include <limits.h>

#include "hlo/ir/module.h"

enum { NO_BATCH = INT_MIN };

typedef struct BatchOptions {
  int64_t size; /* of the batch */
  int in_count; /* the leaves of all parameters, in order */
  /* the dimension of the batch in each; negative: counted from the end; NO_BATCH: none */
  const int *in;
  int out_count;  /* the leaves of the result */
  const int *out; /* the same */
} BatchOptions;

/*
** Returns a new module; NULL with INVALID_ARGUMENT if the request does not fit the module, and with UNIMPLEMENTED if
** an operation that depends on the batch has no rule. The message names the operation. `module` is not changed.
*/
Module *module_batch(const Module *module, const BatchOptions *options, Error *error);

#endif
