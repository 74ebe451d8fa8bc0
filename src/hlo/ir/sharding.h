/*
** Holds shardings: descriptions of the division of arrays among devices, in two notations. The parser
** (hlo/text/sharding_parser.c) makes these records once. A record that was read keeps its text, which is printed back;
** the text of one that was made here is NULL, and the printer writes it. shard_calls.h says what they mean.
**
**   Shardy   names axes of a mesh, which the module's header or the sharding itself states:
**            #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"z"}, unreduced={"w"}>]>
**   XLA      lists each device's tile; trailing dimensions give the reason why devices share one:
**            {devices=[2,1,2,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}
*/
#ifndef XLA_HLO_IR_SHARDING_H
#define XLA_HLO_IR_SHARDING_H

#include "base/arena.h"
#include "hlo/ir/attributes.h"
#include "hlo/ir/opcode.h"

/* ---- XLA's notation ---- */

typedef enum ShardingKind { /* as OpSharding::Type of XLA */
                            SHARDING_REPLICATED,
                            SHARDING_MAXIMAL,
                            SHARDING_TUPLE,
                            SHARDING_OTHER, /* {devices=...} */
                            SHARDING_MANUAL,
                            SHARDING_UNKNOWN,
                            SHARDING_UNREDUCED,
                            SHARDING_KINDS,
} ShardingKind;

/* Of one array. A tuple's has only its kind and its text. */
struct OpSharding {
  const char *text;
  ShardingKind kind;
  /* along each dimension; at last `reasons.count` dimensions that the array does not have */
  Int64List tiles;
  Int64List reasons; /* of type ShardingKind: why devices along these have the same tile */
  Int64List devices; /* by position; empty: the iota of these sizes, transposed by `iota_order` */
  Int64List iota_sizes, iota_order;
};

/* ---- Shardy's notation ---- */

typedef struct MeshAxis {
  const char *name;
  int64_t size;
} MeshAxis;

typedef struct NamedMesh {
  const char *name; /* NULL: of a sharding that has its own mesh */
  /* of a mesh that is not understood, which is an error where it is used; else NULL */
  const char *problem;
  int count;
  const MeshAxis *axes; /* the last one moves fastest */
  Int64List device_ids; /* by position; empty: the positions themselves */
} NamedMesh;

typedef struct MeshList {
  int count;
  const NamedMesh *items;
} MeshList;

typedef struct AxisPart { /* "x", or "x":(2)4, the part of size 4 after one of size 2 */
  const char *axis;
  bool is_whole;
  int64_t before, size;
} AxisPart;

typedef struct AxisList { /* the major one first */
  int count;
  const AxisPart *items;
} AxisList;

typedef struct ArraySharding {
  const char *mesh_name; /* of a mesh in the module's header; NULL: `mesh` */
  const NamedMesh *mesh;
  int rank;
  const AxisList *dimensions;
  AxisList replicated, unreduced;
  Opcode reduction; /* along `unreduced`: HLO_ADD, HLO_MAXIMUM or HLO_MINIMUM */
} ArraySharding;

typedef struct ArrayShardings {
  bool is_stated;
  int count;
  const ArraySharding *items;
} ArrayShardings;

typedef struct ManualShardings {
  ArrayShardings in, out;
  AxisList manual_axes;
} ManualShardings;

/* ---- Frontend attributes ---- */

struct FrontendAttributes {
  const char *text;              /* {key="value", ...}; NULL: `manual` alone */
  const ManualShardings *manual; /* NULL: no manual_axes are stated */
  bool states_transfers;
  PairList transfers; /* _xla_send_recv_source_target_pairs */
};

/* Copies a record with all it points to; NULL gives NULL. */
const OpSharding *op_sharding_copy(Arena *arena, const OpSharding *sharding);
const FrontendAttributes *frontend_attributes_copy(Arena *arena, const FrontendAttributes *from);
MeshList mesh_list_copy(Arena *arena, MeshList meshes);

#endif
