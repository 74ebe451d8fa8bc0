/*
** Declares the parser's shared state and functions; private to parser*.c, attribute_parser.c and literal_parser.c.
**
** A parse function reads from the current token on. Afterwards the current token is the first one that it did not
** read. It returns false or NULL after parser_error(), and the whole parse ends.
*/
#ifndef XLA_HLO_TEXT_PARSER_H
#define XLA_HLO_TEXT_PARSER_H

#include "hlo/ir/module.h"
#include "hlo/text/lexer.h"
#include "hlo/text/text.h"

/* Threshold MAX_NESTING: deeper text is refused: operands in operands, computations in attributes, and tuples in tuple
** literals. The stack of a WebAssembly worker is small; XLA's own programs stay far below. No path. */
enum { MAX_NESTING = 100 };

/* An entry of a table of names, which are slices of the text. */
typedef struct Symbol {
  const char *name; /* NULL: an empty slot */
  size_t length;
  const char *at; /* where it was defined (or first mentioned) */
  void *value;
} Symbol;
typedef struct Symbols {
  int count, capacity; /* capacity: a power of two, or 0 */
  Symbol *slots;
} Symbols;

/* Returns the symbol of that name, or NULL. */
Symbol *symbols_find(const Symbols *symbols, const char *name, size_t length);
/* Adds a new name. The result is valid until the next addition. */
Symbol *symbols_add(Symbols *symbols, Arena *arena, const char *name, size_t length, const char *at,
                    void *value);

typedef struct Position { /* of an instruction in the text */
  const Instruction *instruction;
  const char *at;
} Position;

typedef struct Definition {
  Computation *computation;
  const char *at;
} Definition;

typedef struct Parser {
  Lexer lexer;
  Module *module;
  Arena *arena;   /* the module's */
  Arena *scratch; /* freed after the parse */
  Error *error;
  const TextData *data;  /* the literals beside the text; may be NULL */
  const char *operation; /* opcode name to put into errors; NULL outside of instructions */
  int nesting;

  Symbols computations; /* by name, of Computation; those only mentioned so far have no root */
  int defined_count, defined_capacity;
  Definition *defined; /* in the text's order */
  Computation *entry;  /* the one marked ENTRY */
  Symbols skipped;     /* computations with dimensions without a bound, which no other may call */
  /* the first `?` that is not before the computation being read, or the text's end */
  const char *question;
  const char *entry_at;

  Computation *computation; /* being read; NULL in hlo_parse_attributes */
  Symbols *instructions;    /* its names so far */
  int position_count, position_capacity;
  Position *positions;
} Parser;

/* A name in the text. */
typedef struct Name {
  const char *text;
  size_t length;
  const char *at;
} Name;

/* Reports an error at `at`. Always returns false. */
bool parser_error(Parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports "expected <what>, found <the current token>". */
bool parser_expected(Parser *p, const char *what);

bool parser_accept(Parser *p, int kind); /* steps over the token if it is of that kind */
bool parser_expect(Parser *p, int kind, const char *what); /* or fails: "expected <what>" */
bool parser_enter(Parser *p); /* one level of nesting deeper; undone by p->nesting-- */

bool parse_int64(Parser *p, int64_t *value);
bool parse_int64s(Parser *p, Int64List *out);     /* 1,2,3: at least one */
bool parse_int64_list(Parser *p, Int64List *out); /* {1,2,3} */
typedef struct Int64Lists {
  int count;
  const Int64List *items;
} Int64Lists;
typedef struct Items {
  int count, capacity;
  void *items;
} Items;
bool parse_int64_lists(Parser *p, Int64Lists *out); /* {{1,2},{3}} */
/* Parses a list of items in braces: each by `item`, which is given `data`. */
bool parse_list(Parser *p, bool (*item)(Parser *p, void *data), void *data);
/* Parses items between `open` and `close`, with commas between them. `item` parses one into its place, `size` zeroed bytes.
** Returns a count of -1 if it fails. */
Items parse_items(Parser *p, char open, char close, bool (*item)(Parser *p, void *item),
                  size_t size);
bool parse_name(Parser *p, Name *name, const char *what);
const Shape *parse_shape(Parser *p);
bool at_shape(const Parser *p); /* whether a shape begins here */
char *parser_string(Parser *p); /* the current token's contents; does not step over it */
const char *name_str(Parser *p, Name name);

/* parser_instruction.c: ROOT? name = shape opcode(operands), attributes. Sets *root after ROOT. */
bool parse_instruction(Parser *p, Instruction **root);

/* parser_computation.c */
/* Parses instructions into `computation`, up to and including the token `end`. */
bool parse_instructions(Parser *p, Computation *computation, int end);
/* Fills in the list of parameters from the instructions. */
bool number_parameters(Parser *p, Computation *computation);
/* Parses a computation's name, which may be defined later, or a computation in braces. */
bool parse_called(Parser *p, Computation **computation);
bool parse_computation(Parser *p);
void add_definition(Parser *p, Computation *computation, const char *at);
/* Ends the parse: checks that each computation is defined and none recursive, and sorts the list. */
bool finish_computations(Parser *p);

/* sharding_parser.c */
bool parse_sharding(Parser *p, const OpSharding **out);
/* Keeps frontend attributes as text, with records of the known ones. `meshes`: of a module's header; else NULL. */
const FrontendAttributes *parse_frontend_attributes(Parser *p, MeshList *meshes);

/* attribute_parser.c */
/* {{1,2},{3,4}} */
bool parse_pairs(Parser *p, PairList *out);
typedef struct AttributeContext {
  Opcode opcode;
  const char *extra;   /* names of more attributes, as in opcodes.def; or "" */
  bool scalar_operand; /* the first operand is a scalar: then broadcast needs no dimensions */
  Int64List *broadcast_dimensions; /* XlaBuilder's broadcast_dimensions goes here; NULL: refused */
  const char *at;                  /* the operation in the text; NULL: where the attributes begin */
} AttributeContext;
/* Parses (',' attribute)*, without the first comma if `leading` is false. Fails if a required one is absent. */
bool parse_attributes(Parser *p, const AttributeContext *context, bool leading, Attributes *out);
/* Fails if the operation has a required attribute. */
bool require_no_attributes(Parser *p, const AttributeContext *context);
/* Returns the text of a value: a word, a string, a group in brackets, or a literal with its shape. NULL if
** it is something else. */
char *parse_raw(Parser *p);

/* replica_group_parser.c: {{0,1},{2,3}}, [2,4]<=[8], mesh['a'=2,'b'=4] {'b'} */
bool parse_replica_groups(Parser *p, ReplicaGroups *out);

/* literal_parser.c */
Literal *parse_literal(Parser *p, const Shape *shape);

#endif
