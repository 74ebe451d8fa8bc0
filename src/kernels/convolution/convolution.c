/*
** Maps a convolution, of any types, window and dimension numbers, to contractions. Rows are output
** positions, columns output features; the depth is the kernel's positions and input features.
** Windows over the lhs are never materialised: strides locate their elements (tiles.c does im2col
** block by block, when it packs).
**
** If the lhs is dilated, each combination of classes of positions (window.h) is a contraction of its
** own. If windows reach beyond the lhs, it is copied into scratch memory, with zeros around it.
*/
#include "kernels/convolution/convolution.h"

#include <math.h>
#include <string.h>

#include "base/min_max.h"
#include "kernels/contraction/contraction_plan.h"
#include "kernels/contraction/elements.h"
#include "kernels/convolution/window.h"
#include "kernels/kernels.h"

/* Threshold COPY_ELEMENTS: elements that a chunk copies. Test: "convolutions: lines of tiles,
** places of a unit, transposed operands" in core/thresholds_programs.test.mjs. */
enum { COPY_ELEMENTS = 16 * 1024 };

typedef struct Convolution {
  const Instruction *instruction;
  Line lines[MAX_RANK];
  const Arithmetic *arithmetic;
  bool copies, copies_rhs;
  PrimitiveType lhs_type, rhs_type;                   /* types of the copies, if any */
  int64_t lhs_sizes[MAX_RANK], lhs_strides[MAX_RANK]; /* of the copy, if any */
  int64_t parts;
} Convolution;

/* Returns whether to copy the lhs. Positions of a window share most elements, so these are better converted
** once, before packing. */
static bool wants_copy(const Convolution *conv) {
  const Shape *lhs = conv->instruction->operands[0]->shape;
  bool windowed = false;
  for (int i = 0; i < conv->instruction->a->conv_dims.spatial; i++) {
    const Line *line = &conv->lines[i];
    if (line->low > 0 || line->high > 0) return true;
    windowed |= line->taps > 1;
  }
  return windowed && loader_for(lhs->type, conv->arithmetic, conv->instruction->shape->type).run;
}

/* Sets `conv` to the convolution. plainly: both operands are converted to the type that is computed with. */
static void convolution_of(const Instruction *instruction, bool plainly, Convolution *conv) {
  const ConvDims *dims = &instruction->a->conv_dims;
  const Shape *lhs = instruction->operands[0]->shape, *rhs = instruction->operands[1]->shape;
  *conv = (Convolution){.instruction = instruction,
                        .arithmetic = (plainly ? arithmetic_plain : arithmetic_for)(
                            lhs->type, rhs->type, instruction->shape->type),
                        .parts = 1};
  for (int d = 0; d < lhs->rank; d++) conv->lhs_sizes[d] = lhs->dims[d];
  for (int i = 0; i < dims->spatial; i++) {
    int64_t positions = instruction->shape->dims[dims->output_spatial[i]];
    Line *line = &conv->lines[i];
    *line = line_of(&instruction->a->window.items[i], lhs->dims[dims->input_spatial[i]], positions);
    conv->parts *= line_classes(line);
  }
  conv->copies = wants_copy(conv);
  conv->lhs_type = conv->copies ? conv->arithmetic->element : lhs->type;
  conv->copies_rhs =
      plainly && loader_for(rhs->type, conv->arithmetic, instruction->shape->type).run;
  conv->rhs_type = conv->copies_rhs ? conv->arithmetic->element : rhs->type;
  for (int i = 0; i < dims->spatial && conv->copies; i++) {
    conv->lhs_sizes[dims->input_spatial[i]] += conv->lines[i].low + conv->lines[i].high;
  }
  int64_t stride = 1;
  for (int d = lhs->rank - 1; d >= 0; stride *= conv->lhs_sizes[d], d--) {
    conv->lhs_strides[d] = stride;
  }
}

/* ---- As contractions ---- */

/* Adds the axes of groups and features. */
static void add_features(const Convolution *conv, Contraction *c, const int64_t *rhs_strides,
                         const int64_t *out_strides) {
  const Attributes *a = conv->instruction->a;
  const ConvDims *dims = &a->conv_dims;
  const Shape *rhs = conv->instruction->operands[1]->shape, *out = conv->instruction->shape;
  int64_t batch = conv->lhs_strides[dims->input_batch], batches = out->dims[dims->output_batch];
  int64_t feature = conv->lhs_strides[dims->input_feature];
  int64_t inputs = rhs->dims[dims->kernel_input_feature];
  int64_t groups = a->feature_group_count * a->batch_group_count;
  int64_t outputs = rhs->dims[dims->kernel_output_feature] / groups;
  int64_t output = out_strides[dims->output_feature];
  int64_t kernel_output = rhs_strides[dims->kernel_output_feature];
  axes_add(&c->batch, groups, a->batch_group_count > 1 ? batches * batch : inputs * feature,
           outputs * kernel_output, outputs * output);
  axes_add(&c->rows, batches, batch, 0, out_strides[dims->output_batch]);
  axes_add(&c->columns, outputs, 0, kernel_output, output);
  axes_add(&c->depth, inputs, feature, rhs_strides[dims->kernel_input_feature], 0);
}

/* Returns the contraction of the positions of these classes. class NULL: with the sizes of the largest. */
static void contraction_of(const Convolution *conv, const int64_t *class, Contraction *c) {
  const ConvDims *dims = &conv->instruction->a->conv_dims;
  const Shape *rhs = conv->instruction->operands[1]->shape, *out = conv->instruction->shape;
  int64_t rhs_strides[MAX_RANK], out_strides[MAX_RANK];
  shape_strides(rhs, rhs_strides);
  shape_strides(out, out_strides);
  PrimitiveType lhs_type = conv->instruction->operands[0]->shape->type;
  *c = (Contraction){.array = {[LHS] = {.type = conv->lhs_type},
                               [RHS] = {.type = conv->rhs_type},
                               [OUT] = {.type = out->type}},
                     .in_pairs = conv->arithmetic->element == S32 &&
                                 arithmetic_for(lhs_type, rhs->type, out->type)->element == S16};
  for (int i = 0; i < dims->spatial; i++) {
    const Line *line = &conv->lines[i];
    LineClass own = {.positions = divide_up(line->positions, line->classes),
                     .taps = divide_up(line->taps, line->tap_step)};
    if (class) own = line_class(line, class[i]);
    int64_t lhs_stride = conv->lhs_strides[dims->input_spatial[i]];
    int64_t rhs_stride = rhs_strides[dims->kernel_spatial[i]];
    int64_t out_stride = out_strides[dims->output_spatial[i]];
    int64_t tap = line->reversed ? -rhs_stride : rhs_stride;
    axes_add(&c->rows, own.positions, line->position_elements * lhs_stride, 0,
             line->classes * out_stride);
    axes_add(&c->depth, own.taps, line->tap_elements * lhs_stride, line->tap_step * tap, 0);
    c->windowed |= line->taps > 1;
    if (!class) continue;
    c->array[LHS].base += (own.element + (conv->copies ? line->low : 0)) * lhs_stride;
    c->array[RHS].base +=
        own.first_tap * tap + (line->reversed ? (line->taps - 1) * rhs_stride : 0);
    c->array[OUT].base += class[i] * out_stride;
  }
  add_features(conv, c, rhs_strides, out_strides);
}

static ContractionPlan plan_of(const Convolution *conv, Contraction *largest) {
  contraction_of(conv, NULL, largest);
  return contraction_plan(largest, conv->parts, shape_elements(conv->instruction->shape));
}

static void part_of(const Convolution *conv, const ContractionPlan *plan, int64_t part,
                    Contraction *c) {
  int64_t class[MAX_RANK];
  for (int i = 0; i < conv->instruction->a->conv_dims.spatial; i++) {
    class[i] = part % line_classes(&conv->lines[i]);
    part /= line_classes(&conv->lines[i]);
  }
  contraction_of(conv, class, c);
  contraction_arrange(c, plan);
}

/* ---- The copy of the lhs ---- */

/* Returns the padded spatial dimension that is dimension d of the lhs, or NULL. */
static const Line *padded_line(const Convolution *conv, int d) {
  const ConvDims *dims = &conv->instruction->a->conv_dims;
  for (int i = 0; i < dims->spatial; i++) {
    const Line *line = &conv->lines[i];
    if (dims->input_spatial[i] == d && (line->low > 0 || line->high > 0)) return line;
  }
  return NULL;
}

/* The rows of the copy: a row is the innermost padded dimension with all dimensions inside it. */
typedef struct CopyRows {
  int rank;              /* number of dimensions outside a row */
  int64_t count;         /* number of rows */
  int64_t inner, length; /* elements inside the padded dimension; its size in the lhs */
  int64_t low, high;     /* zeros before and after it */
} CopyRows;

static CopyRows copy_rows(const Convolution *conv) {
  const Shape *lhs = conv->instruction->operands[0]->shape;
  CopyRows rows = {.rank = lhs->rank - 1, .inner = 1, .count = 1};
  while (rows.rank > 0 && !padded_line(conv, rows.rank)) rows.inner *= lhs->dims[rows.rank--];
  const Line *line = padded_line(conv, rows.rank);
  rows.length = lhs->dims[rows.rank];
  if (line) {
    rows.low = line->low;
    rows.high = line->high;
  }
  for (int d = 0; d < rows.rank; d++) rows.count *= conv->lhs_sizes[d];
  return rows;
}

static int64_t copy_elements(const Convolution *conv) {
  int64_t elements = 1;
  for (int d = 0; d < conv->instruction->operands[0]->shape->rank; d++) {
    elements *= conv->lhs_sizes[d];
  }
  return elements;
}

static int64_t copy_bytes(const Convolution *conv) {
  if (!conv->copies) return 0;
  return (copy_elements(conv) * type_bytes(conv->lhs_type) + 63) & -64;
}

static int64_t rhs_elements(const Convolution *conv) {
  return conv->copies_rhs ? shape_elements(conv->instruction->operands[1]->shape) : 0;
}

static int64_t rhs_copy_bytes(const Convolution *conv) {
  return (rhs_elements(conv) * type_bytes(conv->rhs_type) + 63) & -64;
}

/* Returns the offset in the lhs of row number `row` of the copy; -1 if it is all zeros. */
static int64_t row_source(const Convolution *conv, const CopyRows *rows, int64_t row) {
  const Shape *lhs = conv->instruction->operands[0]->shape;
  int64_t strides[MAX_RANK], at = 0;
  shape_strides(lhs, strides);
  for (int d = rows->rank - 1; d >= 0; d--) {
    const Line *line = padded_line(conv, d);
    int64_t index = row % conv->lhs_sizes[d] - (line ? line->low : 0);
    row /= conv->lhs_sizes[d];
    if (index < 0 || index >= lhs->dims[d]) return -1;
    at += index * strides[d];
  }
  return at;
}

static int64_t rows_per_chunk(const CopyRows *rows) {
  int64_t elements = (rows->low + rows->length + rows->high) * rows->inner;
  return elements < COPY_ELEMENTS ? COPY_ELEMENTS / (elements + 1) + 1 : 1;
}

static void copy_chunk(const Convolution *conv, const uint8_t *lhs, uint8_t *copy, int64_t chunk) {
  CopyRows rows = copy_rows(conv);
  PrimitiveType from = conv->instruction->operands[0]->shape->type;
  Loader loader = loader_for(from, conv->arithmetic, conv->instruction->shape->type);
  size_t bytes = (size_t)type_bytes(conv->lhs_type), from_bytes = (size_t)type_bytes(from);
  size_t low = (size_t)(rows.low * rows.inner) * bytes;
  size_t high = (size_t)(rows.high * rows.inner) * bytes;
  int64_t count = rows.length * rows.inner;
  size_t row_bytes = low + (size_t)count * bytes + high;
  int64_t row = chunk * rows_per_chunk(&rows), end = row + rows_per_chunk(&rows);
  for (; row < end && row < rows.count; row++) {
    uint8_t *to = copy + (size_t)row * row_bytes;
    int64_t at = row_source(conv, &rows, row);
    if (at < 0) {
      memset(to, 0, row_bytes);
      continue;
    }
    const uint8_t *source = lhs + (size_t)at * from_bytes;
    memset(to, 0, low);
    if (loader.run) {
      loader.run(&loader, source, count, to + low);
    } else {
      memcpy(to + low, source, (size_t)count * bytes);
    }
    memset(to + row_bytes - high, 0, high);
  }
}

static int64_t lhs_chunks(const Convolution *conv) {
  if (!conv->copies) return 0;
  CopyRows rows = copy_rows(conv);
  return divide_up(rows.count, rows_per_chunk(&rows));
}

static void copy_rhs_chunk(const Convolution *conv, const uint8_t *rhs, uint8_t *copy,
                           int64_t chunk) {
  PrimitiveType from = conv->instruction->operands[1]->shape->type;
  Loader loader = loader_for(from, conv->arithmetic, conv->instruction->shape->type);
  int64_t first = chunk * COPY_ELEMENTS, count = rhs_elements(conv) - first;
  loader.run(&loader, rhs + first * type_bytes(from), count < COPY_ELEMENTS ? count : COPY_ELEMENTS,
             copy + first * type_bytes(conv->rhs_type));
}

/* ---- The kernel's interface ---- */

enum { COPY_PHASE, FIRST_CONTRACTION_PHASE, PHASES = FIRST_CONTRACTION_PHASE + CONTRACTION_PHASES };

typedef struct ConvolutionPlan {
  KernelPlan kernel;
  Convolution conv;
  ContractionPlan plan;
  const KeptContraction *first; /* the first part; often the only one */
} ConvolutionPlan;

/* Returns false if the copy would be much too large, as it is if windows mostly lie on padding. */
static bool suits(const Instruction *instruction, const Convolution *conv) {
  int64_t elements =
      shape_elements(instruction->shape) + shape_elements(instruction->operands[0]->shape);
  return !conv->copies || copy_elements(conv) <= 16 * elements + (1 << 20);
}

/* Plans a convolution, except for the kernel's phases. Returns false if the evaluator has to run it. */
static bool plan_convolution(const Instruction *instruction, ConvolutionPlan *p) {
  Contraction largest;
  convolution_of(instruction, true, &p->conv);
  if (!suits(instruction, &p->conv)) return false;
  p->plan = plan_of(&p->conv, &largest);
  if (p->plan.way != DIRECTLY) {
    convolution_of(instruction, false, &p->conv);
    p->plan = plan_of(&p->conv, &largest);
  }
  return true;
}

double convolution_cost(const Instruction *instruction) {
  ConvolutionPlan p = {0};
  return plan_convolution(instruction, &p) ? p.plan.cost : INFINITY;
}

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_CONVOLUTION || shape_elements(instruction->shape) == 0) {
    return NULL;
  }
  ConvolutionPlan *p = ARENA_NEW(arena, ConvolutionPlan);
  if (!plan_convolution(instruction, p)) return NULL;
  Contraction first;
  part_of(&p->conv, &p->plan, 0, &first);
  p->first = contraction_keep(&first, arena);
  p->kernel.scratch_bytes =
      copy_bytes(&p->conv) + rhs_copy_bytes(&p->conv) + contraction_scratch_bytes(&p->plan);
  int *chunks = kernel_phases(&p->kernel, arena, PHASES);
  int64_t rhs_chunks = divide_up(rhs_elements(&p->conv), COPY_ELEMENTS);
  chunks[COPY_PHASE] = (int)(lhs_chunks(&p->conv) + rhs_chunks);
  contraction_phases(&p->plan, chunks + FIRST_CONTRACTION_PHASE);
  return &p->kernel;
}

static void multiply(const ConvolutionPlan *p, const ContractionData *data, int64_t chunk) {
  const ContractionPlan *plan = &p->plan;
  int64_t unit = chunk * plan->units_per_chunk, end = unit + plan->units_per_chunk, made = 0;
  int64_t per_part = plan->units_per_part;
  Contraction c;
  contraction_restore(p->first, &c);
  if (end > plan->units) end = plan->units;
  while (unit < end) {
    int64_t part = unit / per_part, first = part * per_part;
    int64_t stop = first + per_part < end ? first + per_part : end;
    if (part != made) part_of(&p->conv, plan, part, &c);
    made = part;
    contraction_multiply(&c, plan, data, unit - first, stop - first);
    unit = stop;
  }
}

static void copy(const Convolution *conv, const KernelCall *call, int64_t chunk) {
  int64_t of_lhs = lhs_chunks(conv);
  if (chunk < of_lhs) {
    copy_chunk(conv, call->operands[0], call->scratch, chunk);
  } else {
    copy_rhs_chunk(conv, call->operands[1], call->scratch + copy_bytes(conv), chunk - of_lhs);
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  const ConvolutionPlan *p = (const ConvolutionPlan *)call->plan;
  ContractionData data = {call->operands[0], call->operands[1], call->results[0], call->scratch};
  Contraction first;
  if (p->conv.copies) data.lhs = call->scratch;
  if (p->conv.copies_rhs) data.rhs = call->scratch + copy_bytes(&p->conv);
  if (call->scratch) data.scratch += copy_bytes(&p->conv) + rhs_copy_bytes(&p->conv);
  switch (phase - FIRST_CONTRACTION_PHASE) {
  case PHASE_PACK: /* several parts: nothing is packed beforehand */
    contraction_restore(p->first, &first);
    contraction_pack(&first, &p->plan, &data, chunk);
    break;
  case PHASE_MULTIPLY: multiply(p, &data, chunk); break;
  case PHASE_FINISH:
    contraction_finish(&p->plan, call->instruction->shape->type, &data, chunk);
    break;
  default:
    if (call->scratch) copy(&p->conv, call, chunk);
  }
}

const Kernel kernel_convolution = {"convolution", plan, run};
