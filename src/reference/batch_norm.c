/*
** Evaluates batch-norm-training, -inference and -grad.
**
** An array is viewed as [outer, feature, inner]. Everything is computed in double and rounded once;
** XLA:CPU computes in the element type.
*/
#include <math.h>

#include "reference/eval.h"

typedef struct Layers {
  PrimitiveType type;
  int64_t outer, features, inner;
  double count;   /* elements of a feature */
  double epsilon; /* a float in XLA, for any element type */
} Layers;

static Layers layers_of(const Instruction *instruction, const Shape *shape) {
  Layers l = {.type = shape->type, .outer = 1, .features = 1, .inner = 1};
  int64_t feature = instruction->a->feature_index;
  for (int d = 0; d < shape->rank; d++) {
    if (d < feature) l.outer *= shape->dims[d];
    if (d == feature) l.features = shape->dims[d];
    if (d > feature) l.inner *= shape->dims[d];
  }
  l.count = (double)(l.outer * l.inner);
  l.epsilon = (double)(float)instruction->a->epsilon;
  return l;
}

static double load(const Literal *literal, int64_t index) {
  return scalar_load(literal->shape->type, literal->data, index).f;
}

static void store(Literal *literal, int64_t index, double value) {
  scalar_store(literal->shape->type, literal->data, index, (Scalar){.f = value});
}

/* Loops over the elements of one feature; `at` is the element's position. */
#define FOR_FEATURE(l, feature, at)                                                              \
  for (int64_t outer_ = 0; outer_ < (l)->outer; outer_++)                                        \
    for (int64_t at = (outer_ * (l)->features + (feature)) * (l)->inner, end_ = at + (l)->inner; \
         at < end_; at++)

/* to = (from - mean) / sqrt(variance + epsilon) * scale + offset */
static void normalize(const Layers *l, int64_t feature, const Literal *from, double mean,
                      double variance, double scale, double offset, Literal *to) {
  double factor = scale / sqrt(variance + l->epsilon);
  FOR_FEATURE(l, feature, at) { store(to, at, (load(from, at) - mean) * factor + offset); }
}

static void training(const Layers *l, Literal *const *operands, Literal *result) {
  const Literal *x = operands[0], *scale = operands[1], *offset = operands[2];
  for (int64_t f = 0; f < l->features; f++) {
    double sum = 0, squares = 0;
    FOR_FEATURE(l, f, at) { sum += load(x, at); }
    double mean = sum / l->count;
    FOR_FEATURE(l, f, at) {
      double distance = load(x, at) - mean;
      squares += distance * distance;
    }
    double variance = squares / l->count;
    normalize(l, f, x, mean, variance, load(scale, f), load(offset, f), result->elements[0]);
    store(result->elements[1], f, mean);
    store(result->elements[2], f, variance);
  }
}

static void inference(const Layers *l, Literal *const *operands, Literal *result) {
  for (int64_t f = 0; f < l->features; f++) {
    normalize(l, f, operands[0], load(operands[3], f), load(operands[4], f), load(operands[1], f),
              load(operands[2], f), result);
  }
}

/*
** With n elements, s = 1 / sqrt(variance + epsilon) and sums over the feature:
**   grad offset  = sum(dy)
**   grad scale   = sum(dy (x - mean)) s
**   grad operand = scale s (dy - sum(dy) / n - (x - mean) s^2 sum(dy (x - mean)) / n)
*/
static void gradient(const Layers *l, Literal *const *operands, Literal *result) {
  const Literal *x = operands[0], *dy = operands[4];
  for (int64_t f = 0; f < l->features; f++) {
    double scale = load(operands[1], f), mean = load(operands[2], f);
    double s = 1 / sqrt(load(operands[3], f) + l->epsilon), sum = 0, product = 0;
    FOR_FEATURE(l, f, at) {
      sum += load(dy, at);
      product += load(dy, at) * (load(x, at) - mean);
    }
    FOR_FEATURE(l, f, at) {
      double rest = sum / l->count + (load(x, at) - mean) * s * s * product / l->count;
      store(result->elements[0], at, scale * s * (load(dy, at) - rest));
    }
    store(result->elements[1], f, product * s);
    store(result->elements[2], f, sum);
  }
}

bool eval_batch_norm(const Instruction *instruction, Literal *const *operands, Literal *result,
                     EvalContext *context) {
  Layers l = layers_of(instruction, operands[0]->shape);
  switch (instruction->opcode) {
  case HLO_BATCH_NORM_TRAINING: training(&l, operands, result); break;
  case HLO_BATCH_NORM_INFERENCE: inference(&l, operands, result); break;
  default: gradient(&l, operands, result); break;
  }
  return true;
}
