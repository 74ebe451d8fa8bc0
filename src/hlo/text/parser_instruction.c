/* Parses one instruction: its shape, opcode, operands and attributes. */
#include <string.h>

#include "hlo/infer/inference.h"
#include "hlo/text/parser.h"

/* A partly parsed instruction. */
typedef struct Draft {
  Name name; /* length 0: none */
  const Shape *shape;
  Opcode opcode;
  const char *opcode_at;
  bool has_wrapped; /* add-start is async-start around add */
  Opcode wrapped;
  bool nested; /* an operand: takes no attributes */
  int count, capacity;
  Instruction **operands;
} Draft;

/* ---- Opcodes ---- */

/* add-start, add-update, add-done: false if it is none of them. */
static bool async_opcode(const char *text, size_t length, Draft *d) {
  static const struct {
    const char *suffix;
    Opcode opcode;
  } forms[] = {
      {"-start", HLO_ASYNC_START},
      {"-update", HLO_ASYNC_UPDATE},
      {"-done", HLO_ASYNC_DONE},
  };
  for (int i = 0; i < 3; i++) {
    size_t suffix = strlen(forms[i].suffix);
    if (length <= suffix || memcmp(text + length - suffix, forms[i].suffix, suffix) != 0) continue;
    d->opcode = forms[i].opcode;
    d->has_wrapped = true;
    return opcode_from_name(text, length - suffix, &d->wrapped);
  }
  return false;
}

static bool parse_opcode(Parser *p, Draft *d) {
  const Lexer *lexer = &p->lexer;
  if (lexer->kind != TOKEN_WORD) return parser_expected(p, "an opcode");
  d->opcode_at = lexer->start;
  size_t length = lexer_length(lexer);
  if (!opcode_from_name(lexer->start, length, &d->opcode) &&
      !async_opcode(lexer->start, length, d)) {
    const char *meant = opcode_nearest(lexer->start, length);
    return parser_error(p, lexer->start, "there is no operation called %.*s%s%s%s",
                        length > 60 ? 60 : (int)length, lexer->start,
                        meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
  }
  lexer_next(&p->lexer);
  return true;
}

static bool shape_must_be_stated(Opcode opcode) {
  switch (opcode) {
  case HLO_BITCAST:
  case HLO_BITCAST_CONVERT:
  case HLO_CONSTANT:
  case HLO_CONVERT:
  case HLO_CUSTOM_CALL:
  case HLO_DYNAMIC_RESHAPE:
  case HLO_FUSION:
  case HLO_INFEED:
  case HLO_IOTA:
  case HLO_PARAMETER:
  case HLO_RECV:
  case HLO_RESHAPE:
  case HLO_RNG:
  case HLO_RNG_BIT_GENERATOR:
  case HLO_RNG_GET_AND_UPDATE_STATE:
  case HLO_SCALED_DOT:
  case HLO_STOCHASTIC_CONVERT:
  case HLO_ASYNC_START:
  case HLO_ASYNC_UPDATE:
  case HLO_ASYNC_DONE: return true;
  default: return false;
  }
}

/* [shape] opcode */
static bool parse_head(Parser *p, Draft *d) {
  if (at_shape(p) && !(d->shape = parse_shape(p))) return false;
  if (!parse_opcode(p, d)) return false;
  p->operation = opcode_name(d->has_wrapped ? d->wrapped : d->opcode);
  if (d->shape || !shape_must_be_stated(d->opcode)) return true;
  return parser_error(p, d->opcode_at,
                      "the result's shape does not follow from the operands; state it before the "
                      "opcode");
}

/* ---- Operands ---- */

static Instruction *parse_right_side(Parser *p, Name name, bool nested);

static bool at_nested_instruction(const Parser *p) {
  Lexer ahead = p->lexer;
  lexer_next(&ahead);
  return p->lexer.kind == TOKEN_WORD && ahead.kind == '(';
}

static Instruction *find_operand(Parser *p, Name name) {
  const Symbol *symbol = symbols_find(p->instructions, name.text, name.length);
  if (symbol) return symbol->value;
  parser_error(p, name.at, "operand %s is not defined before this instruction", name_str(p, name));
  return NULL;
}

/* [shape] name, or [shape] opcode(...) */
static Instruction *parse_operand(Parser *p) {
  Name name;
  Lexer before = p->lexer;
  const Shape *stated = NULL;
  if (at_shape(p) && !(stated = parse_shape(p))) return NULL;
  if (at_nested_instruction(p)) {
    p->lexer = before;
    return parse_right_side(p, (Name){NULL, 0, before.start}, true);
  }
  if (!parse_name(p, &name, "an operand")) return NULL;
  Instruction *operand = find_operand(p, name);
  if (operand && stated && !shape_compatible(stated, operand->shape)) {
    parser_error(p, before.start, "operand %s is said to be %s, but is %s", name_str(p, name),
                 shape_str(p->scratch, stated), shape_str(p->scratch, operand->shape));
    return NULL;
  }
  return operand;
}

static bool parse_operands(Parser *p, Draft *d) {
  const char *start = p->lexer.start;
  if (!parser_expect(p, '(', "'(' before the operands")) return false;
  if (p->lexer.kind != ')') {
    do {
      Instruction *operand = parse_operand(p);
      if (!operand) return false;
      ARENA_PUSH(p->scratch, d->operands, d->count, d->capacity, operand);
    } while (parser_accept(p, ','));
  }
  if (!parser_expect(p, ')', "',' or ')' after an operand")) return false;
  int arity = opcode_rows[d->opcode].arity;
  if (arity == VARIADIC || arity == d->count) return true;
  return parser_error(p, start, "%d operands are given, but it takes %d", d->count, arity);
}

/* ---- Putting it together ---- */

static bool calls_undefined(const Instruction *instruction) {
  int count = instruction_called(instruction, NULL);
  if (!count) return false;
  Arena *arena = arena_new();
  Computation **called = ARENA_ARRAY(arena, Computation *, count);
  instruction_called(instruction, called);
  bool undefined = false;
  for (int i = 0; i < count; i++) undefined |= !called[i]->root;
  arena_free(arena);
  return undefined;
}

static bool infer_missing_shape(Parser *p, const Draft *d, Instruction *instruction) {
  if (instruction->shape) return true;
  if (calls_undefined(instruction)) {
    return parser_error(p, d->opcode_at,
                        "the shape is not stated, and cannot be inferred as a called computation "
                        "is defined further down");
  }
  instruction->shape = infer_shape(p->arena, instruction, p->error);
  if (instruction->shape) return true;
  lexer_position(&p->lexer, d->opcode_at, &p->error->line, &p->error->column);
  return false;
}

static Instruction *add_instruction(Parser *p, const Draft *d, const Attributes *attributes) {
  const char *name = d->name.length ? name_str(p, d->name) : NULL;
  Instruction *instruction = computation_add_named(p->computation, d->opcode, d->shape, d->operands,
                                                   d->count, attributes, name);
  Position position = {instruction, d->name.at};
  ARENA_PUSH(p->scratch, p->positions, p->position_count, p->position_capacity, position);
  return infer_missing_shape(p, d, instruction) ? instruction : NULL;
}

static bool parse_draft_attributes(Parser *p, const Draft *d, Attributes *attributes) {
  AttributeContext context = {
      .opcode = d->has_wrapped && d->opcode == HLO_ASYNC_START ? d->wrapped : d->opcode,
      .extra = d->has_wrapped ? "async_execution_thread" : "",
      .scalar_operand = d->count > 0 && shape_is_scalar(d->operands[0]->shape),
      .at = d->opcode_at,
  };
  attributes_init(attributes);
  if (d->nested) return require_no_attributes(p, &context);
  return parse_attributes(p, &context, true, attributes);
}

static Instruction *parse_parameter(Parser *p, Draft *d) {
  int64_t number;
  Attributes attributes;
  const char *at = p->lexer.end;
  if (!parser_expect(p, '(', "'(' before the parameter's number") || !parse_int64(p, &number) ||
      !parser_expect(p, ')', "')' after the parameter's number")) {
    return NULL;
  }
  if (number < 0) {
    parser_error(p, at, "the parameter's number must not be negative");
    return NULL;
  }
  if (!parse_draft_attributes(p, d, &attributes)) return NULL;
  Instruction *parameter = add_instruction(p, d, &attributes);
  if (parameter) parameter->parameter_number = number;
  return parameter;
}

static Instruction *parse_constant(Parser *p, Draft *d) {
  Attributes attributes;
  if (!parser_expect(p, '(', "'(' before the literal")) return NULL;
  Literal *literal = parse_literal(p, d->shape);
  if (!literal || !parser_expect(p, ')', "')' after the literal") ||
      !parse_draft_attributes(p, d, &attributes)) {
    return NULL;
  }
  Instruction *constant = add_instruction(p, d, &attributes);
  if (constant) constant->literal = literal;
  return constant;
}

/* ---- Asynchronous operations ---- */

/* Makes the computation around `add` in add-start: its parameters are the operands, its root is the `add`. */
static Computation *wrap(Parser *p, const Draft *d, const Attributes *attributes) {
  Computation *wrapper = module_add_computation(p->module, "async_wrapped");
  Instruction **parameters = ARENA_ARRAY(p->scratch, Instruction *, d->count);
  for (int i = 0; i < d->count; i++) {
    parameters[i] = computation_add_named(wrapper, HLO_PARAMETER, d->operands[i]->shape, NULL, 0,
                                          NULL, "async_param");
    parameters[i]->parameter_number = i;
  }
  Attributes inner = *attributes;
  inner.async_execution_thread = NULL;
  inner.sharding = NULL;
  inner.control_predecessors = (InstructionList){0};
  Instruction *root = computation_add_named(wrapper, d->wrapped, d->shape->elements[1], parameters,
                                            d->count, &inner, "async_op");
  Position position = {root, d->opcode_at};
  ARENA_PUSH(p->scratch, p->positions, p->position_count, p->position_capacity, position);
  add_definition(p, wrapper, d->opcode_at);
  return number_parameters(p, wrapper) ? wrapper : NULL;
}

static Instruction *finish_async_start(Parser *p, Draft *d, const Attributes *attributes) {
  const Shape *shape = d->shape;
  if (!shape_is_tuple(shape) || shape->tuple_size < 2 || !shape_is_tuple(shape->elements[0])) {
    parser_error(p, d->opcode_at,
                 "the shape %s is not of the form ((operands), result, context...)",
                 shape_str(p->scratch, shape));
    return NULL;
  }
  if (!d->has_wrapped) return add_instruction(p, d, attributes);
  Attributes outer = *ATTRIBUTES(.calls = wrap(p, d, attributes));
  if (!outer.calls) return NULL;
  outer.async_execution_thread = attributes->async_execution_thread;
  outer.sharding = attributes->sharding;
  outer.control_predecessors = attributes->control_predecessors;
  outer.metadata = attributes->metadata;
  outer.frontend_attributes = attributes->frontend_attributes;
  outer.backend_config = attributes->backend_config;
  outer.statistics = attributes->statistics;
  outer.origin = attributes->origin;
  return add_instruction(p, d, &outer);
}

/* Completes async-update and async-done from the async-start that their operand leads to. */
static Instruction *finish_async_end(Parser *p, Draft *d, Attributes *attributes) {
  const Instruction *previous = d->operands[0];
  if (previous->opcode != HLO_ASYNC_START && previous->opcode != HLO_ASYNC_UPDATE) {
    parser_error(p, d->opcode_at, "the operand must be an async-start or an async-update");
    return NULL;
  }
  Computation *called = previous->a->calls;
  if (d->has_wrapped && called && called->root && called->root->opcode != d->wrapped) {
    parser_error(p, d->opcode_at, "it was started as %s", opcode_name(called->root->opcode));
    return NULL;
  }
  if (!attributes->calls) attributes->calls = called;
  if (attributes->calls != called) {
    parser_error(p, d->opcode_at, "calls is not the computation that was started");
    return NULL;
  }
  if (!attributes->async_execution_thread) {
    attributes->async_execution_thread = previous->a->async_execution_thread;
  }
  return add_instruction(p, d, attributes);
}

/* ---- The instruction ---- */

static Instruction *parse_tail(Parser *p, Draft *d) {
  Attributes attributes;
  if (d->opcode == HLO_PARAMETER) return parse_parameter(p, d);
  if (d->opcode == HLO_CONSTANT) return parse_constant(p, d);
  if (!parse_operands(p, d) || !parse_draft_attributes(p, d, &attributes)) return NULL;
  if (d->opcode == HLO_ASYNC_START) return finish_async_start(p, d, &attributes);
  if (d->opcode == HLO_ASYNC_UPDATE || d->opcode == HLO_ASYNC_DONE) {
    return finish_async_end(p, d, &attributes);
  }
  return add_instruction(p, d, &attributes);
}

static Instruction *parse_right_side(Parser *p, Name name, bool nested) {
  Draft draft = {.name = name, .nested = nested};
  Instruction *instruction = NULL;
  const char *outer = p->operation;
  p->operation = NULL;
  if (parser_enter(p) && parse_head(p, &draft)) instruction = parse_tail(p, &draft);
  p->nesting--;
  p->operation = outer;
  return instruction;
}

static bool check_new_name(Parser *p, Name name) {
  const Symbol *symbol = symbols_find(p->instructions, name.text, name.length);
  if (!symbol) return true;
  int line, column;
  lexer_position(&p->lexer, symbol->at, &line, &column);
  return parser_error(p, name.at, "the name %s is taken by the instruction on line %d",
                      name_str(p, name), line);
}

bool parse_instruction(Parser *p, Instruction **root) {
  Name name;
  const char *start = p->lexer.start;
  bool is_root = lexer_is_word(&p->lexer, "ROOT");
  if (is_root) lexer_next(&p->lexer);
  if (!parse_name(p, &name, is_root ? "the instruction's name" : "an instruction or '}'") ||
      !parser_expect(p, '=', "'=' after the instruction's name")) {
    return false;
  }
  if (is_root && *root) return parser_error(p, start, "the computation has a ROOT already");
  if (!check_new_name(p, name)) return false;
  Instruction *instruction = parse_right_side(p, name, false);
  if (!instruction) return false;
  if (is_root) *root = instruction;
  symbols_add(p->instructions, p->scratch, name.text, name.length, name.at, instruction);
  return true;
}
