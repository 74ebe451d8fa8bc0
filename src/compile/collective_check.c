#include "compile/collective_check.h"

typedef struct Check {
  const Instruction *instruction;
  int64_t members;  /* of the present group */
  const char *noun; /* the word for a member: "replica" */
  Arena *arena;     /* of the messages */
  Error *error;
} Check;

static const char *name_of(const Check *check) { return opcode_name(check->instruction->opcode); }
static const char *text(const Check *check, const Shape *shape) {
  return shape_str(check->arena, shape);
}

static const Shape *result_shape(const Check *check, int index) {
  const Shape *shape = check->instruction->shape;
  return shape_is_tuple(shape) ? shape->elements[index] : shape;
}

/* Checks that `large` equals `small` except in dimension `d`, where it is larger by the number of members. */
static bool check_parts(const Check *check, const Shape *large, const Shape *small, int64_t d,
                        int index) {
  int64_t whole;
  if (!__builtin_mul_overflow(small->dims[d], check->members, &whole) && whole == large->dims[d]) {
    return true;
  }
  const Instruction *instruction = check->instruction;
  return invalid_argument(
      check->error, name_of(check),
      "%s has operand %s and result %s, but its groups have %lld %ss: of %s and %s, dimension "
      "%lld of the larger must be %lld times that of the smaller; state the shape for that many, "
      "or "
      "other replica_groups",
      instruction->name, text(check, instruction->operands[index]->shape),
      text(check, result_shape(check, index)), (long long)check->members, check->noun,
      text(check, large), text(check, small), (long long)d, (long long)check->members);
}

static bool check_all_parts(const Check *check, bool grows) {
  const Instruction *instruction = check->instruction;
  int64_t d = instruction->a->dimensions.items[0];
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *operand = instruction->operands[i]->shape, *result = result_shape(check, i);
    if (!check_parts(check, grows ? result : operand, grows ? operand : result, d, i)) return false;
  }
  return true;
}

static bool check_all_to_all(const Check *check) {
  const Instruction *instruction = check->instruction;
  const Shape *operand = instruction->operands[0]->shape;
  if (instruction->a->dimensions.count) {
    int64_t d = instruction->a->dimensions.items[0];
    if (operand->dims[d] % check->members == 0) return true;
    return invalid_argument(check->error, name_of(check),
                            "split dimension %lld of operand %s of %s has size %lld, but its "
                            "groups have %lld %ss; the size must be divisible by that",
                            (long long)d, text(check, operand), instruction->name,
                            (long long)operand->dims[d], (long long)check->members, check->noun);
  }
  if (instruction->operand_count == check->members) return true;
  return invalid_argument(check->error, name_of(check),
                          "%s has %d operands like %s, but its groups have %lld %ss; there must "
                          "be one operand for each",
                          instruction->name, instruction->operand_count, text(check, operand),
                          (long long)check->members, check->noun);
}

static bool check_ragged_all_to_all(const Check *check) {
  const Shape *offsets = check->instruction->operands[2]->shape;
  int64_t entries = shape_elements(offsets);
  if (entries >= check->members && entries % check->members == 0) return true;
  return invalid_argument(check->error, name_of(check),
                          "offsets and sizes of %s have shape %s, %lld entries for groups of %lld "
                          "%ss; there must be as many entries for each",
                          check->instruction->name, text(check, offsets), (long long)entries,
                          (long long)check->members, check->noun);
}

static bool check_group(const Check *check) {
  switch (check->instruction->opcode) {
  case HLO_ALL_GATHER: return check_all_parts(check, true);
  case HLO_REDUCE_SCATTER: return check_all_parts(check, false);
  case HLO_ALL_TO_ALL: return check_all_to_all(check);
  case HLO_RAGGED_ALL_TO_ALL: return check_ragged_all_to_all(check);
  default: return true;
  }
}

static bool check_instruction(const Instruction *instruction, Mesh mesh, Arena *arena,
                              Error *error) {
  ArenaMark mark = arena_mark(arena);
  const DeviceGroups *groups = device_groups_resolve(arena, instruction, mesh, error);
  bool right = groups != NULL;
  GroupMode mode = collective_group_mode(instruction->opcode, instruction->a);
  const char *noun =
      mode == CROSS_REPLICA_AND_PARTITION && mesh.partitions > 1 ? "device" : group_mode_noun(mode);
  for (int g = 0; right && g < groups->count; g++) {
    Check check = {instruction, groups->groups[g].size, noun, arena, error};
    if (g > 0 && groups->groups[g].size == groups->groups[g - 1].size) continue;
    right = check_group(&check);
  }
  arena_release(arena, mark);
  return right;
}

bool collectives_check(const Module *module, Mesh mesh, Error *error) {
  Arena *arena = arena_new();
  bool right = true;
  for (int i = 0; right && i < module->count; i++) {
    const Computation *computation = module->computations[i];
    for (int k = 0; right && k < computation->count; k++) {
      const Instruction *instruction = computation->instructions[k];
      if (opcode_category(instruction->opcode) != COLLECTIVE) continue;
      right = check_instruction(instruction, mesh, arena, error);
    }
  }
  arena_free(arena);
  return right;
}
