/*
** Parses the two notations of shardings (see sharding.h) into one form: digits of a position in a grid of
** devices. Private to sharding.c, sharding_text.c and shard_attributes.c.
*/
#ifndef XLA_HLO_IR_SHARDING_TEXT_H
#define XLA_HLO_IR_SHARDING_TEXT_H

#include "hlo/ir/mesh.h"

/* position / stride % size */
typedef struct Digit {
  int64_t size, stride;
} Digit;

typedef struct Digits { /* the major one first */
  int count, capacity;
  Digit *items;
} Digits;
void digits_push(Arena *arena, Digits *digits, Digit digit);
void digits_append(Arena *arena, Digits *digits, const Digits *more);

typedef struct Sharding {
  int64_t positions;      /* of the grid */
  const int64_t *devices; /* by position; NULL: the position itself */
  int rank;               /* -1: any rank */
  Digits *dimensions;     /* the digits that divide each */
  Digits addends;
  Opcode reduction;  /* of the addends */
  Digits copies;     /* manual digits by which devices with the same block differ */
  bool knows_copies; /* false: the text does not say which of the other digits are manual */
} Sharding;

/* The reader's position; `problem` is NULL until an error. */
typedef struct Scan {
  Arena *arena;
  const char *at;
  const char *problem;
} Scan;
bool scan_fail(Scan *scan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the value of a key in {key=value, key = value}, without quotes; NULL if there is none. */
const char *dictionary_value(Arena *arena, const char *dictionary, const char *key);

/* Shardy's sharding_per_value<[...]>: `count` shardings, cut by `manual_axes` only. `header` is the
** module's, which states the meshes. */
bool scan_shardy(Scan *scan, const char *header, const char *manual_axes, int count,
                 Sharding *shardings);

/* Reads the shardings of a call's operands, in either notation; see shard_call_placements. */
bool scan_shard_call(Scan *scan, const Instruction *call, int64_t partitions, Sharding *shardings);

/* XLA's notation. */
typedef enum TileKind { /* as OpSharding::Type of XLA */
                        TILES_REPLICATED,
                        TILES_MAXIMAL,
                        TILES_TUPLE,
                        TILES_OTHER, /* {devices=...} */
                        TILES_MANUAL,
                        TILES_UNKNOWN,
                        TILES_UNREDUCED,
                        TILE_KINDS,
} TileKind;

typedef struct Tiles {
  TileKind kind;
  int rank; /* of the tile assignment, with its trailing dimensions */
  int64_t sizes[2 * MAX_RANK];
  int trailing;               /* dimensions that are no dimensions of the array */
  TileKind reasons[MAX_RANK]; /* why partitions along these have the same tile */
  int64_t count;              /* of `devices`, by position; NULL: they are an iota */
  const int64_t *devices;
  int iota_rank;
  int64_t iota_sizes[2 * MAX_RANK];
  int iota_order[2 * MAX_RANK];
} Tiles;

bool scan_tiles(Scan *scan, Tiles *tiles);
/* Returns the number of tiles; 0 if there are more than MAX_DEVICES. */
int64_t tiles_count(const Tiles *tiles);
/* By position; NULL with a problem where the tile assignment is no permutation of that many. */
const int64_t *tiles_devices(Scan *scan, const Tiles *tiles);

#endif
