#include "rewrite/base/users.h"

#include "hlo/ir/shorthand.h"

Users find_users(Arena *arena, Computation *computation) {
  int n = computation->count;
  Users users = {ARENA_ARRAY(arena, int, n), ARENA_ARRAY(arena, Instruction **, n)};
  computation_renumber(computation);
  for (int pass = 0; pass < 2; pass++) { /* count, then fill */
    for (int i = 0; i < n; i++) {
      Instruction *user = computation->instructions[i];
      for (int k = 0; k < user->operand_count; k++) {
        int operand = user->operands[k]->id;
        if (pass == 1) users.lists[operand][users.count[operand]] = user;
        users.count[operand]++;
      }
    }
    for (int i = 0; pass == 0 && i < n; i++) {
      users.lists[i] = ARENA_ARRAY(arena, Instruction *, users.count[i]);
      users.count[i] = 0;
    }
  }
  return users;
}

bool is_element_of(const Instruction *x, const Instruction *tuple) {
  return x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0] == tuple;
}

bool has_only_elements(const Instruction *tuple) {
  const Computation *computation = tuple->parent;
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    if (x->a->control_predecessors.count) return false;
    for (int k = 0; k < x->operand_count; k++) {
      if (x->operands[k] == tuple && !is_element_of(x, tuple)) return false;
    }
  }
  return computation->root != tuple;
}

void renumber_element(Instruction *element, const int *number) {
  int now = number[element->a->tuple_index];
  if (now != element->a->tuple_index) instruction_attributes(element)->tuple_index = now;
}

void renumber_elements(const Instruction *tuple, const int *number) {
  for (int i = 0; i < tuple->parent->count; i++) {
    Instruction *x = tuple->parent->instructions[i];
    if (is_element_of(x, tuple)) renumber_element(x, number);
  }
}

Instruction *tuple_element(Instruction *tuple, int64_t index) {
  if (tuple->opcode == HLO_TUPLE_OP) return tuple->operands[index];
  return computation_add_element(tuple->parent, tuple, index);
}
