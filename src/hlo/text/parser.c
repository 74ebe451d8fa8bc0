/*
** Parses HLO text into a module, by recursive descent.
**
**   module      ::= header? tables? computation+ | '{' instruction+ '}' | instruction+
**   header      ::= 'HloModule' name (',' attribute '=' value)*
**   tables      ::= FileNames, FunctionNames, FileLocations, StackFrames: read and dropped
**   computation ::= 'ENTRY'? name signature? '{' instruction+ '}' (',' execution_thread)?
**   instruction ::= 'ROOT'? name '=' shape? opcode '(' operands ')' (',' attribute '=' value)*
**   operand     ::= shape? name | shape? opcode '(' operands ')'
**
** The grammar is XLA's, with two extensions: a computation may be called before it is defined, and
** unknown header attributes are kept. As in XLA, control predecessors and operands are defined before use.
*/
#include <string.h>

#include "hlo/infer/verifier.h"
#include "hlo/text/parser.h"
#include "hlo/text/text.h"

/* ---- Header ---- */

static bool parse_count(Parser *p, int *count) {
  int64_t value;
  const char *at = p->lexer.start;
  if (!parse_int64(p, &value)) return false;
  if (value < 1 || value > 1 << 20) {
    return parser_error(p, at, "the count must be from 1 to %d", 1 << 20);
  }
  *count = (int)value;
  return true;
}

/* {(shape, ...)->shape}. It is compared with the entry computation at the end. */
typedef struct EntryLayout {
  const char *at; /* NULL: not stated */
  int count, capacity;
  const Shape **parameters;
  const Shape *result;
} EntryLayout;

static bool parse_entry_layout(Parser *p, EntryLayout *layout) {
  layout->at = p->lexer.start;
  if (!parser_expect(p, '{', "'{' before the layouts") ||
      !parser_expect(p, '(', "'(' before the parameters' shapes")) {
    return false;
  }
  while (p->lexer.kind != ')') {
    if (layout->count && !parser_expect(p, ',', "',' or ')' after a shape")) return false;
    const Shape *shape = parse_shape(p);
    if (!shape) return false;
    ARENA_PUSH(p->arena, layout->parameters, layout->count, layout->capacity, shape);
  }
  lexer_next(&p->lexer);
  if (!parser_expect(p, TOKEN_ARROW, "'->' before the result's shape")) return false;
  layout->result = parse_shape(p);
  return layout->result && parser_expect(p, '}', "'}' after the layouts");
}

/* {0}: (1, {}, may-alias) */
static bool parse_alias(Parser *p, Alias *alias) {
  if (!parse_int64_list(p, &alias->output_index) ||
      !parser_expect(p, ':', "':' after the output's index") ||
      !parser_expect(p, '(', "'(' before the parameter's number") ||
      !parse_int64(p, &alias->parameter) ||
      !parser_expect(p, ',', "',' after the parameter's number") ||
      !parse_int64_list(p, &alias->parameter_index)) {
    return false;
  }
  if (parser_accept(p, ',')) {
    alias->must = lexer_is_word(&p->lexer, "must-alias");
    if (!alias->must && !lexer_is_word(&p->lexer, "may-alias")) {
      return parser_expected(p, "may-alias or must-alias");
    }
    lexer_next(&p->lexer);
  }
  return parser_expect(p, ')', "')' after the alias");
}

static bool parse_aliases(Parser *p) {
  int count = 0, capacity = 0;
  Alias *aliases = NULL;
  if (!parser_expect(p, '{', "'{' before the aliases")) return false;
  while (p->lexer.kind != '}') {
    Alias alias = {0};
    if (count && !parser_expect(p, ',', "',' or '}' after an alias")) return false;
    if (!parse_alias(p, &alias)) return false;
    ARENA_PUSH(p->arena, aliases, count, capacity, alias);
  }
  lexer_next(&p->lexer);
  p->module->aliases = aliases;
  p->module->alias_count = count;
  return true;
}

/* Parses an attribute that is kept as text; of frontend attributes the meshes are read. */
static bool parse_other_header(Parser *p, Name name, bool is_frontend) {
  const FrontendAttributes *frontend =
      is_frontend ? parse_frontend_attributes(p, &p->module->meshes) : NULL;
  const char *value = frontend ? frontend->text : is_frontend ? NULL : parse_raw(p);
  if (!value) return false;
  const char *before = p->module->extra_header ? p->module->extra_header : "";
  p->module->extra_header = arena_printf(p->arena, "%s%s%.*s=%s", before, *before ? ", " : "",
                                         (int)name.length, name.text, value);
  return true;
}

static bool parse_header_attribute(Parser *p, Symbols *seen, EntryLayout *layout) {
  Name name;
  if (!parse_name(p, &name, "a module attribute")) return false;
  if (symbols_find(seen, name.text, name.length)) {
    return parser_error(p, name.at, "attribute %s is given twice", name_str(p, name));
  }
  symbols_add(seen, p->scratch, name.text, name.length, name.at, NULL);
  if (!parser_expect(p, '=', "'=' after the attribute's name")) return false;
  const char *text = name_str(p, name);
  if (!strcmp(text, "entry_computation_layout")) return parse_entry_layout(p, layout);
  if (!strcmp(text, "input_output_alias")) return parse_aliases(p);
  if (!strcmp(text, "replica_count")) return parse_count(p, &p->module->replica_count);
  if (!strcmp(text, "num_partitions")) return parse_count(p, &p->module->num_partitions);
  return parse_other_header(p, name, !strcmp(text, "frontend_attributes"));
}

static bool parse_header(Parser *p, EntryLayout *layout) {
  Name name;
  Symbols seen = {0};
  lexer_next(&p->lexer); /* HloModule */
  if (!parse_name(p, &name, "the module's name")) return false;
  p->module->name = arena_strndup(p->arena, name.text, name.length);
  parser_accept(p, ':'); /* as in old dumps */
  while (parser_accept(p, ',')) {
    if (!parse_header_attribute(p, &seen, layout)) return false;
  }
  return true;
}

/* Skips the tables of source positions, such as `1 "file.py"` and `1 {file_name_id=1 ...}`. */
static bool skip_tables(Parser *p) {
  static const char *const names[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  for (int i = 0; i < 4; i++) {
    if (!lexer_is_word(&p->lexer, names[i])) continue;
    lexer_next(&p->lexer);
    while (parser_accept(p, TOKEN_NUMBER)) {
      if (parser_accept(p, TOKEN_STRING)) continue;
      if (p->lexer.kind != '{') return parser_expected(p, "a string or '{'");
      const char *end = balanced_end(p->lexer.start, p->lexer.limit);
      if (!end) return parser_error(p, p->lexer.start, "the brace is not closed");
      lexer_seek(&p->lexer, end);
    }
  }
  return true;
}

static bool check_entry_layout(Parser *p, const EntryLayout *layout) {
  const Computation *entry = p->module->entry;
  if (!layout->at) return true;
  if (layout->count != entry->parameter_count) {
    return parser_error(p, layout->at,
                        "entry_computation_layout has %d parameters, but the computation %s has %d",
                        layout->count, entry->name, entry->parameter_count);
  }
  for (int i = 0; i < layout->count; i++) {
    const Shape *shape = entry->parameters[i]->shape;
    if (shape_compatible(layout->parameters[i], shape)) continue;
    return parser_error(
        p, layout->at, "entry_computation_layout has %s for parameter %d, which is %s",
        shape_str(p->scratch, layout->parameters[i]), i, shape_str(p->scratch, shape));
  }
  if (!shape_compatible(layout->result, entry->root->shape)) {
    return parser_error(
        p, layout->at, "entry_computation_layout has %s for the result, which is %s",
        shape_str(p->scratch, layout->result), shape_str(p->scratch, entry->root->shape));
  }
  p->module->parameter_layouts = layout->parameters;
  p->module->result_layout = layout->result;
  return true;
}

/* ---- The module ---- */

/* Parses instructions without a computation around them. */
static bool parse_bare_body(Parser *p, int end) {
  const char *at = p->lexer.start;
  Computation *computation = module_add_computation(p->module, "main");
  if (end == '}') lexer_next(&p->lexer);
  if (!parse_instructions(p, computation, end)) return false;
  add_definition(p, computation, at);
  return p->lexer.kind == TOKEN_END || parser_expected(p, "the end of the text");
}

static bool at_bare_instruction(const Parser *p) {
  Lexer ahead = p->lexer;
  if (lexer_is_word(&ahead, "ROOT")) return true;
  if (ahead.kind != TOKEN_NAME && ahead.kind != TOKEN_WORD) return false;
  lexer_next(&ahead);
  return ahead.kind == '=';
}

static bool parse_computations(Parser *p) {
  if (p->lexer.kind == '{') return parse_bare_body(p, '}');
  if (at_bare_instruction(p)) return parse_bare_body(p, TOKEN_END);
  do {
    if (!parse_computation(p)) return false;
  } while (p->lexer.kind != TOKEN_END);
  return true;
}

static bool parse_module(Parser *p) {
  EntryLayout layout = {0};
  bool has_header = lexer_is_word(&p->lexer, "HloModule");
  const char *nul = memchr(p->lexer.text, '\0', (size_t)(p->lexer.limit - p->lexer.text));
  if (nul) return parser_error(p, nul, "the text must not contain a NUL byte");
  if (p->lexer.kind == TOKEN_END) return parser_expected(p, "HloModule");
  if (has_header && (!parse_header(p, &layout) || !skip_tables(p))) return false;
  if (!parse_computations(p) || !finish_computations(p)) return false;
  if (!has_header) p->module->name = arena_printf(p->arena, "module_%s", p->entry->name);
  return check_entry_layout(p, &layout);
}

static void parser_init(Parser *p, Module *module, const char *text, size_t length, Error *error) {
  *p = (Parser){.module = module, .arena = module->arena, .scratch = arena_new(), .error = error};
  lexer_init(&p->lexer, text, length);
}

static bool verify(Parser *p) {
  const Instruction *culprit = NULL;
  if (verify_module_at(p->module, &culprit, p->error)) return true;
  for (int i = 0; culprit && i < p->position_count; i++) {
    if (p->positions[i].instruction != culprit) continue;
    lexer_position(&p->lexer, p->positions[i].at, &p->error->line, &p->error->column);
  }
  return false;
}

/* Notes each instruction's line. Instructions are in the text's order, and a line may make several. */
static void note_lines(Parser *p) {
  const char *at = p->lexer.text;
  int line = 1;
  for (int i = 0; i < p->position_count; i++) {
    for (; at < p->positions[i].at; at++) line += *at == '\n';
    ((Instruction *)p->positions[i].instruction)->line = line;
  }
}

Module *hlo_parse(const char *text, size_t length, Error *error) {
  return hlo_parse_with_data(text, length, NULL, error);
}

Module *hlo_parse_with_data(const char *text, size_t length, const TextData *data, Error *error) {
  Error ignored;
  Parser p;
  Module *module = module_new(NULL);
  parser_init(&p, module, text, length, error ? error : &ignored);
  p.data = data;
  bool good = parse_module(&p) && verify(&p);
  if (good && !(data && data->data))
    note_lines(&p); /* a text with data was generated: users have not seen its lines */
  arena_free(p.scratch);
  if (!good) {
    module_free(module);
    return NULL;
  }
  for (int i = 0; data && i < data->count; i++) module_own(module, data->data[i]);
  return module;
}

/* ---- Parts ---- */

bool hlo_parse_attributes(Module *module, Opcode opcode, const char *text, Attributes *attributes,
                          Int64List *broadcast_dimensions, Error *error) {
  Error ignored;
  Parser p;
  parser_init(&p, module, text, strlen(text), error ? error : &ignored);
  p.operation = opcode_name(opcode);
  AttributeContext context = {opcode, "", true, broadcast_dimensions, NULL};
  attributes_init(attributes);
  if (broadcast_dimensions) broadcast_dimensions->count = -1;
  bool good = parse_attributes(&p, &context, false, attributes) &&
              (p.lexer.kind == TOKEN_END || parser_expected(&p, "',' or the end"));
  arena_free(p.scratch);
  return good;
}

bool hlo_parse_header(Module *module, const char *text, Error *error) {
  Error ignored;
  Parser p;
  Symbols seen = {0};
  EntryLayout layout = {0};
  parser_init(&p, module, text, strlen(text), error ? error : &ignored);
  bool good = parse_header_attribute(&p, &seen, &layout);
  while (good && parser_accept(&p, ',')) good = parse_header_attribute(&p, &seen, &layout);
  good = good && (p.lexer.kind == TOKEN_END || parser_expected(&p, "',' or the end"));
  if (good && layout.at) {
    good = parser_error(&p, layout.at, "entry_computation_layout cannot be stated here");
  }
  arena_free(p.scratch);
  return good;
}

Literal *hlo_parse_literal(Arena *arena, const Shape *shape, const char *text, Error *error) {
  Error ignored;
  Parser p = {.arena = arena, .scratch = arena_new(), .error = error ? error : &ignored};
  lexer_init(&p.lexer, text, strlen(text));
  Literal *literal = parse_literal(&p, shape);
  if (literal && p.lexer.kind != TOKEN_END) {
    parser_expected(&p, "the end of the literal");
    literal = NULL;
  }
  arena_free(p.scratch);
  return literal;
}
