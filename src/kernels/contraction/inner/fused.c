/*
** Provides the loops of lanes.c for engines with fused multiply-add, and those of narrow_loops.c for all. An engine refuses a
** whole module if it does not know an instruction, so these loops are modules of their own, embedded in this one as bytes, and
** registered like generated code. The loops of lanes.c are compiled once more from the same source.
** Those of narrow_loops.c are only there, and are rewritten for the engine (relax.h): they are three times as long, and do not
** differ in how many registers they use.
*/
#include <stdatomic.h>
#include <stdlib.h>

#include "base/host/platform.h"
#include "kernels/contraction/inner/lanes.h"
#include "kernels/contraction/inner/narrow_loops.h"
#include "kernels/contraction/inner/relax.h"

#ifdef __wasm__
static const uint8_t module_bytes[] = {
#embed "lanes.wasm"
};
enum { MODULE_BYTES = sizeof module_bytes };
#else
static const uint8_t module_bytes[1];
enum { MODULE_BYTES = 0 };
#endif

/* ORDER FUSED_LOOP: those of f32, then those of f64; LOOPS of each. */
_Static_assert(LOOPS_F32 == 0 && LOOPS_F64 == 1, "the exports of lanes.c");
/* Loops of the module of fused multiply-adds. */
enum { UNKNOWN, NONE = -1, FUSED_KINDS = LOOPS_F64 + 1, LOOPS = 4, FUSED_ROWS = MAX_PANEL_ROWS };

static _Atomic int fused_module; /* or UNKNOWN or NONE */

static int find_module(void) {
  Error error;
  bool embedded = MODULE_BYTES > 0;
  int found = embedded && platform_fuses()
                  ? platform_module_register(module_bytes, MODULE_BYTES, &error)
                  : 0;
  int unknown = UNKNOWN;
  /* If two threads register at once, one of the two modules stays unused. */
  if (!atomic_compare_exchange_strong(&fused_module, &unknown, found ? found : NONE)) {
    if (found) platform_module_release(found);
  }
  return fused_module;
}

static bool lanes_are_fused(void) {
  int module = fused_module;
  return (module == UNKNOWN ? find_module() : module) != NONE;
}

static void *loop_of(LoopKind kind, int loop) {
  void *found = (void *)platform_module_function(fused_module, (int)kind * LOOPS + loop);
  if (!found) platform_fatal("no memory for the loops of dot and convolution");
  return found;
}

const LaneLoops *lanes_of(LoopKind kind) {
  static _Thread_local LaneLoops fused[FUSED_KINDS];
  if (kind >= FUSED_KINDS || !lanes_are_fused()) return &lane_loops[kind];
  LaneLoops *loops = &fused[kind];
  if (!loops->by_columns) {
    loops->panel_rows = FUSED_ROWS;
    loops->tile = (TileLoop *)loop_of(kind, 0);
    loops->plain = (PlainLoop *)loop_of(kind, 1);
    loops->by_depth = (StreamLoop *)loop_of(kind, 2);
    loops->by_columns = (StreamLoop *)loop_of(kind, 3);
  }
  return loops;
}

/* ---- Narrow numbers ---- */

#ifdef __wasm__
static const uint8_t narrow_bytes[] = {
#embed "narrow_loops.wasm"
};

static _Atomic int narrow_module; /* or UNKNOWN */

/* Returns the number of the rewritten module, or 0. */
static int register_narrow(bool relaxed) {
  Error error;
  uint8_t *bytes = malloc(RELAX_GROWTH * sizeof narrow_bytes);
  if (!bytes) return 0;
  bool fused = relaxed && platform_fuses();
  size_t size = relax_module(narrow_bytes, sizeof narrow_bytes, relaxed, fused, bytes);
  int found = platform_module_register(bytes, size, &error);
  free(bytes);
  return found;
}

static int find_narrow_module(void) {
  int found = register_narrow(true), unknown = UNKNOWN;
  if (!found) found = register_narrow(false);
  if (found && !atomic_compare_exchange_strong(&narrow_module, &unknown, found)) {
    platform_module_release(found);
  }
  return narrow_module;
}

void *narrow_loop(NarrowRow row, int slot) {
  int module = narrow_module;
  if (module == UNKNOWN) module = find_narrow_module();
  void *found = NULL;
  if (module) found = (void *)platform_module_function(module, (int)row * 10 + slot);
  if (!found) platform_fatal("no memory for the loops of dot and convolution");
  return found;
}
#endif
