/* Packs blocks of an operand into panels: see pack.h. */
#include "kernels/contraction/pack.h"
#include "base/min_max.h"

#include <string.h>
#include <wasm_simd128.h>

/* Threshold MAX_COPIED: panels that are copied at a time. Test: "products: of [m,k] and [k,n] by
** sums" in core/thresholds.test.mjs. */
enum { MAX_COPIED = 16 };

/* ---- Offsets ---- */

void axes_offsets(const Axes *axes, Operand operand, int64_t first, int64_t count, size_t base,
                  size_t *out) {
  int64_t index[MAX_RANK], last = axes->count - 1;
  if (count == 0) return;
  if (last < 0) {
    for (int64_t i = 0; i < count; i++) out[i] = base;
    return;
  }
  for (int64_t d = last; d >= 0; d--) {
    const Axis *axis = &axes->items[d];
    index[d] = first % axis->size;
    first /= axis->size;
    base += (size_t)(index[d] * axis->stride[operand]);
  }
  for (int64_t i = 0; i < count;) {
    size_t stride = (size_t)axes->items[last].stride[operand];
    for (; i < count && index[last] < axes->items[last].size; i++, index[last]++, base += stride) {
      out[i] = base;
    }
    for (int64_t d = last; d > 0 && index[d] == axes->items[d].size; d--) {
      base -= (size_t)(index[d] * axes->items[d].stride[operand]);
      base += (size_t)axes->items[d - 1].stride[operand];
      index[d] = 0;
      index[d - 1]++;
    }
  }
}

void depth_init(Depth *depth, const Axes *axes, Operand operand, int64_t first, int count) {
  axes_offsets(axes, operand, first, count, 0, depth->at);
  depth->count = count;
  depth->runs = 0;
  for (int k = 0; k < count; k++) {
    if (k == 0 || depth->at[k] != depth->at[k - 1] + 1) depth->begin[depth->runs++] = k;
  }
  depth->begin[depth->runs] = count;
}

/* ---- Lanes of 4 and of 8 bytes, from lines whose elements are lanes already ---- */

void transpose4(const uint32_t *a, const uint32_t *b, const uint32_t *c, const uint32_t *d,
                int count, uint32_t *out, int width) {
  int k = 0;
  for (; k + 4 <= count; k += 4, out += 4 * width) {
    v128_t w = wasm_v128_load(a + k), x = wasm_v128_load(b + k);
    v128_t y = wasm_v128_load(c + k), z = wasm_v128_load(d + k);
    v128_t wx = wasm_i32x4_shuffle(w, x, 0, 4, 1, 5), yz = wasm_i32x4_shuffle(y, z, 0, 4, 1, 5);
    wasm_v128_store(out, wasm_i64x2_shuffle(wx, yz, 0, 2));
    wasm_v128_store(out + width, wasm_i64x2_shuffle(wx, yz, 1, 3));
    wx = wasm_i32x4_shuffle(w, x, 2, 6, 3, 7);
    yz = wasm_i32x4_shuffle(y, z, 2, 6, 3, 7);
    wasm_v128_store(out + 2 * width, wasm_i64x2_shuffle(wx, yz, 0, 2));
    wasm_v128_store(out + 3 * width, wasm_i64x2_shuffle(wx, yz, 1, 3));
  }
  for (; k < count; k++, out += width) {
    out[0] = a[k];
    out[1] = b[k];
    out[2] = c[k];
    out[3] = d[k];
  }
}

static void turn2_of_4(const uint32_t *a, const uint32_t *b, int count, uint32_t *out, int width) {
  int k = 0;
  for (; k + 4 <= count; k += 4, out += 4 * width) {
    v128_t x = wasm_v128_load(a + k), y = wasm_v128_load(b + k);
    v128_t low = wasm_i32x4_shuffle(x, y, 0, 4, 1, 5), high = wasm_i32x4_shuffle(x, y, 2, 6, 3, 7);
    wasm_v128_store64_lane(out, low, 0);
    wasm_v128_store64_lane(out + width, low, 1);
    wasm_v128_store64_lane(out + 2 * width, high, 0);
    wasm_v128_store64_lane(out + 3 * width, high, 1);
  }
  for (; k < count; k++, out += width) {
    out[0] = a[k];
    out[1] = b[k];
  }
}

/* Transposes 2 lines of 8-byte lanes. */
static void turn2(const uint64_t *a, const uint64_t *b, int count, uint64_t *out, int width) {
  int k = 0;
  for (; k + 2 <= count; k += 2, out += 2 * width) {
    v128_t x = wasm_v128_load(a + k), y = wasm_v128_load(b + k);
    wasm_v128_store(out, wasm_i64x2_shuffle(x, y, 0, 2));
    wasm_v128_store(out + width, wasm_i64x2_shuffle(x, y, 1, 3));
  }
  if (k < count) {
    out[0] = a[k];
    out[1] = b[k];
  }
}

void transpose_lanes(int lane_bytes, const void *data, const size_t *line, int lines, int count,
                     void *out, int width) {
  const uint32_t *from = data;
  const uint64_t *from8 = data;
  uint32_t *to = out;
  int i = 0;
  for (; lane_bytes == 4 && i + 4 <= lines; i += 4) {
    transpose4(from + line[i], from + line[i + 1], from + line[i + 2], from + line[i + 3], count,
               to + i, width);
  }
  for (; i + 2 <= lines; i += 2) {
    if (lane_bytes == 4) {
      turn2_of_4(from + line[i], from + line[i + 1], count, to + i, width);
    } else {
      turn2(from8 + line[i], from8 + line[i + 1], count, (uint64_t *)out + i, width);
    }
  }
  for (int k = 0; i < lines && k < count; k++) {
    if (lane_bytes == 4) {
      to[k * width + i] = from[line[i] + (size_t)k];
    } else {
      ((uint64_t *)out)[k * width + i] = from8[line[i] + (size_t)k];
    }
  }
}

/* Packs a panel of `width` lines. Lane k of line i is at line[i] + depth->at[k]. */
static void turn_panel(const uint8_t *data, int lane_bytes, const size_t *line, int width,
                       const Depth *depth, uint8_t *out) {
  for (int run = 0; run < depth->runs; run++) {
    int begin = depth->begin[run], count = depth->begin[run + 1] - begin;
    transpose_lanes(lane_bytes, data + depth->at[begin] * (size_t)lane_bytes, line, width, count,
                    out + begin * width * lane_bytes, width);
  }
}

/* Copies several panels of contiguous lines at once: a whole cache line of the operand at a time, since
** the next one may be in another page. Converted lines go by way of a row in the first cache. */
static inline void copy_width(const Side *side, size_t line, const Depth *depth, size_t width,
                              int panels, uint8_t *out, size_t stride) {
  _Alignas(16) uint8_t row[MAX_COPIED * 48];
  const Loader *loader = &side->loader;
  size_t bytes = (size_t)type_bytes(loader->from);
  int count = panels * (int)width / side->arithmetic->lane_bytes;
  for (int k = 0; k < depth->count; k++, out += width) {
    const uint8_t *from = side->data + (line + depth->at[k]) * bytes;
    uint8_t *to = out;
    if (loader->run) {
      loader->run(loader, from, count, row);
      from = row;
    }
    for (int i = 0; i < panels; i++, to += stride, from += width) memcpy(to, from, width);
  }
}

static void copy_panels(const Side *side, size_t line, const Depth *depth, size_t width, int panels,
                        uint8_t *out, size_t stride) {
  switch (width) { /* in bytes; a copy of constant size is a few instructions */
  case 16: copy_width(side, line, depth, 16, panels, out, stride); break;
  case 24: copy_width(side, line, depth, 24, panels, out, stride); break;
  case 32: copy_width(side, line, depth, 32, panels, out, stride); break;
  default: copy_width(side, line, depth, 48, panels, out, stride); break;
  }
}

/* Packs the last panel of contiguous lines that are converted. Copies of its last line fill the panel. */
static void copy_last(const Side *side, size_t line, int64_t lines, int width, const Depth *depth,
                      uint8_t *out) {
  _Alignas(16) uint8_t row[48];
  size_t bytes = (size_t)type_bytes(side->loader.from);
  size_t lane = (size_t)side->arithmetic->lane_bytes;
  for (int k = 0; k < depth->count; k++, out += (size_t)width * lane) {
    side->loader.run(&side->loader, side->data + (line + depth->at[k]) * bytes, lines, row);
    for (int64_t i = lines; i < width; i++) {
      memcpy(row + (size_t)i * lane, row + (size_t)(lines - 1) * lane, lane);
    }
    memcpy(out, row, (size_t)width * lane);
  }
}

/* ---- Elements of other types: first converted to lines in scratch ---- */

/* Converts the elements of one line into contiguous lanes. */
static void load_line(const Side *side, size_t line, const Depth *depth, uint8_t *out) {
  /* Threshold GATHERED. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  enum { GATHERED = 16 };
  const Loader *loader = &side->loader;
  size_t from_bytes = (size_t)type_bytes(loader->from);
  size_t to_bytes = (size_t)type_bytes(loader->element);
  uint8_t gathered[GATHERED * 16];
  for (int run = 0; run < depth->runs;) {
    int k = depth->begin[run], count = depth->begin[run + 1] - k;
    const uint8_t *elements = side->data + (line + depth->at[k]) * from_bytes;
    if (count > 1 || loader->computed) {
      run++; /* computed elements have no memory */
    } else { /* gathers single elements */
      for (count = 0; count < GATHERED && run < depth->runs; run++, count++) {
        if (depth->begin[run + 1] - depth->begin[run] > 1) break;
        memcpy(gathered + (size_t)count * from_bytes,
               side->data + (line + depth->at[k + count]) * from_bytes, from_bytes);
      }
      elements = gathered;
    }
    uint8_t *to = out + (size_t)k * to_bytes;
    if (loader->run) {
      loader->run(loader, elements, count, to);
    } else {
      memcpy(to, elements, (size_t)count * to_bytes);
    }
  }
}

/* Packs complex columns as reals: (a + bi)(c + di) is the lhs' depth a, b times two columns c, -d and d, c. */
static void turn_complex_columns(const uint8_t *lines, int lane_bytes, int columns, int count,
                                 uint8_t *out) {
  for (int j = 0; j < columns; j++) {
    if (lane_bytes == 4) {
      const float *from = (const float *)(lines + (size_t)j * DEPTH_BYTES);
      float *to = (float *)out + 2 * j;
      for (int k = 0; k < count; k++, from += 2, to += 4 * columns) {
        to[0] = to[2 * columns + 1] = from[0];
        to[1] = from[1];
        to[2 * columns] = -from[1];
      }
    } else {
      const double *from = (const double *)(lines + (size_t)j * DEPTH_BYTES);
      double *to = (double *)out + 2 * j;
      for (int k = 0; k < count; k++, from += 2, to += 4 * columns) {
        to[0] = to[2 * columns + 1] = from[0];
        to[1] = from[1];
        to[2 * columns] = -from[1];
      }
    }
  }
}

/* Packs complex columns that are contiguous and need no conversion, a row of the panel at a time. */
static void turn_complex_neighbours(const uint8_t *data, size_t line, const Depth *depth,
                                    int lane_bytes, uint8_t *out) {
  v128_t sign = lane_bytes == 4 ? wasm_i64x2_const_splat(INT64_C(0x80000000))
                                : wasm_i64x2_const(INT64_MIN, 0);
  for (int k = 0; k < depth->count; k++, out += 2 * PANEL_COLUMN_BYTES) {
    const uint8_t *from = data + (line + depth->at[k]) * 2 * (size_t)lane_bytes;
    for (int v = 0; v < PANEL_COLUMN_BYTES; v += 16) {
      v128_t x = wasm_v128_load(from + v);
      v128_t turned =
          lane_bytes == 4 ? wasm_i32x4_shuffle(x, x, 1, 0, 3, 2) : wasm_i64x2_shuffle(x, x, 1, 0);
      wasm_v128_store(out + v, x);
      wasm_v128_store(out + PANEL_COLUMN_BYTES + v, wasm_v128_xor(turned, sign));
    }
  }
}

/* Packs one panel from converted lines. */
static void load_panel(const Side *side, const size_t *line, int width, const Depth *depth,
                       uint8_t *out) {
  /* Threshold MAX_LINES. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  enum { MAX_LINES = 8 };
  _Alignas(16) uint8_t lines[MAX_LINES][DEPTH_BYTES];
  const Arithmetic *arithmetic = side->arithmetic;
  for (int i = 0; i < width; i++) {
    load_line(side, line[i], depth, lines[i]);
    if (arithmetic->lane_elements == 2 && depth->count % 2 == 1) {
      ((int16_t *)lines[i])[depth->count] = 0;
    }
  }
  if (side->operand == RHS && arithmetic->reals == 2) {
    turn_complex_columns(lines[0], arithmetic->lane_bytes, width, depth->count, out);
    return;
  }
  size_t start[MAX_LINES];
  for (int i = 0; i < width; i++) {
    start[i] = (size_t)(i * (DEPTH_BYTES / arithmetic->lane_bytes));
  }
  transpose_lanes(arithmetic->lane_bytes, lines, start, width,
                  panel_depth(arithmetic, depth->count), out, width);
}

/* Packs contiguous s16 lines: two rows of the panel at a time, interleaved. */
static void load_neighbours_s16(const Side *side, size_t line, int width, const Depth *depth,
                                uint8_t *out) {
  const Loader *loader = &side->loader;
  size_t bytes = (size_t)type_bytes(loader->from);
  _Alignas(16) int16_t rows[2][8] = {{0}};
  for (int k = 0; k < depth->count; k += 2, out += width * 4) {
    for (int i = 0; i < 2; i++) {
      if (k + i == depth->count) {
        memset(rows[i], 0, sizeof rows[i]);
        continue;
      }
      const uint8_t *from = side->data + (line + depth->at[k + i]) * bytes;
      if (bytes == 1 && width == 8) {
        bool has_sign = type_kind(loader->from) == KIND_SIGNED;
        wasm_v128_store(rows[i], has_sign ? wasm_i16x8_load8x8(from) : wasm_u16x8_load8x8(from));
      } else if (loader->run) {
        loader->run(loader, from, width, rows[i]);
      } else {
        memcpy(rows[i], from, (size_t)width * sizeof **rows);
      }
    }
    v128_t a = wasm_v128_load(rows[0]), b = wasm_v128_load(rows[1]);
    wasm_v128_store(out, wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
    if (width == 4) continue;
    wasm_v128_store(out + 16, wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
  }
}

/* ---- Blocks ---- */

Side side_new(const Contraction *contraction, const Arithmetic *arithmetic, Operand operand,
              const uint8_t *data) {
  Loader loader = operand_loader(contraction, arithmetic, operand);
  return (Side){data, operand, arithmetic, loader};
}

int panel_lines(const Arithmetic *arithmetic, Operand operand) {
  if (operand == LHS) return lanes_of(arithmetic->loops)->panel_rows;
  return PANEL_COLUMN_BYTES / (arithmetic->lane_bytes * arithmetic->reals);
}

int panel_depth(const Arithmetic *arithmetic, int count) {
  return divide_up(count, arithmetic->lane_elements) * arithmetic->reals;
}

static bool are_neighbours(const size_t *line, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    if (line[i] != line[0] + (size_t)i) return false;
  }
  return true;
}

static void pack_panel(const Side *side, const size_t *line, int width, const Depth *depth,
                       uint8_t *out) {
  const Arithmetic *arithmetic = side->arithmetic;
  bool neighbours = are_neighbours(line, width);
  if (arithmetic->reals == 2) {
    if (neighbours && side->operand == RHS && !side->loader.run) {
      turn_complex_neighbours(side->data, line[0], depth, arithmetic->lane_bytes, out);
    } else {
      load_panel(side, line, width, depth, out);
    }
    return;
  }
  if (neighbours && arithmetic->lane_elements == 2) {
    load_neighbours_s16(side, line[0], width, depth, out);
  } else if (neighbours && side->loader.run) {
    copy_panels(side, line[0], depth, (size_t)(width * arithmetic->lane_bytes), 1, out, 0);
  } else if (side->loader.run || arithmetic->lane_elements == 2) {
    load_panel(side, line, width, depth, out);
  } else {
    turn_panel(side->data, arithmetic->lane_bytes, line, width, depth, out);
  }
}

/* Returns how many panels, up to MAX_COPIED, have contiguous lines and are copied or converted in order. */
static int copied_panels(const Side *side, const size_t *line, int64_t lines, int width) {
  const Arithmetic *arithmetic = side->arithmetic;
  if (arithmetic->reals == 2 || arithmetic->lane_elements == 2) return 0;
  int panels = 0;
  while (panels < MAX_COPIED && (panels + 1) * width <= lines &&
         are_neighbours(line, (panels + 1) * width)) {
    panels++;
  }
  return panels;
}

/* Sets subnormal f32 numbers to 0, as XLA:CPU does. A product with one takes a hundred times as long as another, and a
** softmax and its gradient produce some. */
static void clear_denormals(uint8_t *panel, int bytes) {
  for (uint8_t *end = panel + bytes; panel < end; panel += 16) {
    v128_t x = wasm_v128_load(panel), exponent = wasm_i32x4_const_splat(0xff << 23);
    v128_t is_small = wasm_i32x4_eq(wasm_v128_and(x, exponent), wasm_i32x4_const_splat(0));
    wasm_v128_store(panel, wasm_v128_andnot(x, is_small));
  }
}

void pack(const Side *side, const size_t *line, int64_t lines, const Depth *depth, uint8_t *out,
          size_t stride) {
  const Arithmetic *arithmetic = side->arithmetic;
  int width = panel_lines(arithmetic, side->operand);
  int line_bytes = side->operand == RHS ? PANEL_COLUMN_BYTES : width * 4;
  int panel_bytes =
      arithmetic->loops == LOOPS_F32 ? panel_depth(arithmetic, depth->count) * line_bytes : 0;
  while (lines > 0) {
    int panels = copied_panels(side, line, lines, width);
    if (panels > 0) {
      size_t row = (size_t)(width * arithmetic->lane_bytes);
      copy_panels(side, line[0], depth, row, panels, out, stride);
    } else if (lines < width && side->loader.run && arithmetic->reals == 1 &&
               arithmetic->lane_elements == 1 && are_neighbours(line, lines)) {
      copy_last(side, line[0], lines, width, depth, out);
      panels = 1;
    } else {
      size_t filled[PANEL_COLUMN_BYTES / 4];
      for (int i = 0; i < width; i++) filled[i] = line[i < lines ? i : lines - 1];
      pack_panel(side, filled, width, depth, out);
      panels = 1;
    }
    lines -= panels * width;
    line += panels * width;
    for (; panels > 0; panels--, out += stride) clear_denormals(out, panel_bytes);
  }
}
