/*
** Cells: keeps sixteen bytes of memory in a local, in a loop of a region or in all of it.
**
** A buffer gets cells if it lies within one line of 64 bytes. The arena gives out whole lines, so no other
** buffer shares the line while this one is live. Only inlined code may access the line, at offsets known
** when it is compiled. A cell is loaded where its loop begins if it was written before, and stored where
** the loop ends if it is read later. An inner loop uses the cells of the outer one and adds its own.
*/
#include "codegen/regions/cells.h"

#include <stdlib.h>

#include "base/scope.h"
#include "plan/loop_plan.h"

/* Threshold CELL, LINE: bytes of a cell, which are a vector's and a cache line's. No path. */
enum { CELL = 16, LINE = 64 };

/* ---- The steps' accesses ---- */

typedef struct Access {
  BufferSlice slice;
  bool by_code, writes; /* by_code: by inlined code, at known bytes */
} Access;

typedef struct Accesses {
  Arena *arena;
  int count, capacity;
  Access *items;
} Accesses;

static void add_access(Accesses *all, const BufferSlice *slice, bool by_code, bool writes) {
  if (slice->slot < 0 || slice->bytes == 0) return;
  Access access = {*slice, by_code && slice->offset % LINE + slice->bytes <= LINE, writes};
  ARENA_PUSH(all->arena, all->items, all->count, all->capacity, access);
}

/* A slice that is shifted by a start index is not known. */
static void add_moves(Accesses *all, const RegionStep *step) {
  for (int i = 0; i < step->slice_count; i++) {
    bool known = true, writes = false;
    for (int m = 0; m < step->move_count; m++) {
      const RegionMove *move = &step->moves[m];
      bool shifts = step->start_count > 0 && !move->is_fixed;
      writes |= move->to_slice == i;
      known &= !shifts || i != (step->shifts_target ? move->to_slice : move->from_slice);
    }
    add_access(all, &step->slices[i], known, writes);
  }
}

/* Whether loops read an operand from a start index on. */
static bool is_sliced(const LoopPlans *plans, int operand) {
  bool is = false;
  for (int b = 0; b < plans->count; b++) {
    for (int i = 0; i < plans->items[b].count; i++) {
      const LoopNode *node = plans->items[b].nodes[i];
      is |= reads_parameter(node, operand) && reads_anywhere(node);
    }
  }
  return is;
}

static void add_accesses(Accesses *all, const RegionSteps *steps) {
  for (int i = 0; i < steps->count; i++) {
    const RegionStep *step = &steps->items[i];
    if (step->kind == REGION_MOVE) {
      add_moves(all, step);
    } else {
      bool is_loop = step->kind == REGION_LOOP;
      bool by_code = is_loop ? step->plans != NULL : step->kind != REGION_CALL;
      for (int k = 0; k < step->slice_count; k++) {
        bool known = by_code && !(is_loop && is_sliced(step->plans, k));
        add_access(all, &step->slices[k], known, is_loop && k >= step->fusion->operand_count);
      }
    }
    if (step->kind == REGION_WHILE) {
      add_accesses(all, &step->condition);
      add_accesses(all, &step->body);
    }
    for (int b = 0; step->kind == REGION_CONDITIONAL && b < step->branch_count; b++) {
      add_accesses(all, &step->branches[b]);
    }
  }
}

static int64_t line_of(const BufferSlice *slice) { return slice->offset / LINE; }

static int by_line(const void *a, const void *b) {
  const BufferSlice *x = &((const Access *)a)->slice, *y = &((const Access *)b)->slice;
  if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
  return line_of(x) < line_of(y) ? -1 : line_of(x) > line_of(y);
}

/* ---- Which cells ---- */

/* Returns the cell of a byte of a slot, or NULL. */
static const Cell *cell_at(const Cells *cells, int slot, int64_t byte) {
  for (; cells; cells = cells->outer) {
    int low = 0, high = cells->count;
    while (low < high) {
      int middle = (low + high) / 2;
      const BufferSlice *slice = &cells->items[middle].slice;
      if (slice->slot < slot || (slice->slot == slot && slice->offset + CELL <= byte)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const Cell *found = &cells->items[low];
    if (low < cells->count && found->slice.slot == slot && found->slice.offset <= byte) {
      return found;
    }
  }
  return NULL;
}

bool is_held(const Cells *cells, const BufferSlice *slice) {
  return slice->bytes > 0 && cell_at(cells, slice->slot, slice->offset) != NULL;
}

/* The cells of a line, from what looks at it. */
static void add_line(Cells *cells, WasmFunction *f, const Access *group, int count) {
  BufferSlice slice = group->slice;
  int64_t line = line_of(&slice) * LINE;
  for (slice.offset = line; slice.offset < line + LINE; slice.offset += CELL) {
    Cell cell = {.slice = slice};
    cell.slice.bytes = 0;
    for (int i = 0; i < count; i++) {
      const BufferSlice *seen = &group[i].slice;
      int64_t end = seen->offset + seen->bytes - slice.offset;
      if (end <= 0 || seen->offset >= slice.offset + CELL) continue;
      if (cell.slice.bytes == 0 || seen->first < cell.slice.first) cell.slice.first = seen->first;
      if (cell.slice.bytes == 0 || seen->last > cell.slice.last) cell.slice.last = seen->last;
      if (end > cell.slice.bytes) cell.slice.bytes = end < CELL ? end : CELL;
      cell.is_written |= group[i].writes;
    }
    if (cell.slice.bytes == 0) continue;
    if (slice.slot == 0) cell.slice.bytes = CELL; /* the rest of an arena line is unused */
    cell.local = wasm_local(f, WASM_V128);
    cells->items[cells->count++] = cell;
  }
}

void cells_find(Cells *cells, WasmFunction *f, Arena *arena, const RegionSteps *const *steps,
                int steps_count) {
  Accesses all = {.arena = arena};
  for (int i = 0; i < steps_count; i++) add_accesses(&all, steps[i]);
  if (!all.count) return;
  qsort(all.items, (size_t)all.count, sizeof *all.items, by_line);
  cells->items = ARENA_ARRAY(arena, Cell, all.count * (LINE / CELL));
  int64_t taken = 0; /* the end of the slot's bytes that other code accesses */
  for (int i = 0, next; i < all.count; i = next) {
    const BufferSlice *slice = &all.items[i].slice;
    bool by_code = true;
    if (i > 0 && all.items[i - 1].slice.slot != slice->slot) taken = 0;
    bool is_free =
        line_of(slice) * LINE >= taken && !cell_at(cells->outer, slice->slot, slice->offset);
    for (next = i; next < all.count && by_line(&all.items[i], &all.items[next]) == 0; next++) {
      const Access *access = &all.items[next];
      int64_t end = access->slice.offset + access->slice.bytes;
      by_code &= access->by_code;
      if (!access->by_code && end > taken) taken = end;
    }
    if (by_code && is_free) add_line(cells, f, &all.items[i], next - i);
  }
}

void cells_release(const Cells *cells, WasmFunction *f) {
  for (int i = 0; i < cells->count; i++) wasm_local_release(f, cells->items[i].local);
}

/* ---- From and to memory ---- */

const BytesMove bytes_moves[] = {{16, V128_LOAD, V128_STORE},
                                 {8, V128_LOAD64_SPLAT, V128_STORE64_LANE},
                                 {4, V128_LOAD32_SPLAT, V128_STORE32_LANE},
                                 {2, V128_LOAD16_SPLAT, V128_STORE16_LANE},
                                 {1, V128_LOAD8_SPLAT, V128_STORE8_LANE}};

/* Loads a cell, or stores it. */
static void emit_move_cell(WasmFunction *f, const Cells *cells, const Cell *cell, bool stores) {
  const BytesMove *move = bytes_moves;
  for (int done = 0; done < cell->slice.bytes; done += move->bytes) {
    while (done + move->bytes > cell->slice.bytes) move++;
    emit_slice_address(f, &cell->slice, done);
    if (!stores) {
      wasm_simd_memory(f, move->load, 0);
      emit_hold(f, cells, &cell->slice, done, move->bytes);
      continue;
    }
    wasm_get(f, cell->local);
    emit_store_move(f, move, done / move->bytes);
  }
}

void emit_store_move(WasmFunction *f, const BytesMove *move, int lane) {
  if (move->bytes == CELL) {
    wasm_simd_memory(f, move->store, 0);
  } else {
    wasm_simd_memory_lane(f, move->store, 0, lane);
  }
}

void emit_load_cells(WasmFunction *f, const Cells *cells, bool all) {
  for (int i = 0; i < cells->count; i++) {
    const Cell *cell = &cells->items[i];
    if (all || cell->slice.first < cells->begin) emit_move_cell(f, cells, cell, false);
  }
}

void emit_store_cells(WasmFunction *f, const Cells *cells) {
  for (int i = 0; i < cells->count; i++) {
    const Cell *cell = &cells->items[i];
    if (cell->is_written && cell->slice.last > cells->end) emit_move_cell(f, cells, cell, true);
  }
}

void emit_store_all_cells(WasmFunction *f, const Cells *cells) {
  int begin = cells->begin, end = cells->end;
  for (; cells; cells = cells->outer) {
    for (int i = 0; i < cells->count; i++) {
      const Cell *cell = &cells->items[i];
      int first = cell->slice.first, last = cell->slice.last;
      bool is_wanted = first <= end && last >= begin && !(first >= begin && last <= end);
      if (cell->is_written && is_wanted) emit_move_cell(f, cells, cell, true);
    }
  }
}

/* ---- Bytes of cells ---- */

void emit_held(WasmFunction *f, const Cells *cells, const BufferSlice *slice, const int64_t *from,
               int live) {
  const Cell *loaded = NULL;
  bool done[CELL] = {0};
  for (int k = 0; k < CELL; k++) {
    const Cell *cell = done[k] ? NULL : cell_at(cells, slice->slot, slice->offset + from[k]);
    if (!cell) continue;
    uint8_t lanes[CELL];
    bool in_place = true;
    for (int j = 0; j < CELL; j++) {
      int64_t at = slice->offset + from[j] - cell->slice.offset;
      bool is_here = from[j] >= 0 && at >= 0 && at < CELL;
      lanes[j] = (uint8_t)(is_here ? (loaded ? CELL : 0) + at : loaded ? j : at & (CELL - 1));
      in_place &= j >= live || (is_here && at == j);
      done[j] |= is_here;
    }
    wasm_get(f, cell->local);
    if (in_place) return;
    if (!loaded) wasm_get(f, cell->local);
    wasm_shuffle8(f, lanes);
    loaded = cell;
  }
}

void emit_hold(WasmFunction *f, const Cells *cells, const BufferSlice *slice, int64_t at,
               int bytes) {
  int value = wasm_local(f, WASM_V128);
  wasm_set(f, value);
  for (int64_t done = 0, count; done < bytes; done += count) {
    const Cell *cell = cell_at(cells, slice->slot, slice->offset + at + done);
    int64_t start = cell->slice.offset - slice->offset, to = at + done - start;
    uint8_t lanes[CELL];
    count = CELL - to < bytes - done ? CELL - to : bytes - done;
    bool is_all = (to == 0 || at + done == 0) && (to + count == CELL || at + bytes == slice->bytes);
    for (int k = 0; k < CELL; k++) {
      bool is_new = k >= to && k < to + count;
      lanes[k] = (uint8_t)(is_new ? CELL + k - to + done : k);
    }
    if (!is_all || to != done) wasm_get(f, is_all ? value : cell->local);
    wasm_get(f, value);
    if (!is_all || to != done) wasm_shuffle8(f, lanes);
    wasm_set(f, cell->local);
  }
  wasm_local_release(f, value);
}

void emit_slice_address(WasmFunction *f, const BufferSlice *slice, int64_t more) {
  if (slice->slot == 0) {
    wasm_get(f, REGION_ARENA);
  } else {
    wasm_get(f, REGION_SLOTS);
    wasm_memory(f, OP_I32_LOAD, 4 * (int64_t)slice->slot);
  }
  if (slice->offset + more == 0) return;
  wasm_i32(f, slice->offset + more);
  wasm_op(f, OP_I32_ADD);
}
