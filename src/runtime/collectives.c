/*
** Computes the collectives, once all members of a group have arrived: one leaf of the results after the
** other, in chunks. `devices` are in group order, and so is every reduction: ((r0 op r1) op r2) ...,
** element by element, on any thread.
*/
#include <stdatomic.h>
#include <string.h>

#include "base/min_max.h"
#include "hlo/scalar/element.h"
#include "reference/eval.h"
#include "runtime/parallel.h"
#include "runtime/run_state.h"

/* The sizes of a chunk; the last one is for computations that run for each pair of elements. */
enum {
  /* Threshold MOVED_BYTES, REDUCED_ELEMENTS, REDUCED_PAIRS, APPLIED_PAIRS. Test: "collectives of two devices around
  ** chunks" in core/thresholds_numbers.test.mjs. */
  MOVED_BYTES = 1 << 18,
  REDUCED_ELEMENTS = 4096,
  REDUCED_PAIRS = 1 << 16,
  APPLIED_PAIRS = 1 << 10
};

/* Returns a member's operand. Members that meet on a channel may be at different instructions, with buffers
** of their own. */
static uint8_t *operand_of(Device *const *devices, int member, int leaf) {
  return device_pointer(devices[member], devices[member]->parked_at->operands[leaf]);
}

/* Returns the operand's shape. The buffer's may differ, as a reshape or bitcast shares its operand's. */
static const Shape *operand_shape(const Thunk *thunk, int leaf) {
  return thunk->instruction->operands[leaf]->shape;
}

static uint8_t *result_of(Device *const *devices, int member, int leaf) {
  return device_pointer(devices[member], devices[member]->parked_at->results[leaf]);
}

/*
** ---- Reduction: accumulator[i] = f(accumulator[i], x[i]) ----
**
** As in XLA:CPU, sums begin with 0 (so that -0 + -0 is 0), products with 1, and maxima and minima
** with the lowest and highest value and a plain comparison (so that NaN never wins). Computations
** of any other kind begin with the first member's operand.
*/

typedef struct Reducer {
  PrimitiveType type;
  const Computation *computation;
  Opcode opcode;    /* OPCODE_COUNT: run the computation */
  EvalApply *apply; /* then: the prepared computation, for one thread */
} Reducer;

static bool has_identity(const Reducer *reducer, Scalar *identity) {
  if (!opcode_neutral(reducer->opcode, reducer->type, identity)) return false;
  if (reducer->opcode == HLO_ADD) *identity = (Scalar){0};
  return true;
}

/* Sums of the common types, in explicit vectors, as the compiler does not vectorise when it optimises for
** size. Other reductions take the general path. */
/* Threshold WIDTH. Test: "collectives of two devices around chunks" in core/thresholds_numbers.test.mjs. */
#define SUM_LOOP(ctype)                                                                         \
  {                                                                                             \
    typedef ctype Vector __attribute__((vector_size(16), aligned(_Alignof(ctype)), may_alias)); \
    enum { WIDTH = 16 / (int)sizeof(ctype) };                                                   \
    ctype *a = (ctype *)accumulator;                                                            \
    const ctype *b = (const ctype *)x;                                                          \
    for (; n >= WIDTH; n -= WIDTH, a += WIDTH, b += WIDTH) *(Vector *)a += *(const Vector *)b;  \
    for (; n > 0; n--) *a++ += *b++;                                                            \
    return true;                                                                                \
  }

static bool reduce_fast(const Reducer *reducer, void *accumulator, const void *x, int64_t n) {
  if (reducer->opcode != HLO_ADD) return false;
  switch (reducer->type) {
  case F32: SUM_LOOP(float)
  case F64: SUM_LOOP(double)
  case S32:
  case U32: SUM_LOOP(uint32_t)
  default: return false;
  }
}

static Scalar combine(const Reducer *reducer, Scalar a, Scalar b) {
  PrimitiveType type = reducer->type;
  if (type_is_floating(type) && reducer->opcode == HLO_MAXIMUM) return a.f < b.f ? b : a;
  if (type_is_floating(type) && reducer->opcode == HLO_MINIMUM) return b.f < a.f ? b : a;
  return scalar_binary_opcode(reducer->opcode, type, a, b);
}

static bool reduce_general(const Reducer *reducer, void *accumulator, const void *x, int64_t n) {
  PrimitiveType type = reducer->type;
  for (int64_t i = 0; i < n; i++) {
    Scalar pair[2] = {scalar_load(type, accumulator, i), scalar_load(type, x, i)}, value;
    if (!reducer->apply) {
      value = combine(reducer, pair[0], pair[1]);
    } else if (!eval_apply(reducer->apply, pair, &value)) {
      return false;
    }
    scalar_store(type, accumulator, i, value);
  }
  return true;
}

static void fill(PrimitiveType type, uint8_t *to, int64_t n, Scalar value) {
  size_t filled = (size_t)type_bytes(type), bytes = filled * (size_t)n;
  if (n > 0) scalar_store(type, to, 0, value);
  for (; filled < bytes; filled *= 2) { /* doubles the filled part */
    memcpy(to + filled, to, filled < bytes - filled ? filled : bytes - filled);
  }
}

/* Sets `to` to the reduction of `count` members' elements at `operands[m] + offset`. */
static bool reduce(const Reducer *reducer, uint8_t *to, uint8_t *const *operands, int count,
                   int64_t offset, int64_t n) {
  Scalar identity;
  int next = 0;
  if (has_identity(reducer, &identity)) {
    fill(reducer->type, to, n, identity);
  } else {
    memcpy(to, operands[next++] + offset, (size_t)(n * type_bytes(reducer->type)));
  }
  for (; next < count; next++) {
    const uint8_t *x = operands[next] + offset;
    if (reduce_fast(reducer, to, x, n)) continue;
    if (!reduce_general(reducer, to, x, n)) return false;
  }
  return true;
}

/* ---- One leaf of the results ---- */

/*
** The work of one collective, done by the member that arrives last. Operands and results are viewed as
** [outer, members, run], or as [outer, run] if a member has only one block. A run is contiguous bytes.
*/
typedef struct Meeting {
  const Thunk *thunk;
  Device *const *devices;
  int count, leaf;
  uint8_t **operands, **results; /* of the members */
  int64_t bytes;                 /* of one member's result */
  int64_t run;
  Reducer reducer;
  int64_t chunk; /* bytes of the members' concatenated results */
  atomic_bool failed;
  Error *error; /* of the first chunk that failed */
} Meeting;

/* Computes bytes [begin, end) of member `to`'s result. */
typedef bool Fill(Meeting *meeting, const Reducer *reducer, int to, int64_t begin, int64_t end);

static Reducer reducer_of(const Thunk *thunk, int leaf) {
  const Computation *computation = thunk->instruction->a->to_apply;
  return (Reducer){operand_shape(thunk, leaf)->type, computation,
                   computation_simple_binary(computation), NULL};
}

/* all-reduce: the result is the same for all members. */
static bool fill_all_reduce(Meeting *m, const Reducer *reducer, int to, int64_t begin,
                            int64_t end) {
  uint8_t *first = m->results[0] + begin;
  int64_t n = (end - begin) / type_bytes(reducer->type);
  if (!reduce(reducer, first, m->operands, m->count, begin, n)) return false;
  for (int i = 1; i < m->count; i++) memcpy(m->results[i] + begin, first, (size_t)(end - begin));
  return true;
}

static bool fill_reduce_scatter(Meeting *m, const Reducer *reducer, int to, int64_t begin,
                                int64_t end) {
  int width = type_bytes(reducer->type);
  for (int64_t at = begin, n; at < end; at += n) {
    int64_t outer = at / m->run, inner = at % m->run;
    n = m->run - inner < end - at ? m->run - inner : end - at;
    int64_t offset = (outer * m->count + to) * m->run + inner;
    if (!reduce(reducer, m->results[to] + at, m->operands, m->count, offset, n / width))
      return false;
  }
  return true;
}

/* all-gather and the array form of all-to-all: takes a run of each member in turn. */
static bool fill_blocks(Meeting *m, const Reducer *reducer, int to, int64_t begin, int64_t end) {
  bool gathers = m->thunk->instruction->opcode == HLO_ALL_GATHER;
  int64_t stride = gathers ? m->run : m->count * m->run, first = gathers ? 0 : to * m->run;
  int64_t outer = begin / m->run / m->count, inner = begin % m->run;
  int from = (int)(begin / m->run % m->count);
  for (int64_t at = begin, n; at < end; at += n, inner = 0) {
    n = m->run - inner < end - at ? m->run - inner : end - at;
    memcpy(m->results[to] + at, m->operands[from] + first + outer * stride + inner, (size_t)n);
    if (++from == m->count) from = 0, outer++;
  }
  return true;
}

/* Tuple form: one operand per member. */
static bool fill_all_to_all(Meeting *m, const Reducer *reducer, int to, int64_t begin,
                            int64_t end) {
  const uint8_t *x = operand_of(m->devices, m->leaf, to);
  memcpy(m->results[to] + begin, x + begin, (size_t)(end - begin));
  return true;
}

static bool fill_permuted(Meeting *m, const Reducer *reducer, int to, int64_t begin, int64_t end) {
  if (m->operands[to]) {
    memcpy(m->results[to] + begin, m->operands[to] + begin, (size_t)(end - begin));
  } else {
    memset(m->results[to] + begin, 0, (size_t)(end - begin));
  }
  return true;
}

static bool fill_broadcast(Meeting *m, const Reducer *reducer, int to, int64_t begin, int64_t end) {
  memcpy(m->results[to] + begin, m->operands[0] + begin, (size_t)(end - begin));
  return true;
}

/* The operands: input, output, input_offsets, send_sizes, output_offsets, recv_sizes. Offsets and sizes count rows
** (entries of dimension 0); each member has the same number of them. */
enum { INPUT, OUTPUT, INPUT_OFFSETS, SEND_SIZES, OUTPUT_OFFSETS };

typedef struct Entry {
  int64_t begin, rows, at;
} Entry;

static Entry entry_of(const Meeting *m, int from, int64_t i) {
  PrimitiveType type = operand_shape(m->thunk, INPUT_OFFSETS)->type;
  return (Entry){scalar_load(type, operand_of(m->devices, from, INPUT_OFFSETS), i).i,
                 scalar_load(type, operand_of(m->devices, from, SEND_SIZES), i).i,
                 scalar_load(type, operand_of(m->devices, from, OUTPUT_OFFSETS), i).i};
}

static bool fill_ragged(Meeting *m, const Reducer *reducer, int to, int64_t begin, int64_t end) {
  int64_t entries = shape_elements(operand_shape(m->thunk, INPUT_OFFSETS)) / m->count;
  memcpy(m->results[to] + begin, operand_of(m->devices, to, OUTPUT) + begin, (size_t)(end - begin));
  for (int from = 0; from < m->count; from++) {
    for (int64_t i = to * entries; i < (to + 1) * entries; i++) {
      Entry entry = entry_of(m, from, i);
      int64_t first = entry.at * m->run, last = first + entry.rows * m->run;
      int64_t shift = (entry.begin - entry.at) * m->run;
      if (first < begin) first = begin;
      if (last > end) last = end;
      if (first >= last) continue;
      memcpy(m->results[to] + first, m->operands[from] + first + shift, (size_t)(last - first));
    }
  }
  return true;
}

static bool check_ragged(const Meeting *m, Error *error) {
  int64_t entries = shape_elements(operand_shape(m->thunk, INPUT_OFFSETS));
  int64_t input = operand_shape(m->thunk, INPUT)->dims[0];
  int64_t output = operand_shape(m->thunk, OUTPUT)->dims[0];
  char name[DEVICE_NAME_SIZE];
  for (int from = 0; from < m->count; from++) {
    for (int64_t i = 0; i < entries; i++) {
      Entry e = entry_of(m, from, i);
      if (e.begin >= 0 && e.rows >= 0 && e.at >= 0 && e.begin <= input - e.rows &&
          e.at <= output - e.rows) {
        continue;
      }
      return invalid_argument(
          error, "ragged-all-to-all",
          "entry %lld of %s moves %lld rows from %lld to %lld, which "
          "is outside of the input's %lld or the output's %lld rows",
          (long long)i, mesh_device_name(m->devices[from]->run->mesh, m->devices[from]->id, name),
          (long long)e.rows, (long long)e.begin, (long long)e.at, (long long)input,
          (long long)output);
    }
  }
  return true;
}

/* ---- Chunks ---- */

/* The bytes of a run of `shape`, in blocks of `size` along `dimension`. */
static int64_t run_bytes(const Shape *shape, int64_t dimension, int64_t size) {
  int64_t bytes = size * type_bytes(shape->type);
  for (int d = (int)dimension + 1; d < shape->rank; d++) bytes *= shape->dims[d];
  return bytes;
}

static Fill *fill_of(const Thunk *thunk) {
  bool has_dimension = thunk->instruction->a->dimensions.count > 0;
  switch (thunk->instruction->opcode) {
  case HLO_ALL_REDUCE: return fill_all_reduce;
  case HLO_REDUCE_SCATTER: return fill_reduce_scatter;
  case HLO_ALL_GATHER: return fill_blocks;
  case HLO_ALL_TO_ALL: return has_dimension ? fill_blocks : fill_all_to_all;
  case HLO_COLLECTIVE_PERMUTE: return fill_permuted;
  case HLO_COLLECTIVE_BROADCAST: return fill_broadcast;
  default: return fill_ragged; /* ragged-all-to-all: passes have resolved starts and dones */
  }
}

static int64_t run_of(const Thunk *thunk, int leaf, int count) {
  const Instruction *instruction = thunk->instruction;
  if (instruction->opcode == HLO_RAGGED_ALL_TO_ALL) {
    return run_bytes(operand_shape(thunk, OUTPUT), 0, 1);
  }
  if (!instruction->a->dimensions.count) return 0;
  bool scatters = instruction->opcode == HLO_REDUCE_SCATTER;
  const Shape *shape = scatters ? shape_leaf(instruction->shape, leaf) : operand_shape(thunk, leaf);
  int64_t dimension = instruction->a->dimensions.items[0], size = shape->dims[dimension];
  if (instruction->opcode == HLO_ALL_TO_ALL) size /= count;
  return run_bytes(shape, dimension, size);
}

/* Returns the bytes of a chunk. A reduction's time is proportional to its pairs of elements. */
static int64_t chunk_bytes(const Meeting *m) {
  if (m->reducer.type == PRIMITIVE_TYPE_INVALID) return MOVED_BYTES;
  bool applies = m->reducer.opcode == OPCODE_COUNT;
  int64_t elements = (applies ? APPLIED_PAIRS : REDUCED_PAIRS) / m->count;
  if (elements > REDUCED_ELEMENTS) elements = REDUCED_ELEMENTS;
  return (elements ? elements : 1) * type_bytes(m->reducer.type);
}

/* Finds the members' operands. For permutations these are the sources' operands, or NULL. */
static void find_operands(Meeting *m) {
  PairList pairs = m->thunk->instruction->a->source_target_pairs;
  bool is_ragged = m->thunk->instruction->opcode == HLO_RAGGED_ALL_TO_ALL;
  Fill *fill = fill_of(m->thunk);
  int leaf = is_ragged ? INPUT : m->leaf;
  for (int i = 0; i < m->count; i++) {
    m->results[i] = result_of(m->devices, i, m->leaf);
    bool has_own = fill != fill_permuted && fill != fill_all_to_all;
    m->operands[i] = has_own ? operand_of(m->devices, i, leaf) : NULL;
  }
  for (int p = 0; p < pairs.count; p++) {
    m->operands[pairs.items[p].target] = operand_of(m->devices, (int)pairs.items[p].source, leaf);
  }
}

static Meeting meeting_of(const Thunk *thunk, Device *const *devices, int count, int leaf) {
  Arena *arena = devices[0]->scratch;
  Meeting m = {.thunk = thunk,
               .devices = devices,
               .count = count,
               .leaf = leaf,
               .operands = ARENA_ARRAY(arena, uint8_t *, count),
               .results = ARENA_ARRAY(arena, uint8_t *, count),
               .bytes = thunk->results[leaf]->bytes,
               .run = run_of(thunk, leaf, count)};
  find_operands(&m);
  if (thunk->instruction->a->to_apply) m.reducer = reducer_of(thunk, leaf);
  m.chunk = chunk_bytes(&m);
  return m;
}

/* Computes bytes [begin, end) of the members' concatenated results; all-reduce has one result for all. */
static bool fill_range(Meeting *m, const Reducer *reducer, int64_t begin, int64_t end) {
  Fill *fill = fill_of(m->thunk);
  for (int64_t n; begin < end; begin += n) {
    int64_t at = begin % m->bytes;
    n = m->bytes - at < end - begin ? m->bytes - at : end - begin;
    if (!fill(m, reducer, (int)(begin / m->bytes), at, at + n)) return false;
  }
  return true;
}

static int64_t all_bytes(const Meeting *m) {
  return m->thunk->instruction->opcode == HLO_ALL_REDUCE ? m->bytes : m->bytes * m->count;
}

static bool run_chunk(void *argument, int chunk) {
  Meeting *m = argument;
  int64_t begin = chunk * m->chunk, end = begin + m->chunk, all = all_bytes(m);
  if (end > all) end = all;
  Reducer reducer = m->reducer;
  Error error;
  int64_t steps = EVAL_STEPS_ALONE;
  EvalContext context = {.error = &error,
                         .cancelled = &m->devices[0]->run->failing,
                         .budget = scheduler_workers() ? NULL : &steps};
  bool ok = true;
  if (reducer.computation && reducer.opcode == OPCODE_COUNT) {
    context.arena = arena_new();
    reducer.apply = eval_apply_new(reducer.computation, &context);
    ok = reducer.apply != NULL;
  }
  ok = ok && fill_range(m, &reducer, begin, end);
  arena_free(context.arena);
  if (!ok && !atomic_exchange(&m->failed, true)) *m->error = error;
  return true;
}

void collective_stay_out(const Thunk *thunk, Device *device) {
  for (int leaf = 0; leaf < thunk->result_count; leaf++) {
    const LogicalBuffer *to = thunk->results[leaf];
    memset(device_pointer(device, to), 0, (size_t)to->bytes);
  }
}

/* The rest is checked when the program is compiled: compile/collective_check.c. */
static bool check(const Thunk *thunk, Device *const *devices, int count, Error *error) {
  const Meeting first = {.thunk = thunk, .devices = devices, .count = count};
  return thunk->instruction->opcode != HLO_RAGGED_ALL_TO_ALL || check_ragged(&first, error);
}

/* As collective_perform; the caller releases the scratch memory. */
static Outcome perform(const Thunk *thunk, Device *const *devices, int count, Frame *frame,
                       double deadline_us, Error *error) {
  bool begins = frame->phase == 0 && frame->chunk == 0;
  if (begins && !check(thunk, devices, count, error)) return OUTCOME_FAILED;
  for (; frame->phase < thunk->result_count; frame->phase++, frame->chunk = 0) {
    Meeting meeting = meeting_of(thunk, devices, count, frame->phase);
    meeting.error = error;
    ChunkLoop all = {.chunks = (int)divide_up(all_bytes(&meeting), meeting.chunk),
                     .body = run_chunk,
                     .argument = &meeting,
                     .stop = &devices[0]->run->failing,
                     .deadline_us = deadline_us};
    if (!parallel_for(&all, &frame->chunk, error)) {
      error_name_op(error, opcode_name(thunk->instruction->opcode));
      return OUTCOME_FAILED;
    }
    if (meeting.failed) return OUTCOME_FAILED;
    if (frame->chunk < all.chunks) return OUTCOME_YIELD;
  }
  return OUTCOME_DONE;
}

Outcome collective_perform(const Thunk *thunk, Device *const *devices, int count, Frame *frame,
                           double deadline_us, Error *error) {
  ArenaMark mark = arena_mark(devices[0]->scratch);
  Outcome outcome = perform(thunk, devices, count, frame, deadline_us, error);
  arena_release(devices[0]->scratch, mark);
  return outcome;
}
