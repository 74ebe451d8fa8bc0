/*
** Checks collectives whose shapes depend on the number of a group's members, once the devices are known. A
** module may leave that number open (replica_groups={} without a replica_count); then shape inference has
** only the stated shapes. Or a program is compiled for another number of replicas than its text states.
*/
#ifndef XLA_COMPILE_COLLECTIVE_CHECK_H
#define XLA_COMPILE_COLLECTIVE_CHECK_H

#include "hlo/ir/mesh.h"

/* Whether every collective of `module` names only devices of this mesh and writes exactly its stated result.
** False with INVALID_ARGUMENT, which names operation, shapes and group size. */
bool collectives_check(const Module *module, Mesh mesh, Error *error);

#endif
