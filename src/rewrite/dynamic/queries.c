/* Queries of modules before and after dynamic dimensions are resolved. */
#include "rewrite/dynamic/dimensions.h"
#include "rewrite/dynamic/dynamic.h"

int shape_dynamic_dimensions(const Shape *shape) {
  int count = 0;
  for (int i = 0; shape->dynamic && i < shape->rank; i++) count += shape->dynamic[i];
  for (int i = 0; i < shape->tuple_size; i++) count += shape_dynamic_dimensions(shape->elements[i]);
  return count;
}

bool instruction_is_dynamic(const Instruction *instruction) {
  Opcode opcode = instruction->opcode;
  return opcode == HLO_SET_DIMENSION_SIZE || opcode == HLO_GET_DIMENSION_SIZE ||
         opcode == HLO_DYNAMIC_RESHAPE || shape_dynamic_dimensions(instruction->shape);
}

bool module_has_dynamic_dimensions(const Module *module) {
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      if (instruction_is_dynamic(computation->instructions[i])) return true;
    }
  }
  return false;
}
