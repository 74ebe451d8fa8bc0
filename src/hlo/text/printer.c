/*
** Prints a module as HLO text, in the form of jax's as_hlo_text(): no % before names, no types before
** operands, computations without signatures, callees first and the entry last.
*/
#include "hlo/text/printer.h"

#include <inttypes.h>
#include <string.h>

#include "hlo/text/numbers.h"
#include "hlo/text/text.h"

/* ---- Literals ---- */

static void print_element(StrBuf *out, const Literal *literal, int64_t index) {
  char text[NUMBER_SIZE];
  PrimitiveType type = literal->shape->type;
  int length = number_print(text, type, literal->data, index);
  if (type_is_complex(type)) strbuf_append(out, "(");
  strbuf_append_n(out, text, (size_t)length);
  if (type_is_complex(type)) strbuf_append(out, ")");
}

/* {1, 2} or { { 1, 2 }, { 3, 4 } }: the braces of one dimension, elements from *index on. */
static void print_dimension(StrBuf *out, const Literal *literal, int dimension, int64_t *index) {
  const Shape *shape = literal->shape;
  const char *space = shape->rank > 1 && shape->dims[dimension] ? " " : "";
  strbuf_append(out, "{");
  strbuf_append(out, space);
  for (int64_t i = 0; i < shape->dims[dimension]; i++) {
    if (i) strbuf_append(out, ", ");
    if (dimension + 1 < shape->rank) {
      print_dimension(out, literal, dimension + 1, index);
    } else {
      print_element(out, literal, (*index)++);
    }
  }
  strbuf_append(out, space);
  strbuf_append(out, "}");
}

void hlo_print_literal(const Literal *literal, StrBuf *out) {
  const Shape *shape = literal->shape;
  int64_t index = 0;
  if (shape_is_tuple(shape)) {
    strbuf_append(out, "(");
    for (int i = 0; i < shape->tuple_size; i++) {
      strbuf_append(out, i ? ", " : " ");
      hlo_print_literal(literal->elements[i], out);
    }
    strbuf_append(out, " )");
  } else if (shape_is_scalar(shape) && shape->type == PRED) {
    strbuf_append(out, *(const unsigned char *)literal->data ? "true" : "false");
  } else if (shape_is_scalar(shape)) {
    print_element(out, literal, 0);
  } else if (shape_is_array(shape)) {
    print_dimension(out, literal, 0, &index);
  }
}

/* ---- Instructions ---- */

static void print_constant(const Printer *printer, const Literal *literal) {
  const Shape *shape = literal->shape;
  int64_t min_bytes = printer->min_data_bytes;
  bool is_apart = min_bytes && shape_is_array(shape) && shape_bytes(shape) >= min_bytes;
  if (is_apart)
    strbuf_printf(printer->out, "data.%zu", (size_t)literal->data);
  else
    hlo_print_literal(literal, printer->out);
}

static void print_operands(const Printer *printer, const Instruction *in) {
  StrBuf *out = printer->out;
  if (in->opcode == HLO_PARAMETER) strbuf_printf(out, "%" PRId64, in->parameter_number);
  if (in->opcode == HLO_CONSTANT) print_constant(printer, in->literal);
  int count = in->operand_count;
  if (in->opcode == HLO_FUSION && in->a->derived.used_dimension)
    count--; /* the limit: a fact, too */
  for (int i = 0; i < count; i++) {
    if (i) strbuf_append(out, ", ");
    strbuf_append(out, printer_instruction_name(printer, in->operands[i]));
  }
}

static void print_instruction(const Printer *printer, const Instruction *in) {
  StrBuf *out = printer->out;
  strbuf_append(out, printer_instruction_name(printer, in));
  strbuf_append(out, " = ");
  shape_print(out, in->shape, true);
  strbuf_printf(out, " %s(", opcode_name(in->opcode));
  print_operands(printer, in);
  strbuf_append(out, ")");
  print_attributes(printer, in);
}

/* ---- Modules ---- */

/* The thread on which an async-start runs the computation; XLA wants it said there too. */
static const char *execution_thread(const Module *module, const Computation *computation) {
  for (int i = 0; i < module->count; i++) {
    const Computation *caller = module->computations[i];
    for (int k = 0; k < caller->count; k++) {
      const Instruction *in = caller->instructions[k];
      if (in->opcode == HLO_ASYNC_START && in->a->calls == computation) {
        return in->a->async_execution_thread;
      }
    }
  }
  return NULL;
}

static void print_computation(Printer *printer, const Computation *computation,
                              const char *thread) {
  StrBuf *out = printer->out;
  printer_names_of_computation(printer, computation);
  if (computation == printer->module->entry) strbuf_append(out, "ENTRY ");
  strbuf_append(out, printer_computation_name(printer, computation));
  strbuf_append(out, " {\n");
  for (int i = 0; i < computation->count; i++) {
    const Instruction *in = computation->instructions[i];
    if (in->a->derived.is_limit) continue;
    strbuf_append(out, in == computation->root ? "  ROOT " : "  ");
    print_instruction(printer, in);
    strbuf_append(out, "\n");
  }
  strbuf_append(out, "}");
  if (thread) strbuf_printf(out, ", execution_thread=\"%s\"", thread);
  strbuf_append(out, "\n\n");
}

static void print_aliases(StrBuf *out, const Module *module) {
  if (!module->alias_count) return;
  strbuf_append(out, ", input_output_alias={ ");
  for (int i = 0; i < module->alias_count; i++) {
    const Alias *alias = &module->aliases[i];
    if (i) strbuf_append(out, ", ");
    print_int64_list(out, alias->output_index);
    strbuf_printf(out, ": (%" PRId64 ", ", alias->parameter);
    print_int64_list(out, alias->parameter_index);
    strbuf_append(out, alias->must ? ", must-alias)" : ", may-alias)");
  }
  strbuf_append(out, " }");
}

static void print_entry_layout(StrBuf *out, const Module *module) {
  const Computation *entry = module->entry;
  strbuf_append(out, ", entry_computation_layout={(");
  for (int i = 0; i < entry->parameter_count; i++) {
    const Shape *stated = module->parameter_layouts ? module->parameter_layouts[i] : NULL;
    if (i) strbuf_append(out, ", ");
    shape_print(out, stated ? stated : entry->parameters[i]->shape, true);
  }
  strbuf_append(out, ")->");
  shape_print(out, module->result_layout ? module->result_layout : entry->root->shape, true);
  strbuf_append(out, "}");
}

static void print_header(const Printer *printer) {
  const Module *module = printer->module;
  StrBuf *out = printer->out;
  strbuf_printf(out, "HloModule %s", good_name(printer->arena, module->name));
  print_aliases(out, module);
  if (module->entry) print_entry_layout(out, module);
  if (module->replica_count) strbuf_printf(out, ", replica_count=%d", module->replica_count);
  if (module->num_partitions) strbuf_printf(out, ", num_partitions=%d", module->num_partitions);
  if (module->extra_header) strbuf_printf(out, ", %s", module->extra_header);
  strbuf_append(out, "\n\n");
}

void hlo_print(const Module *module, StrBuf *out) { hlo_print_with_data(module, 0, out); }

void hlo_print_with_data(const Module *module, int64_t min_bytes, StrBuf *out) {
  Printer printer = {
      .out = out, .arena = arena_new(), .module = module, .min_data_bytes = min_bytes};
  printer_names_of_module(&printer);
  print_header(&printer);
  bool threads = false;
  for (int i = 0; i < module->count; i++) {
    const Computation *computation = module->computations[i];
    for (int k = 0; k < computation->count; k++) {
      threads |= computation->instructions[k]->a->async_execution_thread != NULL;
    }
  }
  for (int i = 0; i < module->count; i++) {
    const Computation *computation = module->computations[i];
    print_computation(&printer, computation,
                      threads ? execution_thread(module, computation) : NULL);
  }
  arena_free(printer.arena);
}
