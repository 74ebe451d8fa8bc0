/*
** What the collectives compute, once all members of a group have arrived. `replicas` are in group
** order, and so is every reduction: ((r0 op r1) op r2) ..., element by element, whoever does it.
*/
#include <string.h>

#include "eval/eval.h"
#include "runtime/parallel.h"
#include "runtime/run.h"
#include "scalar/scalar_math.h"

enum { CHUNK_ELEMENTS = 4096 };

/* Members that meet on a channel may come from different places, with buffers of their own. */
static uint8_t *operand_of(Replica *const *replicas, int member, int leaf) {
  return replica_pointer(replicas[member], replicas[member]->parked_at->operands[leaf]);
}

/* A buffer may have been made for another shape, of which this operand is a reshape or a bitcast. */
static const Shape *operand_shape(const Thunk *thunk, int leaf) {
  return thunk->instruction->operands[leaf]->shape;
}

static uint8_t *result_of(Replica *const *replicas, int member, int leaf) {
  return replica_pointer(replicas[member], replicas[member]->parked_at->results[leaf]);
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
  Opcode opcode; /* OPCODE_COUNT: run the computation */
} Reducer;

static bool has_identity(const Reducer *reducer, Scalar *identity) {
  *identity = (Scalar){0};
  switch (reducer->opcode) {
  case HLO_ADD: return true;
  case HLO_MULTIPLY: *identity = scalar_one(reducer->type); return true;
  case HLO_MAXIMUM: *identity = scalar_lowest(reducer->type); return true;
  case HLO_MINIMUM: *identity = scalar_highest(reducer->type); return true;
  default: return false;
  }
}

/* Sums of the common types; anything else takes the general way. */
#define SUM_LOOP(ctype)                           \
  {                                               \
    ctype *restrict a = (ctype *)accumulator;     \
    const ctype *restrict b = (const ctype *)x;   \
    for (int64_t i = 0; i < n; i++) a[i] += b[i]; \
    return true;                                  \
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

static bool reduce_general(const Reducer *reducer, void *accumulator, const void *x, int64_t n,
                           Error *error) {
  PrimitiveType type = reducer->type;
  Arena *arena = NULL;
  EvalApply *apply = NULL;
  EvalContext context = {.error = error};
  if (reducer->opcode == OPCODE_COUNT) {
    context.arena = arena = arena_new();
    apply = eval_apply_new(reducer->computation, &context);
    if (!apply) {
      arena_free(arena);
      return false;
    }
  }
  bool ok = true;
  for (int64_t i = 0; ok && i < n; i++) {
    Scalar pair[2] = {scalar_load(type, accumulator, i), scalar_load(type, x, i)}, value;
    if (apply) {
      ok = eval_apply(apply, pair, &value);
    } else {
      value = combine(reducer, pair[0], pair[1]);
    }
    if (ok) scalar_store(type, accumulator, i, value);
  }
  arena_free(arena);
  return ok;
}

static void fill(PrimitiveType type, uint8_t *to, int64_t n, Scalar value) {
  size_t filled = (size_t)type_bytes(type), bytes = filled * (size_t)n;
  if (n > 0) scalar_store(type, to, 0, value);
  for (; filled < bytes; filled *= 2) { /* what is there, again behind it */
    memcpy(to + filled, to, filled < bytes - filled ? filled : bytes - filled);
  }
}

/* `to` = the reduction of `count` members' elements at `operands[m] + offset`. */
static bool reduce(const Reducer *reducer, uint8_t *to, uint8_t *const *operands, int count,
                   int64_t offset, int64_t n, Error *error) {
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
    if (!reduce_general(reducer, to, x, n, error)) return false;
  }
  return true;
}

/* The members' operands of one leaf; in the arena of the run that is at work. */
static uint8_t **operands_of(Replica *const *replicas, int count, int leaf) {
  uint8_t **operands = ARENA_ARRAY(replicas[0]->scratch, uint8_t *, count);
  for (int m = 0; m < count; m++) operands[m] = operand_of(replicas, m, leaf);
  return operands;
}

/* ---- all-reduce ---- */

typedef struct AllReduce {
  const Thunk *thunk;
  Replica *const *replicas;
  int count, leaf;
  uint8_t **operands;
  Reducer reducer;
  int64_t elements;
  bool failed;
  Error *error;
} AllReduce;

static bool all_reduce_chunk(void *argument, int chunk) {
  AllReduce *work = argument;
  int width = type_bytes(work->reducer.type);
  int64_t begin = (int64_t)chunk * CHUNK_ELEMENTS, n = work->elements - begin;
  if (n > CHUNK_ELEMENTS) n = CHUNK_ELEMENTS;
  int64_t offset = begin * width;
  uint8_t *first = result_of(work->replicas, 0, work->leaf) + offset;
  if (!reduce(&work->reducer, first, work->operands, work->count, offset, n, work->error)) {
    work->failed = true;
  }
  for (int m = 1; m < work->count; m++) {
    memcpy(result_of(work->replicas, m, work->leaf) + offset, first, (size_t)(n * width));
  }
  return true;
}

static Reducer reducer_of(const Thunk *thunk, int leaf) {
  const Computation *computation = thunk->instruction->a.to_apply;
  return (Reducer){operand_shape(thunk, leaf)->type, computation,
                   computation_simple_binary(computation)};
}

static bool all_reduce(const Thunk *thunk, Replica *const *replicas, int count, Error *error) {
  for (int leaf = 0; leaf < thunk->operand_count; leaf++) {
    AllReduce work = {
        .thunk = thunk,
        .replicas = replicas,
        .count = count,
        .leaf = leaf,
        .operands = operands_of(replicas, count, leaf),
        .reducer = reducer_of(thunk, leaf),
        .elements = shape_elements(operand_shape(thunk, leaf)),
        .error = error,
    };
    ChunkLoop all = {.chunks = (int)((work.elements + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS),
                     .body = all_reduce_chunk,
                     .argument = &work,
                     .stop = &replicas[0]->run->failing};
    int next = 0;
    if (!parallel_for(&all, &next, error)) {
      return error_name_op(error, "all-reduce");
    }
    if (work.failed) return false;
  }
  return true;
}

/* ---- Block movement along one dimension ---- */

/* An array seen as [outer, size of the dimension, inner bytes]. */
typedef struct Blocks {
  int64_t outer, size, inner;
} Blocks;

static Blocks blocks_of(const Shape *shape, int64_t dimension) {
  Blocks b = {1, shape->dims[dimension], type_bytes(shape->type)};
  for (int d = 0; d < dimension; d++) b.outer *= shape->dims[d];
  for (int d = (int)dimension + 1; d < shape->rank; d++) b.inner *= shape->dims[d];
  return b;
}

static bool all_gather(const Thunk *thunk, Replica *const *replicas, int count, Error *error) {
  int64_t dimension = thunk->instruction->a.dimensions.items[0];
  for (int leaf = 0; leaf < thunk->operand_count; leaf++) {
    Blocks b = blocks_of(operand_shape(thunk, leaf), dimension);
    int64_t run = b.size * b.inner;
    for (int to = 0; to < count; to++) {
      uint8_t *result = result_of(replicas, to, leaf);
      for (int64_t o = 0; o < b.outer; o++) {
        for (int from = 0; from < count; from++, result += run) {
          memcpy(result, operand_of(replicas, from, leaf) + o * run, (size_t)run);
        }
      }
    }
  }
  return true;
}

static bool reduce_scatter(const Thunk *thunk, Replica *const *replicas, int count, Error *error) {
  int64_t dimension = thunk->instruction->a.dimensions.items[0];
  for (int leaf = 0; leaf < thunk->operand_count; leaf++) {
    Reducer reducer = reducer_of(thunk, leaf);
    Blocks b = blocks_of(shape_leaf(thunk->instruction->shape, leaf), dimension);
    int64_t run = b.size * b.inner, elements = run / type_bytes(reducer.type);
    uint8_t **operands = operands_of(replicas, count, leaf);
    for (int to = 0; to < count; to++) {
      uint8_t *result = result_of(replicas, to, leaf);
      for (int64_t o = 0; o < b.outer; o++, result += run) {
        int64_t offset = (o * count + to) * run;
        if (!reduce(&reducer, result, operands, count, offset, elements, error)) return false;
      }
    }
  }
  return true;
}

/* Array form: the operand's dimension is cut into one block per member. */
static void all_to_all_array(const Thunk *thunk, Replica *const *replicas, int count) {
  Blocks b = blocks_of(operand_shape(thunk, 0), thunk->instruction->a.dimensions.items[0]);
  int64_t run = b.size / count * b.inner;
  for (int to = 0; to < count; to++) {
    uint8_t *result = result_of(replicas, to, 0);
    for (int64_t o = 0; o < b.outer; o++) {
      for (int from = 0; from < count; from++, result += run) {
        const uint8_t *x = operand_of(replicas, from, 0);
        memcpy(result, x + (o * count + to) * run, (size_t)run);
      }
    }
  }
}

/* Tuple form: one operand per member. */
static bool all_to_all(const Thunk *thunk, Replica *const *replicas, int count, Error *error) {
  if (thunk->instruction->a.dimensions.count) {
    all_to_all_array(thunk, replicas, count);
    return true;
  }
  if (thunk->operand_count != count) {
    return invalid_argument(error, "all-to-all",
                            "%d operands for a group of %d replicas; there "
                            "must be one operand per replica",
                            thunk->operand_count, count);
  }
  for (int to = 0; to < count; to++) {
    for (int from = 0; from < count; from++) {
      memcpy(result_of(replicas, to, from), operand_of(replicas, from, to),
             (size_t)thunk->operands[to]->bytes);
    }
  }
  return true;
}

static bool collective_permute(const Thunk *thunk, Replica *const *replicas, int count,
                               Error *error) {
  PairList pairs = thunk->instruction->a.source_target_pairs;
  for (int leaf = 0; leaf < thunk->result_count; leaf++) {
    size_t bytes = (size_t)thunk->results[leaf]->bytes;
    for (int m = 0; m < count; m++) memset(result_of(replicas, m, leaf), 0, bytes);
    for (int p = 0; p < pairs.count; p++) {
      int64_t source = pairs.items[p].source, target = pairs.items[p].target;
      memcpy(result_of(replicas, (int)target, leaf), operand_of(replicas, (int)source, leaf),
             bytes);
    }
  }
  return true;
}

static bool collective_broadcast(const Thunk *thunk, Replica *const *replicas, int count,
                                 Error *error) {
  for (int leaf = 0; leaf < thunk->result_count; leaf++) {
    for (int m = 0; m < count; m++) {
      memcpy(result_of(replicas, m, leaf), operand_of(replicas, 0, leaf),
             (size_t)thunk->results[leaf]->bytes);
    }
  }
  return true;
}

/* Operands: input, output, input_offsets, send_sizes, output_offsets, recv_sizes; offsets and sizes
** count rows (entries of dimension 0), `per_member` of them for each member. */
static bool ragged_all_to_all(const Thunk *thunk, Replica *const *replicas, int count,
                              Error *error) {
  enum { INPUT, OUTPUT, INPUT_OFFSETS, SEND_SIZES, OUTPUT_OFFSETS };
  const Shape *input = operand_shape(thunk, INPUT), *output = operand_shape(thunk, OUTPUT);
  PrimitiveType type = operand_shape(thunk, INPUT_OFFSETS)->type;
  Blocks row = blocks_of(output, 0);
  int64_t entries = shape_elements(operand_shape(thunk, INPUT_OFFSETS));
  for (int m = 0; m < count; m++) {
    memcpy(result_of(replicas, m, 0), operand_of(replicas, m, OUTPUT),
           (size_t)thunk->operands[OUTPUT]->bytes);
  }
  char name[DEVICE_NAME_SIZE];
  for (int from = 0; from < count; from++) {
    for (int64_t e = 0; e < entries; e++) {
      int64_t begin = scalar_load(type, operand_of(replicas, from, INPUT_OFFSETS), e).i;
      int64_t rows = scalar_load(type, operand_of(replicas, from, SEND_SIZES), e).i;
      int64_t at = scalar_load(type, operand_of(replicas, from, OUTPUT_OFFSETS), e).i;
      if (begin < 0 || rows < 0 || at < 0 || begin > input->dims[0] - rows ||
          at > output->dims[0] - rows) {
        return invalid_argument(
            error, "ragged-all-to-all",
            "entry %lld of %s moves %lld rows from %lld to %lld, which "
            "is outside of the input's %lld or the output's %lld rows",
            (long long)e, mesh_device_name(replicas[from]->run->mesh, replicas[from]->id, name),
            (long long)rows, (long long)begin, (long long)at, (long long)input->dims[0],
            (long long)output->dims[0]);
      }
      int to = (int)(e / (entries / count));
      memcpy(result_of(replicas, to, 0) + at * row.inner,
             operand_of(replicas, from, INPUT) + begin * row.inner, (size_t)(rows * row.inner));
    }
  }
  return true;
}

static bool perform(const Thunk *thunk, Replica *const *replicas, int count, Error *error) {
  switch (thunk->instruction->opcode) {
  case HLO_ALL_REDUCE: return all_reduce(thunk, replicas, count, error);
  case HLO_ALL_GATHER: return all_gather(thunk, replicas, count, error);
  case HLO_REDUCE_SCATTER: return reduce_scatter(thunk, replicas, count, error);
  case HLO_ALL_TO_ALL: return all_to_all(thunk, replicas, count, error);
  case HLO_COLLECTIVE_PERMUTE: return collective_permute(thunk, replicas, count, error);
  case HLO_COLLECTIVE_BROADCAST: return collective_broadcast(thunk, replicas, count, error);
  case HLO_RAGGED_ALL_TO_ALL: return ragged_all_to_all(thunk, replicas, count, error);
  default:
    return error_set_op(error, STATUS_UNIMPLEMENTED, opcode_name(thunk->instruction->opcode),
                        "this form is resolved by a pass, and should not get here");
  }
}

void collective_stay_out(const Thunk *thunk, Replica *replica) {
  for (int leaf = 0; leaf < thunk->result_count; leaf++) {
    const LogicalBuffer *to = thunk->results[leaf];
    memset(replica_pointer(replica, to), 0, (size_t)to->bytes);
  }
}

bool collective_perform(const Thunk *thunk, Replica *const *replicas, int count, Error *error) {
  ArenaMark mark = arena_mark(replicas[0]->scratch);
  bool ok = perform(thunk, replicas, count, error);
  arena_release(replicas[0]->scratch, mark);
  return ok;
}
