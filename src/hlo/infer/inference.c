#include "hlo/infer/inference.h"

#include "hlo/infer/inference_rules.h"

static InferenceRule *const rules[OPCODE_COUNT] = {
#define OPCODE(name, text, arity, category, attributes, inference, ...) infer_##inference,
#include "hlo/ir/opcodes.def"
#undef OPCODE
};

static bool check_arity(Inference *in) {
  int arity = opcode_rows[in->instruction->opcode].arity;
  REQUIRE(in, arity == VARIADIC || arity == in->operand_count, "%d operands are given; it takes %d",
          in->operand_count, arity);
  return true;
}

static const Shape *infer(Inference *in) {
  for (int i = 0; i < in->operand_count; i++) {
    const Instruction *operand = in->instruction->operands[i];
    if (!operand || !operand->shape) {
      return invalid_argument(in->error, opcode_name(in->instruction->opcode),
                              "operand %d is missing", i),
             NULL;
    }
  }
  InferenceRule *rule = rules[in->instruction->opcode];
  if (!rule) return unimplemented(in, "it has no shape inference rule"), NULL;
  return check_arity(in) ? rule(in) : NULL;
}

static Inference inference_of(Arena *arena, const Instruction *instruction, Error *error) {
  return (Inference){
      arena, instruction, instruction->a, instruction->shape, instruction->operand_count, error};
}

const Shape *infer_shape(Arena *arena, const Instruction *instruction, Error *error) {
  Inference in = inference_of(arena, instruction, error);
  return infer(&in);
}

const Shape *infer_checked_shape(Arena *arena, const Instruction *instruction, Error *error) {
  Inference in = inference_of(arena, instruction, error);
  const Shape *shape = infer(&in);
  if (!shape) return NULL;
  bool is_outer = instruction->opcode == HLO_DOT && !instruction->a->lhs_contracting_dims.count;
  REQUIRE(&in, !in.stated || shape_compatible(in.stated, shape),
          "the stated shape is %s, but the inferred shape is %s; they must be compatible%s",
          text_shape(&in, in.stated), text_shape(&in, shape),
          is_outer ? "; lhs_contracting_dims is missing" : "");
  return shape;
}
