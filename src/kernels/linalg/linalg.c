#include "kernels/linalg/linalg.h"

#include "base/host/platform.h"
#include "base/min_max.h"

enum { BLOCK = LINALG_BLOCK };

int64_t linalg_panel_numbers(int64_t size, int64_t lines, int64_t count) {
  int64_t width = min_i64(count, BLOCK), ahead = min_i64(size, LINALG_AHEAD);
  return 2 * max_i64(lines, 1) * BLOCK + 2 * BLOCK * BLOCK + 2 * (size + ahead) * width;
}

LinalgSystems linalg_systems(const LinalgPlan *p) {
  int64_t rows = p->out[0].rows, columns = p->out[0].columns;
  bool forward = p->lower != p->transposed;
  return p->left ? (LinalgSystems){rows, columns, columns, 1, forward}
                 : (LinalgSystems){columns, rows, 1, columns, forward};
}

/* --- Turns and threads ------------------------------------------------------------------------ */

/* Returns the operations in a turn. A complex operation counts as four. */
static double turn_of(const LinalgProgress *progress) {
  return linalg_is_complex(((const LinalgPlan *)progress->call->plan)->type) ? LINALG_TURN / 4
                                                                             : LINALG_TURN;
}

/* How often a turn reads the clock; a read is a slow call of the host. */
enum { CLOCK_READS = 16 };

static bool is_late(LinalgProgress *progress) {
  const KernelCall *call = progress->call;
  if (call->deadline_us == 0 ||
      progress->work < progress->looked + turn_of(progress) / CLOCK_READS) {
    return false;
  }
  progress->looked = progress->work;
  return platform_now_us() >= call->deadline_us;
}

bool linalg_pauses(LinalgProgress *progress, ptrdiff_t at, double work) {
  progress->at = at;
  if (progress->call &&
      (progress->work > turn_of(progress) || *progress->call->stop || is_late(progress))) {
    return true;
  }
  progress->work += work;
  return false;
}

bool linalg_stage_ends(LinalgProgress *progress) {
  progress->stage++;
  progress->at = 0;
  return true;
}

bool linalg_routine_ends(LinalgProgress *progress, LinalgEnd end) {
  progress->end = end;
  return false;
}

LinalgEnd linalg_run_stages(Stage *const *stages, Work *w, LinalgProgress *progress) {
  progress->end = LINALG_PAUSED;
  while (stages[progress->stage]) {
    if (!stages[progress->stage](w)) return progress->end;
  }
  return LINALG_DONE;
}

/* Threshold TILE_ROWS, TILE_COLUMNS. Test: "L U of ${shape}" in core/linalg.test.mjs. */
/* Threshold SOME_NUMBERS: work of a turn or of a thread. No path. */
enum { TILE_ROWS = 8192, TILE_COLUMNS = 16, SOME_NUMBERS = 1 << 17 };

bool linalg_next_tile(LinalgSize size, LinalgTile *t, LinalgProgress *progress) {
  ptrdiff_t strips = size.rows / TILE_ROWS + 1, k = progress->at;
  ptrdiff_t row = k % strips * TILE_ROWS, column = k / strips * TILE_COLUMNS;
  *t = (LinalgTile){.row = row,
                    .column = column,
                    .rows = min_i64(row + TILE_ROWS, size.rows),
                    .columns = min_i64(column + TILE_COLUMNS, size.columns),
                    .ends = column >= size.columns};
  if (t->ends) return !linalg_stage_ends(progress);
  double numbers = (double)((t->rows - t->row) * (t->columns - t->column));
  if (linalg_pauses(progress, k, LINALG_MOVE * numbers)) return false;
  progress->at++;
  return true;
}

bool linalg_some_by_some(ptrdiff_t count, LinalgBody *body, const void *argument,
                         LinalgProgress *progress) {
  for (ptrdiff_t i = progress->at; i < count; i += SOME_NUMBERS) {
    if (linalg_pauses(progress, i, LINALG_MOVE * SOME_NUMBERS)) return false;
    body(argument, i, min_i64(i + SOME_NUMBERS, count));
  }
  return linalg_stage_ends(progress);
}

/* Threshold MAX_PARTS: each chunk has memory of its own, and no more of them. No path. */
/* Work of a part, which takes 15 us (f32) to 60 us (complex). Opening a loop and waiting for its end takes 2 to 3 us
** while the other thread still polls for work, and 20 to 100 us once it sleeps, 60 us after the last loop. */
enum { MAX_PARTS = 4, PART_WORK = 300 * 1000 };

typedef struct SharedRange {
  ptrdiff_t first, end, size; /* size: of a part */
  LinalgBody *body;
  const void *argument;
} SharedRange;

static bool run_part(void *argument, int part) {
  const SharedRange *range = argument;
  ptrdiff_t first = range->first + part * range->size;
  if (first < range->end)
    range->body(range->argument, first, min_i64(first + range->size, range->end));
  return true;
}

static void share_range(const LinalgProgress *progress, SharedRange range, ptrdiff_t multiple,
                        double work) {
  ptrdiff_t count = range.end - range.first;
  int parts = work < MAX_PARTS * PART_WORK ? (int)(work / PART_WORK) : MAX_PARTS;
  ptrdiff_t size = parts > 1 ? divide_up(count, parts) : count;
  range.size = round_up(size, multiple);
  if (range.size >= count) {
    range.body(range.argument, range.first, range.end);
  } else {
    progress->call->share(progress->call, (int)divide_up(count, range.size), run_part, &range);
  }
}

void linalg_share(const LinalgProgress *progress, ptrdiff_t count, ptrdiff_t multiple, double work,
                  LinalgBody *body, const void *argument) {
  share_range(progress, (SharedRange){0, count, 0, body, argument}, multiple, work);
}

static bool share_in_turns(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t count,
                           ptrdiff_t multiple, double each, double weight, LinalgBody *body,
                           const void *argument) {
  ptrdiff_t some = max_i64((ptrdiff_t)(turn_of(progress) / (each + 1)) / multiple, 1) * multiple;
  for (ptrdiff_t end; progress->lines < count; progress->lines = end) {
    end = min_i64(progress->lines + some, count);
    double work = each * (double)(end - progress->lines);
    if (linalg_pauses(progress, at, work)) return false;
    share_range(progress, (SharedRange){progress->lines, end, 0, body, argument}, multiple,
                weight * work);
  }
  progress->lines = 0;
  return true;
}

bool linalg_share_in_turns(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t count,
                           ptrdiff_t multiple, double each, LinalgBody *body,
                           const void *argument) {
  return share_in_turns(progress, at, count, multiple, each, 1, body, argument);
}

bool linalg_share_rows(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t rows, double each,
                       LinalgBody *body, const void *argument) {
  return share_in_turns(progress, at, rows, 1, each, BY_ROWS, body, argument);
}
