/* Chooses the mesh that a module is compiled for. */
#ifndef XLA_COMPILE_MESH_CHOICE_H
#define XLA_COMPILE_MESH_CHOICE_H

#include "hlo/ir/mesh.h"

/* Returns the numbers of replicas and partitions that the module states, in its header or else by its shard_maps' mesh;
** 0 for a number that it leaves open. */
Mesh module_mesh(const Module *module);

/* Sets `mesh` to the numbers asked for, those that are 0 to the module's, or 1. Fails with INVALID_ARGUMENT if these
** are fewer than the module needs, or too many, or if a sharding is invalid. */
bool choose_mesh(const Module *module, Mesh asked, Mesh *mesh, Error *error);

#endif
