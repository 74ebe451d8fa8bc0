/* Chooses names that XLA's parser accepts. */
#include <string.h>

#include "hlo/text/lexer.h"
#include "hlo/text/printer.h"

static bool is_good(const char *name) {
  if (!is_name_start(*name)) return false;
  for (const char *c = name; *c; c++) {
    if (!is_name_char(*c)) return false;
  }
  /* XLA keeps names with two underscores in front for itself. */
  if (!strncmp(name, "__", 2)) return false;
  return !name_is_reserved(name, strlen(name));
}

const char *good_name(Arena *arena, const char *name) {
  if (is_good(name)) return name;
  const char *before = is_name_start(*name) && strncmp(name, "__", 2) != 0 ? "" : "x";
  const char *after = name_is_reserved(name, strlen(name)) ? "_" : "";
  char *good = arena_printf(arena, "%s%s%s", before, name, after);
  for (char *c = good; *c; c++) {
    if (!is_name_char(*c)) *c = '_';
  }
  return good;
}

/* Good names stay; then each other one gets a name that is still free. */
static const char **good_names(Arena *arena, int count, const char **names) {
  NameSet taken = {0};
  int good = 0;
  for (int i = 0; i < count; i++) good += is_good(names[i]);
  if (good == count) return NULL;
  for (int i = 0; i < count; i++) {
    if (is_good(names[i])) names_add(&taken, arena, names[i]);
  }
  for (int i = 0; i < count; i++) {
    if (!is_good(names[i])) names[i] = names_take(&taken, arena, good_name(arena, names[i]), 1);
  }
  return names;
}

void printer_names_of_module(Printer *printer) {
  const Module *module = printer->module;
  const char **names = ARENA_ARRAY(printer->arena, const char *, module->count);
  for (int i = 0; i < module->count; i++) names[i] = module->computations[i]->name;
  printer->computations = good_names(printer->arena, module->count, names);
}

void printer_names_of_computation(Printer *printer, const Computation *computation) {
  int count = computation->count;
  const char **names = ARENA_ARRAY(printer->arena, const char *, count);
  for (int i = 0; i < count; i++) names[i] = computation->instructions[i]->name;
  printer->current = computation;
  printer->instructions = good_names(printer->arena, count, names);
}

const char *printer_computation_name(const Printer *printer, const Computation *computation) {
  if (is_good(computation->name)) return computation->name;
  for (int i = 0; printer->computations && i < printer->module->count; i++) {
    if (printer->module->computations[i] == computation) return printer->computations[i];
  }
  return good_name(printer->arena, computation->name);
}

const char *printer_instruction_name(const Printer *printer, const Instruction *instruction) {
  if (is_good(instruction->name)) return instruction->name;
  const Computation *current = printer->current;
  for (int i = 0; printer->instructions && i < current->count; i++) {
    if (current->instructions[i] == instruction) return printer->instructions[i];
  }
  return good_name(printer->arena, instruction->name);
}
