/*
** Brings the two notations of shardings (hlo/ir/sharding.h) into one form: digits of a position in a grid of
** devices. Private to sharding_digits.c, shard_calls.c and shard_attributes.c.
*/
#ifndef XLA_HLO_IR_SHARDING_DIGITS_H
#define XLA_HLO_IR_SHARDING_DIGITS_H

#include "hlo/ir/mesh.h"
#include "hlo/ir/sharding.h"

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

typedef struct GridSharding {
  int64_t positions;      /* of the grid */
  const int64_t *devices; /* by position; NULL: the position itself */
  int rank;               /* -1: any rank */
  Digits *dimensions;     /* the digits that divide each */
  Digits addends;
  Opcode reduction;  /* of the addends */
  Digits copies;     /* manual digits by which devices with the same block differ */
  bool knows_copies; /* false: the sharding does not say which of the other digits are manual */
} GridSharding;

/* The memory of results, and the first error: a sentence, or NULL. */
typedef struct Reader {
  Arena *arena;
  const char *problem;
} Reader;
bool reader_fail(Reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Finds the digits of `count` arrays that a manual computation of `module` takes or gives. */
bool read_array_shardings(Reader *reader, const Module *module, AxisList manual_axes,
                          ArrayShardings from, int count, GridSharding *out);

/* Finds the digits of a shard call's operands, in either notation; see shard_call_placements. */
bool read_shard_call(Reader *reader, const Instruction *call, int64_t partitions,
                     GridSharding *out);

/* Returns the number of tiles; 0 if there are more than MAX_DEVICES. */
int64_t tiles_count(const OpSharding *sharding);
/* Returns the devices by position; NULL with a problem where these are no permutation of that many. */
const int64_t *tiles_devices(Reader *reader, const OpSharding *sharding);

#endif
