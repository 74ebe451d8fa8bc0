#include "compile/program.h"

#include "base/host/platform.h"

ThunkSequence *thunk_sequence(const Thunk *thunk, int i) {
  switch (thunk->kind) {
  case THUNK_WHILE: return i == 0 ? thunk->condition : i == 1 ? thunk->body : NULL;
  case THUNK_CONDITIONAL: return i < thunk->branch_count ? &thunk->branches[i] : NULL;
  default: return i == 0 && thunk_has_steps(thunk) ? thunk->steps : NULL;
  }
}

static int64_t leaf_bytes(const Shape *shape) {
  return shape_is_token(shape) ? 0 : shape_packed_bytes(shape);
}

bool slot_lends(const Program *program, int slot, RunKind kind) {
  bool is_result = slot >= first_result_slot(program);
  return kind == (is_result ? RUN_NONE_DONATED : RUN_ALL_DONATED);
}

static int64_t temporaries_of(const Program *program, RunKind kind) {
  int64_t end = program->arena_bytes;
  for (int i = 0; i < program->loan_count; i++) {
    const Loan *loan = &program->loans[i];
    if (loan->end > end && !slot_lends(program, loan->lender, kind)) end = loan->end;
  }
  return end + program->list_bytes;
}

ProgramMemory program_memory(const Program *program) {
  ProgramMemory memory = {.temporaries = temporaries_of(program, RUN_NONE_DONATED),
                          .temporaries_given = temporaries_of(program, RUN_ALL_DONATED),
                          .constants = program->constant_bytes,
                          .generated_code = program->code_bytes};
  for (int p = 0; p < program->parameter_leaves; p++) {
    memory.arguments += leaf_bytes(program->parameter_shapes[p]);
  }
  for (int r = 0; r < program->result_leaves; r++) {
    int64_t bytes = leaf_bytes(program->result_shapes[r]);
    memory.results += bytes;
    if (program->donors[r] >= 0) memory.aliases += bytes;
  }
  return memory;
}

const Shape *thunk_operand_shape(const Thunk *thunk, int leaf) {
  const Instruction *x = thunk->instruction;
  for (int i = 0; i < x->operand_count; i++) {
    int leaves = shape_leaves(x->operands[i]->shape);
    if (leaf < leaves) return shape_leaf(x->operands[i]->shape, leaf);
    leaf -= leaves;
  }
  return NULL;
}

void program_free(Program *program) {
  if (program->generated_module) platform_module_release(program->generated_module);
  module_free(program->module);
}
