/* Infers the shapes of transfers between host, devices and memories, and of custom calls, whose result is stated. */
#include <string.h>

#include "hlo/infer/inference_rules.h"

#include "base/min_max.h"
#include "hlo/ir/shard_calls.h"

static bool check_token(Inference *in, int index) {
  REQUIRE(in, shape_is_token(operand_shape(in, index)),
          "operand %d has shape %s; it must be a token", index, text_operand(in, index));
  return true;
}

/* A *-done belongs to its start, directly or through a tuple (as in a while loop's state). */
static bool check_started_by(Inference *in, Opcode start) {
  const Instruction *operand = in->instruction->operands[0];
  bool direct = operand->opcode == start;
  bool through_tuple =
      (start == HLO_SEND || start == HLO_RECV) && operand->opcode == HLO_GET_TUPLE_ELEMENT;
  REQUIRE(in, direct || through_tuple, "operand %s is a %s; it must be a %s", text_operand(in, 0),
          opcode_name(operand->opcode), opcode_name(start));
  if (!direct) return true;
  REQUIRE(in, in->a->channel_id == operand->a->channel_id,
          "channel_id=%lld, but its %s %s has channel_id=%lld; they must be the same",
          (long long)in->a->channel_id, opcode_name(start), text_operand(in, 0),
          (long long)operand->a->channel_id);
  REQUIRE(in, in->a->is_host_transfer == operand->a->is_host_transfer,
          "is_host_transfer differs from that of its %s %s; they must be the same",
          opcode_name(start), text_operand(in, 0));
  return true;
}

const Shape *infer_infeed(Inference *in) {
  if (!check_token(in, 0) || !check_stated(in, "it says what to read from the infeed")) return NULL;
  const Shape *result = in->stated;
  REQUIRE(in,
          shape_is_tuple(result) && result->tuple_size == 2 && shape_is_token(result->elements[1]),
          "result %s; it must be (infeed shape, token[])", text_shape(in, result));
  return result;
}

const Shape *infer_outfeed(Inference *in) {
  if (!check_token(in, 1)) return NULL;
  const Shape *shape = in->a->outfeed_shape;
  REQUIRE(in, !shape || shape_compatible(shape, operand_shape(in, 0)),
          "outfeed_shape=%s, but operand 0 has shape %s; they must be the same",
          text_shape(in, shape), text_operand(in, 0));
  return shape_token();
}

const Shape *infer_send(Inference *in) {
  if (!check_token(in, 1)) return NULL;
  const Shape *const elements[] = {operand_shape(in, 0), shape_scalar(U32), shape_token()};
  return shape_tuple(in->arena, 3, elements);
}

const Shape *infer_send_done(Inference *in) {
  return check_started_by(in, HLO_SEND) ? shape_token() : NULL;
}

const Shape *infer_recv(Inference *in) {
  if (!check_token(in, 0) || !check_stated(in, "it says what to receive")) return NULL;
  const Shape *result = in->stated;
  REQUIRE(in, shape_is_tuple(result) && result->tuple_size == 3,
          "result %s; it must be (received shape, u32[], token[])", text_shape(in, result));
  const Shape *const elements[] = {result->elements[0], shape_scalar(U32), shape_token()};
  return shape_tuple(in->arena, 3, elements);
}

const Shape *infer_recv_done(Inference *in) {
  if (!check_started_by(in, HLO_RECV)) return NULL;
  const Shape *operand = operand_shape(in, 0);
  REQUIRE(in, shape_is_tuple(operand) && operand->tuple_size == 3,
          "operand has shape %s; it must be (received shape, u32[], token[])", text_operand(in, 0));
  const Shape *const elements[] = {operand->elements[0], shape_token()};
  return shape_tuple(in->arena, 2, elements);
}

const Shape *infer_copy_start(Inference *in) {
  const Shape *const elements[] = {operand_shape(in, 0), operand_shape(in, 0), shape_scalar(U32)};
  return shape_tuple(in->arena, 3, elements);
}

const Shape *infer_copy_done(Inference *in) {
  const Shape *operand = operand_shape(in, 0);
  return check_started_by(in, HLO_COPY_START) ? operand->elements[0] : NULL;
}

/* Checks calls that convert between shards and whole arrays: their shardings must be valid and fit. */
static bool check_shard_call(Inference *in) {
  const Computation *parent = in->instruction->parent;
  if (!parent || shard_call_kind(in->instruction) == NO_SHARD_CALL) return true;
  if (shard_call_is_stated_later(in->instruction)) return true; /* executable.c checks it again */
  const char *problem;
  int64_t partitions = max_i64(parent->module->num_partitions, 1);
  bool good = shard_call_placements(in->arena, in->instruction, partitions, &problem) != NULL;
  return good || broken(in, "%s", problem);
}

static const char custom_partitioning[] = "CustomSPMDPartitioning";

const Shape *infer_custom_call(Inference *in) {
  if (!check_stated(in, "a custom call gives whatever it is declared to give")) return NULL;
  REQUIRE(in, in->a->custom_call_target && *in->a->custom_call_target,
          "custom_call_target is missing; it must name what to call");
  if (strcmp(in->a->custom_call_target, custom_partitioning) == 0) {
    unimplemented(
        in,
        "%s: the Python function that partitions it (custom_partitioning in JAX) is not part "
        "of the program; lower the program without it",
        custom_partitioning);
    return NULL;
  }
  if (!check_shard_call(in)) return NULL;
  ShapeList constraints = in->a->operand_layout_constraints;
  REQUIRE(in, constraints.count == 0 || constraints.count == in->operand_count,
          "operand_layout_constraints has %d shapes for %d operands; there must be one for each",
          constraints.count, in->operand_count);
  for (int i = 0; i < constraints.count; i++) {
    REQUIRE(in, shape_compatible(constraints.items[i], operand_shape(in, i)),
            "operand %d has shape %s, but operand_layout_constraints say %s; they must be "
            "compatible",
            i, text_operand(in, i), text_shape(in, constraints.items[i]));
  }
  return in->stated;
}
