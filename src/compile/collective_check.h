/*
** Collectives whose shapes depend on how many members a group has. A module may leave that open
** (replica_groups={} without a replica_count), and then its stated shapes are all that shape inference
** has to go by; or a program is compiled for another number of replicas than its text was written
** for. So they are checked once more, when the devices are known.
*/
#ifndef XLA_COMPILE_COLLECTIVE_CHECK_H
#define XLA_COMPILE_COLLECTIVE_CHECK_H

#include "hlo/ir/mesh.h"

/* Whether every collective of `module`, on this mesh, names only what is there and writes exactly the
** result that it states. False with INVALID_ARGUMENT, which names operation, shapes and group size. */
bool collectives_check(const Module *module, Mesh mesh, Error *error);

#endif
