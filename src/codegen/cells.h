/* Bytes of memory that locals have instead; cells.c says which. */
#ifndef XLA_CODEGEN_CELLS_H
#define XLA_CODEGEN_CELLS_H

#include "codegen/region.h"
#include "codegen/wasm_encoder.h"

typedef struct Cell {
  Place place; /* those of the sixteen bytes that are looked at, from the first one on */
  int local;   /* a v128 */
  bool is_written;
} Cell;

/* Those of a loop, or of a region; sorted. */
typedef struct Cells {
  int count;
  Cell *items;
  int begin, end;            /* the loop's times */
  const struct Cells *outer; /* of what the loop is in; NULL: nothing */
} Cells;

/* Finds the cells of a loop whose steps these are, and gives them locals; `begin`, `end` and `outer` are
** set. The list is the arena's. */
void cells_find(Cells *cells, WasmFunction *f, Arena *arena, const RegionSteps *const *steps,
                int steps_count);
void cells_release(const Cells *cells, WasmFunction *f);
/* The cell, or NULL, of a byte of a slot. */
const Cell *cell_at(const Cells *cells, int slot, int64_t byte);
bool is_held(const Cells *cells, const Place *place);

/* Loads them where the loop begins: what was made before it, or all. */
void emit_load_cells(WasmFunction *f, const Cells *cells, bool all);
/* Stores what is wanted after the loop. */
void emit_store_cells(WasmFunction *f, const Cells *cells);
/* Those of all loops around, too, but for what is not wanted from one turn to the next. */
void emit_store_all_cells(WasmFunction *f, const Cells *cells);

/* Pushes sixteen bytes of a place that is held: for each, how many after the place's start it is; of no
** byte if that is negative. If nobody wants more than the first `live` ones, others may be anything. */
void emit_held(WasmFunction *f, const Cells *cells, const Place *place, const int64_t *from,
               int live);
/* Moves the first `bytes` bytes of the vector on the stack to a place that is held, `at` after its start. */
void emit_hold(WasmFunction *f, const Cells *cells, const Place *place, int64_t at, int bytes);

/* The parameters of a region's function, and a local with the first slot's pointer, the arena's. */
enum { REGION_CONTEXT, REGION_SLOTS, REGION_RESUME, REGION_FUEL, REGION_ARENA };
/* Pushes the address of a place, `more` bytes after its start. */
void emit_place(WasmFunction *f, const Place *place, int64_t more);

/* How so many bytes are loaded, into the first lane at least, and stored: from a lane, or if they are
** sixteen from all. The largest first. */
enum { BYTES_MOVES = 5 };
typedef struct BytesMove {
  int bytes, load, store;
} BytesMove;
extern const BytesMove bytes_moves[BYTES_MOVES];
void emit_store_move(WasmFunction *f, const BytesMove *move, int lane);

#endif
