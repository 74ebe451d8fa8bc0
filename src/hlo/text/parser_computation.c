/* Parses computations: their bodies, the names by which they call each other, and their order. */
#include <string.h>

#include "hlo/text/parser.h"
#include "value/shape_text.h"

/* ---- Bodies ---- */

bool number_parameters(Parser *p, Computation *computation) {
  int count = 0;
  for (int i = 0; i < computation->count; i++) {
    count += computation->instructions[i]->opcode == HLO_PARAMETER;
  }
  computation->parameter_count = computation->parameter_capacity = count;
  computation->parameters = ARENA_ARRAY(p->arena, Instruction *, count);
  for (int i = 0; i < computation->count; i++) {
    Instruction *in = computation->instructions[i];
    if (in->opcode != HLO_PARAMETER) continue;
    int64_t number = in->parameter_number;
    if (number < count && !computation->parameters[number]) {
      computation->parameters[number] = in;
      continue;
    }
    const char *at = p->lexer.start;
    for (int k = 0; k < p->position_count; k++) {
      if (p->positions[k].instruction == in) at = p->positions[k].at;
    }
    p->operation = opcode_name(HLO_PARAMETER);
    return parser_error(p, at,
                        number < count
                            ? "there are two parameters with number %lld"
                            : "number %lld leaves a gap; the numbers must be 0, 1, 2, ...",
                        (long long)number);
  }
  return true;
}

bool parse_instructions(Parser *p, Computation *computation, int end) {
  Computation *outer = p->computation;
  Symbols *outer_names = p->instructions, names = {0};
  const char *outer_operation = p->operation;
  p->computation = computation;
  p->instructions = &names;
  p->operation = NULL;
  Instruction *root = NULL;
  do {
    if (!parse_instruction(p, &root)) return false;
  } while (!parser_accept(p, end));
  if (root) computation->root = root;
  if (!number_parameters(p, computation)) return false;
  p->computation = outer;
  p->instructions = outer_names;
  p->operation = outer_operation;
  return true;
}

void add_definition(Parser *p, Computation *computation, const char *at) {
  Definition definition = {computation, at};
  ARENA_PUSH(p->scratch, p->defined, p->defined_count, p->defined_capacity, definition);
}

/* ---- Names ---- */

/* Returns the computation of that name, and makes it at its first mention. */
static Computation *mention(Parser *p, Name name) {
  Symbol *symbol = symbols_find(&p->computations, name.text, name.length);
  if (!symbol) {
    Computation *made = module_add_computation(p->module, name_str(p, name));
    symbol = symbols_add(&p->computations, p->scratch, name.text, name.length, name.at, made);
  }
  return symbol->value;
}

/* In hlo_parse_attributes all computations exist. */
static Computation *find_in_module(Parser *p, Name name) {
  for (int i = 0; i < p->module->count; i++) {
    Computation *computation = p->module->computations[i];
    if (!strncmp(computation->name, name.text, name.length) && !computation->name[name.length]) {
      return computation;
    }
  }
  parser_error(p, name.at, "there is no computation called %s", name_str(p, name));
  return NULL;
}

bool parse_called(Parser *p, Computation **computation) {
  Name name;
  const char *at = p->lexer.start;
  if (p->computation && p->lexer.kind == '{') {
    if (!parser_enter(p)) return false;
    lexer_next(&p->lexer);
    *computation = module_add_computation(p->module, "_");
    if (!parse_instructions(p, *computation, '}')) return false;
    add_definition(p, *computation, at);
    p->nesting--;
    return true;
  }
  if (!parse_name(p, &name, "a computation")) return false;
  *computation = p->computation ? mention(p, name) : find_in_module(p, name);
  return *computation != NULL;
}

/* ---- Definitions ---- */

/* Parses (name: shape, ...) -> shape. Only the result's shape is used. */
static const Shape *parse_signature(Parser *p) {
  Name name;
  lexer_next(&p->lexer); /* the parenthesis */
  if (p->lexer.kind != ')') {
    do {
      if (!parse_name(p, &name, "a parameter's name")) return NULL;
      parser_accept(p, ':'); /* which XLA does without */
      if (!parse_shape(p)) return NULL;
    } while (parser_accept(p, ','));
  }
  if (!parser_expect(p, ')', "')' after the parameters") ||
      !parser_expect(p, TOKEN_ARROW, "'->' before the result's shape")) {
    return NULL;
  }
  return parse_shape(p);
}

/* Skips , execution_thread="main": XLA's execution threads have no equivalent here. */
static bool skip_execution_thread(Parser *p) {
  while (parser_accept(p, ',')) {
    if (!lexer_is_word(&p->lexer, "execution_thread"))
      return parser_expected(p, "execution_thread");
    lexer_next(&p->lexer);
    if (!parser_expect(p, '=', "'=' after the attribute") ||
        !parser_expect(p, TOKEN_STRING, "a string in quotes")) {
      return false;
    }
  }
  return true;
}

static bool mark_entry(Parser *p, Computation *computation, const char *at) {
  if (p->entry) return parser_error(p, at, "there is an ENTRY computation already");
  p->entry = computation;
  return true;
}

/* Whether the text has a dimension without a bound: `?` in brackets right after a name, as in f32[?,3]. */
static bool has_unbounded(const char *at, const char *end) {
  bool in_shape = false;
  for (; at < end; at++) {
    if (*at == '"') {
      for (at++; at < end && *at != '"'; at++) at += *at == '\\';
    } else if (*at == '[') {
      in_shape = is_name_char(at[-1]);
    } else if (*at == ']') {
      in_shape = false;
    } else if (*at == '?' && in_shape && (at[-1] == '[' || at[-1] == ',')) {
      return true;
    }
  }
  return false;
}

/* Returns the end of the computation whose name has been read. Its last group in braces is the body. */
static const char *computation_end(const Parser *p) {
  const char *limit = p->lexer.limit, *at = p->lexer.start;
  while (at && at < limit) {
    char c = *at;
    if (c != '{' && c != '(' && c != '[') {
      at++;
      continue;
    }
    at = balanced_end(at, limit);
    const char *next = at ? text_skip_space(at, limit) : NULL;
    if (next && c == '{' && (next == limit || *next != '{')) return next; /* a layout is no body */
  }
  return NULL;
}

/* Skips a computation with unbounded dimensions. XLA leaves such computations in a module, without a caller. */
static bool skip_unbounded(Parser *p, Name name) {
  const char *start = p->lexer.start, *limit = p->lexer.limit;
  if (!p->question || p->question < start) {
    const char *found = memchr(start, '?', (size_t)(limit - start));
    p->question = found ? found : limit;
  }
  if (p->question == limit) return false;
  if (symbols_find(&p->computations, name.text, name.length)) return false;
  const char *end = computation_end(p);
  if (!end || !has_unbounded(start, end)) return false;
  symbols_add(&p->skipped, p->scratch, name.text, name.length, name.at, NULL);
  lexer_seek(&p->lexer, end);
  return true;
}

bool parse_computation(Parser *p) {
  Name name;
  const char *start = p->lexer.start;
  bool is_entry = lexer_is_word(&p->lexer, "ENTRY");
  if (is_entry) lexer_next(&p->lexer);
  if (!parse_name(p, &name, "a computation's name")) return false;
  if (!is_entry && skip_unbounded(p, name)) return skip_execution_thread(p);
  Computation *computation = mention(p, name);
  if (computation->count) {
    return parser_error(p, name.at, "the computation %s is defined twice", name_str(p, name));
  }
  if (is_entry && !mark_entry(p, computation, start)) return false;
  const char *shape_at = p->lexer.start;
  const Shape *result = NULL;
  if (p->lexer.kind == '(' && !(result = parse_signature(p))) return false;
  if (!parser_expect(p, '{', "'{' before the instructions") ||
      !parse_instructions(p, computation, '}')) {
    return false;
  }
  if (result && !shape_compatible(result, computation->root->shape)) {
    return parser_error(p, shape_at, "the computation is said to return %s, but its root is %s",
                        shape_str(p->scratch, result),
                        shape_str(p->scratch, computation->root->shape));
  }
  add_definition(p, computation, name.at);
  return skip_execution_thread(p);
}

/* ---- Order ---- */

/* A depth-first walk of the call graph, which puts callees before callers. */
typedef struct Ordering {
  Parser *p;
  Symbols index; /* of Definition, by name */
  int count;
  Computation **order;
  int *height; /* by index in p->defined: 0 not yet seen, -1 on the way, else levels of calls */
} Ordering;

static bool order_after_called(Ordering *o, int index, int depth);

static bool visit_called(Ordering *o, const Instruction *in, int depth, int *height) {
  int count = instruction_called(in, NULL);
  if (!count) return true;
  Computation **called = ARENA_ARRAY(o->p->scratch, Computation *, count);
  instruction_called(in, called);
  for (int i = 0; i < count; i++) {
    const Symbol *symbol = symbols_find(&o->index, called[i]->name, strlen(called[i]->name));
    int callee = (int)((const Definition *)symbol->value - o->p->defined);
    if (!order_after_called(o, callee, depth + 1)) return false;
    if (o->height[callee] > *height) *height = o->height[callee];
  }
  return true;
}

static bool order_after_called(Ordering *o, int index, int depth) {
  const Definition *definition = &o->p->defined[index];
  const Computation *computation = definition->computation;
  if (o->height[index] > 0) return true;
  if (o->height[index] < 0) {
    return parser_error(o->p, definition->at, "the computation %s calls itself", computation->name);
  }
  int height = 0;
  o->height[index] = -1;
  for (int i = 0; i < computation->count && depth <= MAX_NESTING; i++) {
    if (!visit_called(o, computation->instructions[i], depth, &height)) return false;
  }
  if (depth > MAX_NESTING || height >= MAX_NESTING) {
    return parser_error(o->p, definition->at, "calls are nested deeper than %d levels",
                        MAX_NESTING);
  }
  o->height[index] = height + 1;
  o->order[o->count++] = o->p->defined[index].computation;
  return true;
}

static bool order_computations(Parser *p) {
  Ordering o = {.p = p};
  o.order = ARENA_ARRAY(p->arena, Computation *, p->defined_count);
  o.height = ARENA_ARRAY(p->scratch, int, p->defined_count);
  int entry = 0;
  for (int i = 0; i < p->defined_count; i++) {
    const char *name = p->defined[i].computation->name;
    symbols_add(&o.index, p->scratch, name, strlen(name), NULL, &p->defined[i]);
    if (p->defined[i].computation == p->entry) entry = i;
  }
  for (int i = 0; i < p->defined_count; i++) {
    if (i != entry && !order_after_called(&o, i, 0)) return false;
  }
  if (o.height[entry]) {
    return parser_error(p, p->defined[entry].at, "the ENTRY computation is called by another one");
  }
  if (!order_after_called(&o, entry, 0)) return false;
  p->module->computations = o.order;
  p->module->count = p->module->capacity = o.count;
  p->module->entry = p->entry;
  return true;
}

bool finish_computations(Parser *p) {
  const Symbol *undefined = NULL;
  for (int i = 0; i < p->computations.capacity; i++) {
    const Symbol *symbol = &p->computations.slots[i];
    if (!symbol->name || ((Computation *)symbol->value)->count) continue;
    if (!undefined || symbol->at < undefined->at) undefined = symbol;
  }
  if (undefined) {
    Name name = {undefined->name, undefined->length, undefined->at};
    if (symbols_find(&p->skipped, name.text, name.length)) {
      return parser_error(p, undefined->at,
                          "the computation %s has a dimension without a bound (?), which is not "
                          "supported; use <=N",
                          name_str(p, name));
    }
    return parser_error(p, undefined->at, "there is no computation called %s", name_str(p, name));
  }
  if (!p->defined_count) {
    const Symbol *skipped = p->skipped.slots;
    while (!skipped->name) skipped++;
    return parser_error(p, skipped->at,
                        "it has a dimension without a bound (?), which is not supported; use <=N");
  }
  if (!p->entry) p->entry = p->defined[p->defined_count - 1].computation;
  return order_computations(p);
}
