/*
** dot for f32: packed and register-blocked, after BLIS (Van Zee and van de Geijn, "BLIS: A Framework
** for Rapidly Instantiating BLAS Functionality", 2015).
**
** Any dot is, per batch index, a product of an m x k by a k x n matrix whose elements lie wherever
** the operands' dimensions put them. Tables of element offsets, one entry per batch, row, column
** and contracted index, describe that once and for all orders of dimensions; packing reads through
** them and lays out
**
**     lhs as panels of MR rows:     panel[k][MR]
**     rhs as panels of NR columns:  panel[k][NR]
**
** padded with zeros, so that the micro-kernel only ever sees full tiles.
*/
#include <string.h>
#include <wasm_simd128.h>

#include "kernels/kernels.h"

enum {
  MR = 4,
  NR = 8,         /* MR x NR sums are 8 vectors; with 2 of rhs and 1 of lhs they fit in 16 */
  TILE_ROWS = 64, /* of the result that one chunk computes */
  TILE_COLUMNS = 64,
  PACK_PANELS = 16, /* that one packing chunk makes */
};

typedef struct Problem {
  int64_t batch, m, n, k;
  int64_t row_panels, column_panels;
} Problem;

/* Element offsets; in scratch, before the packed panels. */
typedef struct Tables {
  int64_t *lhs_batch, *lhs_row, *lhs_k, *rhs_batch, *rhs_column, *rhs_k;
  float *packed_lhs, *packed_rhs;
} Tables;

static bool contains(Int64List list, int64_t dimension) {
  for (int i = 0; i < list.count; i++) {
    if (list.items[i] == dimension) return true;
  }
  return false;
}

/* The dimensions that are neither batch nor contracted, in order. Returns how many. */
static int free_dimensions(const Shape *shape, Int64List batch, Int64List contracting,
                           int64_t *out) {
  int count = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (!contains(batch, d) && !contains(contracting, d)) out[count++] = d;
  }
  return count;
}

static int64_t product(const Shape *shape, const int64_t *dimensions, int count) {
  int64_t n = 1;
  for (int i = 0; i < count; i++) n *= shape->dims[dimensions[i]];
  return n;
}

static Problem problem_of(const Instruction *dot) {
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  const Attributes *a = &dot->a;
  int64_t rows[MAX_RANK], columns[MAX_RANK];
  int row_count = free_dimensions(lhs, a->lhs_batch_dims, a->lhs_contracting_dims, rows);
  int column_count = free_dimensions(rhs, a->rhs_batch_dims, a->rhs_contracting_dims, columns);
  Problem p = {
      .batch = product(lhs, a->lhs_batch_dims.items, a->lhs_batch_dims.count),
      .m = product(lhs, rows, row_count),
      .n = product(rhs, columns, column_count),
      .k = product(lhs, a->lhs_contracting_dims.items, a->lhs_contracting_dims.count),
  };
  p.row_panels = (p.m + MR - 1) / MR;
  p.column_panels = (p.n + NR - 1) / NR;
  return p;
}

static int64_t table_entries(const Problem *p) { return 2 * p->batch + p->m + p->n + 2 * p->k; }

static Tables tables_of(const Problem *p, uint8_t *scratch) {
  int64_t *next = (int64_t *)scratch;
  Tables t;
  t.lhs_batch = next, next += p->batch;
  t.rhs_batch = next, next += p->batch;
  t.lhs_row = next, next += p->m;
  t.rhs_column = next, next += p->n;
  t.lhs_k = next, next += p->k;
  t.rhs_k = next;
  t.packed_lhs = (float *)(scratch + ((table_entries(p) * 8 + 63) & -64));
  t.packed_rhs = t.packed_lhs + p->batch * p->row_panels * MR * p->k;
  return t;
}

/* table[i] = offset of the i-th combination of the given dimensions, last one fastest. */
static void fill_table(const Shape *shape, const int64_t *dimensions, int count, int64_t *table) {
  int64_t strides[MAX_RANK], filled = 1;
  shape_strides(shape, strides);
  table[0] = 0;
  for (int i = count - 1; i >= 0; i--) {
    int64_t size = shape->dims[dimensions[i]], stride = strides[dimensions[i]];
    /* From the back, so that the part already there is read before it is written over. */
    for (int64_t j = size - 1; j >= 0; j--) {
      for (int64_t r = 0; r < filled; r++) table[j * filled + r] = table[r] + j * stride;
    }
    filled *= size;
  }
}

static void make_tables(const Instruction *dot, const Tables *t) {
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  const Attributes *a = &dot->a;
  int64_t dims[MAX_RANK];
  fill_table(lhs, a->lhs_batch_dims.items, a->lhs_batch_dims.count, t->lhs_batch);
  fill_table(rhs, a->rhs_batch_dims.items, a->rhs_batch_dims.count, t->rhs_batch);
  fill_table(lhs, a->lhs_contracting_dims.items, a->lhs_contracting_dims.count, t->lhs_k);
  fill_table(rhs, a->rhs_contracting_dims.items, a->rhs_contracting_dims.count, t->rhs_k);
  int count = free_dimensions(lhs, a->lhs_batch_dims, a->lhs_contracting_dims, dims);
  fill_table(lhs, dims, count, t->lhs_row);
  count = free_dimensions(rhs, a->rhs_batch_dims, a->rhs_contracting_dims, dims);
  fill_table(rhs, dims, count, t->rhs_column);
}

/* ---- Packing ---- */

/* One panel: out[k][width] = base[line[j] + depth[k]], zero where there are fewer than `width`. */
static void pack_panel(const float *base, const int64_t *line, int64_t lines, const int64_t *depth,
                       int64_t k, int width, float *out) {
  bool full = lines >= width;
  if (full && line[width - 1] - line[0] == width - 1) { /* neighbours: copy whole rows */
    for (int64_t i = 0; i < k; i++, out += width) {
      memcpy(out, base + line[0] + depth[i], sizeof(float) * (size_t)width);
    }
    return;
  }
  for (int j = 0; j < width; j++) {
    float *column = out + j;
    if (j >= lines) {
      for (int64_t i = 0; i < k; i++) column[i * width] = 0;
      continue;
    }
    const float *x = base + line[j];
    for (int64_t i = 0; i < k; i++) column[i * width] = x[depth[i]];
  }
}

static int64_t pack_chunks(int64_t batch, int64_t panels) {
  return batch * ((panels + PACK_PANELS - 1) / PACK_PANELS);
}

static void pack(const float *base, const int64_t *batch, const int64_t *line, int64_t lines,
                 const int64_t *depth, int64_t k, int width, float *out, int64_t chunk) {
  int64_t panels = (lines + width - 1) / width;
  int64_t groups = (panels + PACK_PANELS - 1) / PACK_PANELS;
  int64_t b = chunk / groups, first = chunk % groups * PACK_PANELS, last = first + PACK_PANELS;
  if (last > panels) last = panels;
  for (int64_t p = first; p < last; p++) {
    pack_panel(base + batch[b], line + p * width, lines - p * width, depth, k, width,
               out + (b * panels + p) * width * k);
  }
}

/* ---- Multiplying ---- */

/* out[MR][NR] = sum over k of a[k][MR] * b[k][NR]. A sum of one product is that product, as in XLA:
** added to -0, it keeps its sign where it is -0. */
static void micro_kernel(int64_t k, const float *a, const float *b, v128_t out[MR][NR / 4]) {
  v128_t sum[MR][NR / 4], start = wasm_f32x4_splat(k == 1 ? -0.0f : 0.0f);
  for (int i = 0; i < MR; i++) sum[i][0] = sum[i][1] = start;
  for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
    v128_t b0 = wasm_v128_load(b), b1 = wasm_v128_load(b + 4);
    for (int i = 0; i < MR; i++) {
      v128_t x = wasm_v128_load32_splat(a + i);
      sum[i][0] = wasm_f32x4_add(sum[i][0], wasm_f32x4_mul(x, b0));
      sum[i][1] = wasm_f32x4_add(sum[i][1], wasm_f32x4_mul(x, b1));
    }
  }
  for (int i = 0; i < MR; i++) out[i][0] = sum[i][0], out[i][1] = sum[i][1];
}

static void store_tile(v128_t tile[MR][NR / 4], float *out, int64_t stride, int64_t rows,
                       int64_t columns) {
  if (rows > MR) rows = MR;
  for (int64_t i = 0; i < rows; i++, out += stride) {
    if (columns >= NR) {
      wasm_v128_store(out, tile[i][0]);
      wasm_v128_store(out + 4, tile[i][1]);
    } else {
      memcpy(out, tile[i], sizeof(float) * (size_t)columns);
    }
  }
}

static int64_t row_tiles(const Problem *p) { return (p->m + TILE_ROWS - 1) / TILE_ROWS; }
static int64_t column_tiles(const Problem *p) { return (p->n + TILE_COLUMNS - 1) / TILE_COLUMNS; }

static void multiply(const Problem *p, const Tables *t, float *result, int64_t chunk) {
  int64_t tile_column = chunk % column_tiles(p), rest = chunk / column_tiles(p);
  int64_t tile_row = rest % row_tiles(p), b = rest / row_tiles(p);
  int64_t row_end = (tile_row + 1) * TILE_ROWS, column_end = (tile_column + 1) * TILE_COLUMNS;
  if (row_end > p->m) row_end = p->m;
  if (column_end > p->n) column_end = p->n;
  const float *lhs = t->packed_lhs + b * p->row_panels * MR * p->k;
  const float *rhs = t->packed_rhs + b * p->column_panels * NR * p->k;
  float *out = result + b * p->m * p->n;
  for (int64_t j = tile_column * TILE_COLUMNS; j < column_end; j += NR) {
    for (int64_t i = tile_row * TILE_ROWS; i < row_end; i += MR) {
      v128_t tile[MR][NR / 4];
      micro_kernel(p->k, lhs + i * p->k, rhs + j * p->k, tile);
      store_tile(tile, out + i * p->n + j, p->n, p->m - i, p->n - j);
    }
  }
}

/* ---- The kernel's interface ---- */

enum { PHASE_TABLES, PHASE_PACK, PHASE_MULTIPLY, PHASES };

static bool matches(const Instruction *instruction) {
  return instruction->opcode == HLO_DOT && instruction->shape->type == F32 &&
         instruction->operands[0]->shape->type == F32 &&
         instruction->operands[1]->shape->type == F32 && shape_elements(instruction->shape) > 0 &&
         problem_of(instruction).k > 0;
}

static int64_t scratch_bytes(const Instruction *instruction) {
  Problem p = problem_of(instruction);
  int64_t panels = p.batch * p.k * (p.row_panels * MR + p.column_panels * NR);
  return ((table_entries(&p) * 8 + 63) & -64) + panels * (int64_t)sizeof(float);
}

static int chunks(const Instruction *instruction, int phase) {
  Problem p = problem_of(instruction);
  if (phase == PHASE_TABLES) return 1;
  if (phase == PHASE_PACK) {
    return (int)(pack_chunks(p.batch, p.row_panels) + pack_chunks(p.batch, p.column_panels));
  }
  return (int)(p.batch * row_tiles(&p) * column_tiles(&p));
}

static void run(const KernelCall *call, int phase, int chunk) {
  Problem p = problem_of(call->instruction);
  Tables t = tables_of(&p, call->scratch);
  if (phase == PHASE_TABLES) {
    make_tables(call->instruction, &t);
  } else if (phase == PHASE_PACK) {
    int lhs_chunks = (int)pack_chunks(p.batch, p.row_panels);
    if (chunk < lhs_chunks) {
      pack((const float *)call->operands[0], t.lhs_batch, t.lhs_row, p.m, t.lhs_k, p.k, MR,
           t.packed_lhs, chunk);
    } else {
      pack((const float *)call->operands[1], t.rhs_batch, t.rhs_column, p.n, t.rhs_k, p.k, NR,
           t.packed_rhs, chunk - lhs_chunks);
    }
  } else {
    multiply(&p, &t, (float *)call->results[0], chunk);
  }
}

const Kernel kernel_dot = {"dot", matches, scratch_bytes, PHASES, chunks, run};
