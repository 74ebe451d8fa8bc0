/* Infers the shape of scan; scan.h defines the operation. */
#include "hlo/infer/inference_rules.h"
#include "hlo/ir/scan.h"

/* Returns the shape of an array without the scan dimension: an element for to_apply. */
static const Shape *element_shape(Inference *in, const Shape *shape, int64_t dimension) {
  Dims dims = {0};
  for (int d = 0; d < shape->rank; d++) {
    if (d != dimension) dims_push(in, &dims, shape->dims[d], dimension_is_dynamic(shape, d));
  }
  return dims_shape(in, shape->type, &dims);
}

/* The opposite: as many elements as there are steps, side by side. */
static const Shape *stacked_shape(Inference *in, const Shape *element, int64_t dimension,
                                  int64_t length) {
  Dims dims = {0};
  for (int d = 0; d <= element->rank; d++) {
    int from = d > dimension ? d - 1 : d;
    bool pushed = d == dimension ? dims_push(in, &dims, length, false)
                                 : dims_push(in, &dims, element->dims[from],
                                             dimension_is_dynamic(element, from));
    if (!pushed) return NULL;
  }
  return dims_shape(in, element->type, &dims);
}

static bool check_counts(Inference *in) {
  const Computation *c = in->a->to_apply;
  int64_t carries = in->a->num_carries;
  REQUIRE(in, in->a->dimensions.count == 1, "dimensions=%s; exactly one dimension is scanned",
          text_list(in, in->a->dimensions));
  REQUIRE(in, in->a->dimensions.items[0] >= 0, "dimensions=%s; it must not be negative",
          text_list(in, in->a->dimensions));
  REQUIRE(in, carries >= 0 && carries <= in->operand_count,
          "num_carries=%lld with %d operands; there must be at least as many operands as carries",
          (long long)carries, in->operand_count);
  if (!check_computation(in, "to_apply", c)) return false;
  REQUIRE(in, c->parameter_count == in->operand_count,
          "to_apply=%%%s takes %d parameters for %d operands; it must take one for each", c->name,
          c->parameter_count, in->operand_count);
  int results = scan_result_count(computation_result_shape(c));
  REQUIRE(in, results >= carries,
          "to_apply=%%%s returns %s, %d results for %lld carries; it must return them all", c->name,
          text_shape(in, computation_result_shape(c)), results, (long long)carries);
  return true;
}

/* `stacked`: the array number `index` of `what`, walked or made by the steps. */
static bool check_stacked(Inference *in, const char *what, int index, const Shape *stacked,
                          int64_t *length) {
  int64_t d = in->a->dimensions.items[0];
  REQUIRE(in, shape_is_array(stacked), "%s %d has shape %s; it must be an array", what, index,
          text_shape(in, stacked));
  REQUIRE(in, d < stacked->rank,
          "dimensions={%lld} is out of range for %s %d of shape %s; it must be in [0, %d)",
          (long long)d, what, index, text_shape(in, stacked), stacked->rank);
  REQUIRE(in, *length < 0 || *length == stacked->dims[d],
          "dimension %lld of %s %d of shape %s has size %lld; it must be %lld, the number of steps",
          (long long)d, what, index, text_shape(in, stacked), (long long)stacked->dims[d],
          (long long)*length);
  *length = stacked->dims[d];
  return true;
}

static bool check_inputs(Inference *in, int inputs, int64_t *length) {
  const Computation *c = in->a->to_apply;
  for (int i = 0; i < inputs; i++) {
    if (!check_stacked(in, "input", i, operand_shape(in, i), length)) return false;
    const Shape *element = element_shape(in, operand_shape(in, i), in->a->dimensions.items[0]);
    const Shape *parameter = c->parameters[i]->shape;
    REQUIRE(in, element && shape_compatible(element, parameter),
            "parameter %d of to_apply=%%%s has shape %s; it must be %s, an element of input %s", i,
            c->name, text_shape(in, parameter), text_shape(in, element), text_operand(in, i));
  }
  return true;
}

static bool check_carries(Inference *in, int inputs, int outputs) {
  const Computation *c = in->a->to_apply;
  for (int i = 0; inputs + i < in->operand_count; i++) {
    const Shape *init = operand_shape(in, inputs + i);
    const Shape *parameter = c->parameters[inputs + i]->shape;
    const Shape *next = scan_result(computation_result_shape(c), outputs + i);
    REQUIRE(in, shape_compatible(init, parameter),
            "parameter %d of to_apply=%%%s has shape %s; it must be %s, as the initial carry is",
            inputs + i, c->name, text_shape(in, parameter), text_shape(in, init));
    REQUIRE(in, shape_compatible(init, next),
            "result %d of to_apply=%%%s has shape %s; it must be %s, as the initial carry is: "
            "outputs come "
            "first, carries after them, in parameters and results",
            outputs + i, c->name, text_shape(in, next), text_shape(in, init));
  }
  return true;
}

/* With nothing to walk, only the stated shape can say how many steps there are. */
static bool length_without_inputs(Inference *in, int outputs, int64_t *length) {
  REQUIRE(in, outputs > 0, "it has neither inputs nor outputs to say how many steps there are");
  if (!check_stated(in, "without inputs, it says how many steps there are")) return false;
  bool fits = scan_result_count(in->stated) == outputs + in->a->num_carries;
  REQUIRE(in, fits, "the stated shape %s does not have %d outputs and %lld carries",
          text_shape(in, in->stated), outputs, (long long)in->a->num_carries);
  return check_stacked(in, "output", 0, scan_result(in->stated, 0), length);
}

static const Shape *output_shape(Inference *in, int index, int64_t length) {
  const Computation *c = in->a->to_apply;
  int64_t d = in->a->dimensions.items[0];
  const Shape *element = scan_result(computation_result_shape(c), index);
  REQUIRE(in, shape_is_array(element),
          "result %d of to_apply=%%%s has shape %s; an output must be made of arrays", index,
          c->name, text_shape(in, element));
  REQUIRE(in, d <= element->rank,
          "dimensions={%lld}, but result %d of to_apply=%%%s has shape %s; the output would not "
          "have that dimension",
          (long long)d, index, c->name, text_shape(in, element));
  return stacked_shape(in, element, d, length);
}

const Shape *infer_scan(Inference *in) {
  if (!check_counts(in)) return NULL;
  const Shape *root = computation_result_shape(in->a->to_apply);
  int count = scan_result_count(root), carries = (int)in->a->num_carries;
  int inputs = in->operand_count - carries, outputs = count - carries;
  int64_t length = -1;
  if (!check_inputs(in, inputs, &length) || !check_carries(in, inputs, outputs)) return NULL;
  if (inputs == 0 && !length_without_inputs(in, outputs, &length)) return NULL;
  const Shape **shapes = ARENA_ARRAY(in->arena, const Shape *, count);
  for (int i = 0; i < count; i++) {
    bool carry = i >= outputs;
    shapes[i] = carry ? operand_shape(in, inputs + i - outputs) : output_shape(in, i, length);
    if (!shapes[i]) return NULL;
  }
  bool tuple = shape_is_tuple(in->stated ? in->stated : root);
  return count == 1 && !tuple ? shapes[0] : shape_tuple(in->arena, count, shapes);
}
