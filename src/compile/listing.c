/* Prints the thunks of a program for human readers. */
#include "compile/stages.h"

const char *thunk_kind_name(ThunkKind kind) {
  static const char *const names[] = {
      [THUNK_EVAL] = "eval",
      [THUNK_GENERATED] = "generated",
      [THUNK_KERNEL] = "kernel",
      [THUNK_COPY] = "copy",
      [THUNK_WHILE] = "while",
      [THUNK_CONDITIONAL] = "conditional",
      [THUNK_COLLECTIVE] = "collective",
      [THUNK_CHANNEL] = "channel",
      [THUNK_HOST] = "host",
      [THUNK_REGION] = "region",
      [THUNK_ROWS] = "rows",
  };
  _Static_assert(sizeof names / sizeof *names == THUNK_KINDS, "a kind has no name");
  return names[kind];
}

static void print_buffer(StrBuf *out, const Program *program, const LogicalBuffer *buffer) {
  Spot spot = buffer_spot(program, buffer, RUN_NONE_DONATED);
  int slot = spot.slot, results = first_result_slot(program);
  int constants = results + program->result_leaves;
  if (slot == SLOT_NONE) {
    strbuf_append(out, " token");
  } else if (slot == SLOT_ARENA) {
    strbuf_printf(out, " @%lld", (long long)spot.offset);
  } else if (slot < results) {
    strbuf_printf(out, " parameter%d", slot - SLOT_FIRST_PARAMETER);
  } else if (slot < constants) {
    strbuf_printf(out, " result%d", slot - results);
    if (spot.offset) strbuf_printf(out, "@%lld", (long long)spot.offset);
  } else {
    strbuf_printf(out, " constant%d", slot - constants);
  }
}

/* Prints the operation of an instruction that runs in the evaluator, as its name says little. */
static void print_operation(StrBuf *out, const Instruction *instruction) {
  bool is_call = instruction->opcode == HLO_CUSTOM_CALL;
  strbuf_printf(out, " [%s]",
                is_call ? instruction->a->custom_call_target : opcode_name(instruction->opcode));
}

/* Prints the number of the generated function that a thunk runs, if any. */
static void print_function(StrBuf *out, const Program *program, const Thunk *thunk) {
  int function = -1;
  if (thunk->kind == THUNK_GENERATED) function = thunk->function;
  if (thunk->kind == THUNK_KERNEL && thunk->fusion) function = thunk->fusion_function;
  if (thunk->kind == THUNK_REGION) function = program->fusion_count + thunk->region;
  if (function >= 0) strbuf_printf(out, " [function %d]", function);
}

static void print_sequence(StrBuf *out, const Program *program, const ThunkSequence *sequence,
                           int indent) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    strbuf_printf(out, "%*s%s %s", indent, "", thunk_kind_name(thunk->kind),
                  thunk->instruction->name);
    if (thunk->kind == THUNK_EVAL) print_operation(out, thunk->instruction);
    print_function(out, program, thunk);
    strbuf_append(out, ":");
    for (int j = 0; j < thunk->operand_count; j++) {
      print_buffer(out, program, thunk->operands[j]);
    }
    strbuf_append(out, " ->");
    for (int j = 0; j < thunk->result_count; j++) print_buffer(out, program, thunk->results[j]);
    strbuf_append(out, "\n");
    if (thunk_has_steps(thunk)) print_sequence(out, program, thunk->steps, indent + 2);
    if (thunk->kind == THUNK_WHILE) {
      strbuf_printf(out, "%*scondition\n", indent + 2, "");
      print_sequence(out, program, thunk->condition, indent + 4);
      strbuf_printf(out, "%*sbody\n", indent + 2, "");
      print_sequence(out, program, thunk->body, indent + 4);
    }
    if (thunk->kind != THUNK_CONDITIONAL) continue;
    for (int b = 0; b < thunk->branch_count; b++) {
      strbuf_printf(out, "%*sbranch %d\n", indent + 2, "", b);
      print_sequence(out, program, &thunk->branches[b], indent + 4);
    }
  }
}

static void print_span(StrBuf *out, const Program *program, const char *name,
                       const LogicalBuffer *buffer, bool works) {
  if (!buffer || buffer->slot == SLOT_NONE) return;
  strbuf_append(out, works ? "+" : "");
  strbuf_append(out, name);
  print_buffer(out, program, buffer);
  strbuf_printf(out, " %lld %d %d\n", (long long)buffer->bytes, buffer->first, buffer->last);
}

/* Prints each buffer where it is defined, and the program's own where they are used. */
static void print_memory(StrBuf *out, const Program *program, const ThunkSequence *sequence) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    const ThunkSequence *inner;
    const char *name = thunk->instruction->name;
    for (int j = 0; j < thunk->operand_count; j++) {
      const LogicalBuffer *operand = thunk->operands[j];
      if (operand->slot != SLOT_ARENA) print_span(out, program, "-", operand, false);
    }
    for (int j = 0; j < thunk->result_count; j++) {
      print_span(out, program, name, thunk->results[j], false);
    }
    if (thunk->kind == THUNK_KERNEL) print_span(out, program, name, thunk->scratch, true);
    for (int k = 0; (inner = thunk_sequence(thunk, k)); k++) print_memory(out, program, inner);
  }
}

void program_print_memory(const Program *program, StrBuf *out) {
  strbuf_printf(out, "%lld\n", (long long)program_memory(program).temporaries);
  print_memory(out, program, &program->entry);
}

void program_print_thunks(const Program *program, StrBuf *out) {
  strbuf_printf(out, "arena of %lld bytes per device\n",
                (long long)program_memory(program).temporaries);
  print_sequence(out, program, &program->entry, 0);
}
