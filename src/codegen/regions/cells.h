/* Cells: bytes of memory that locals of a region replace; cells.c describes them. */
#ifndef XLA_CODEGEN_REGIONS_CELLS_H
#define XLA_CODEGEN_REGIONS_CELLS_H

#include "codegen/regions/region.h"
#include "codegen/wasm/wasm_encoder.h"

typedef struct Cell {
  BufferSlice slice; /* of its sixteen bytes, those from the first to the last one accessed */
  int local;         /* a v128 */
  bool is_written;
} Cell;

/* The cells of a loop or of a region, sorted. */
typedef struct Cells {
  int count;
  Cell *items;
  int begin, end;            /* the loop's times */
  const struct Cells *outer; /* those of the enclosing loop or region; or NULL */
} Cells;

/* Finds the cells of the loop with these steps, and gives them locals. The caller has set `begin`, `end`
** and `outer`. The arena owns the list. */
void cells_find(Cells *cells, WasmFunction *f, Arena *arena, const RegionSteps *const *steps,
                int steps_count);
void cells_release(const Cells *cells, WasmFunction *f);
bool is_held(const Cells *cells, const BufferSlice *slice);

/* Loads the cells where the loop begins: those written before it, or all. */
void emit_load_cells(WasmFunction *f, const Cells *cells, bool all);
/* Stores the cells that are read after the loop. */
void emit_store_cells(WasmFunction *f, const Cells *cells);
/* Stores these cells and those of all enclosing loops, except cells that are dead between two iterations. */
void emit_store_all_cells(WasmFunction *f, const Cells *cells);

/* Pushes sixteen bytes of a slice in cells. from[i] is the offset of byte i from the slice's start; a
** negative one stands for no byte. Bytes from number `live` on may have any value. */
void emit_held(WasmFunction *f, const Cells *cells, const BufferSlice *slice, const int64_t *from,
               int live);
/* Moves the first `bytes` bytes of the vector on the stack to a slice in cells, `at` after its start. */
void emit_hold(WasmFunction *f, const Cells *cells, const BufferSlice *slice, int64_t at,
               int bytes);

/* The parameters of a region's function, and a local with the arena's address (slot 0). */
enum { REGION_CONTEXT, REGION_SLOTS, REGION_RESUME, REGION_FUEL, REGION_ARENA };
/* Pushes the address of a slice, `more` bytes after its start. */
void emit_slice_address(WasmFunction *f, const BufferSlice *slice, int64_t more);

enum { BYTES_MOVES = 5 };
/* The instructions that load `bytes` bytes (into the first lane at least) and store them (from one lane, or
** all sixteen). The largest first. */
typedef struct BytesMove {
  int bytes, load, store;
} BytesMove;
extern const BytesMove bytes_moves[BYTES_MOVES];
void emit_store_move(WasmFunction *f, const BytesMove *move, int lane);

#endif
