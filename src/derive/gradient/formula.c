/*
** Reads the formulas of opcodes.def, and adds instructions for them.
**
**   choice   = test [ "?" choice ":" choice ]
**   test     = compared { "&" compared }
**   compared = sum [ ( "==" | "!=" | "<=" | ">=" | "<" | ">" ) sum ]
**   sum      = product { ( "+" | "-" ) product }
**   product  = factor { ( "*" | "/" ) factor }
**   factor   = "-" factor | number | name | name "(" choice { "," choice } ")" | "(" choice ")"
**
** t is the tangent, and x, y, w, v are the operands; z is the result, u a second one; pi is the number; `again` is a call of
** the same function (functions.h). lgamma(x) is the logarithm of the gamma function, for positive x. Another name is an
** operation, as HLO text spells it. All values are arrays of the result's shape, or predicates of its dimensions.
*/
#include <assert.h>
#include <string.h>

#include "base/host/platform.h"
#include "derive/gradient/linear.h"

/* Threshold MAX_DIGITS: digits of a number in a formula of this project's own tables. No path. */
enum { MAX_DIGITS = 40 };

typedef struct Reader {
  WorkingComputation *working;
  const FormulaNames *names;
  const char *at;
} Reader;

static Instruction *choice(Reader *r);

static bool takes(Reader *r, const char *token) {
  while (*r->at == ' ') r->at++;
  size_t length = strlen(token);
  if (strncmp(r->at, token, length) != 0) return false;
  r->at += length;
  return true;
}

/* Scalars among the operands of clamp and select count for each element. Integers, and floats of another type, are
** converted. */
static Instruction *spread(Reader *r, Instruction *x) {
  const Shape *shape = r->names->shape;
  TypeKind kind = type_kind(x->shape->type);
  bool is_other =
      kind == KIND_SIGNED || (kind == KIND_FLOAT && type_kind(shape->type) == KIND_FLOAT);
  if (is_other && has_derivative(shape)) x = make_convert(&r->working->m, x, shape->type);
  if (x->shape->rank == shape->rank) return x;
  return make_broadcast(&r->working->m, x, shape, (Int64List){0});
}

/* By C. Lanczos, of x + 1: the gamma function of x is that by x. */
static Instruction *log_gamma(Reader *r, Instruction *x) {
  static const char formula[] =
      "(x + 0.5 - (x + 7.5) / (log-plus-one(x / 7.5) + 2.0149030205422647)) * "
      "(log-plus-one(x / 7.5) + 2.0149030205422647) + 0.9189385332046727 + "
      "log(0.9999999999998099 + 676.5203681218851 / (x + 1) - 1259.1392167224028 / (x + 2) + "
      "771.3234287776531 / (x + 3) - 176.6150291621406 / (x + 4) + 12.507343278686905 / (x + 5) - "
      "0.13857109526572012 / (x + 6) + 0.000009984369578019572 / (x + 7) + "
      "0.00000015056327351493116 / (x + 8)) - log(x)";
  return add_named_formula(r->working, formula,
                           &(FormulaNames){.shape = r->names->shape, .operands = &x, .tangent = x});
}

static Instruction *named(Reader *r, const char *name, size_t length) {
  static const char operands[] = "xywv";
  const FormulaNames *names = r->names;
  if (length == 1) {
    const char *operand = strchr(operands, *name);
    if (operand) return spread(r, names->operands[operand - operands]);
    return *name == 't' ? spread(r, names->tangent) : names->results[*name == 'u'];
  }
  if (length == 2 && !memcmp(name, "pi", 2)) {
    return make_number(&r->working->m, names->shape, 3.14159265358979323846);
  }
  if (length == 5 && !memcmp(name, "again", 5)) return names->again;
  Opcode opcode = OPCODE_COUNT;
  opcode_from_name(name, length, &opcode);
  Instruction *operands_of[3];
  int count = 0;
  takes(r, "(");
  do operands_of[count++] = choice(r);
  while (takes(r, ","));
  takes(r, ")");
  if (opcode == OPCODE_COUNT) return log_gamma(r, operands_of[0]);
  return make(&r->working->m, opcode, NULL, operands_of, count, NULL);
}

/* A hyphen belongs to a name if a letter follows at once. */
static size_t name_length(const char *at) {
  size_t n = 0;
  while ((at[n] >= 'a' && at[n] <= 'z') || (n && at[n] >= '0' && at[n] <= '9') ||
         (n && at[n] == '-' && at[n + 1] >= 'a' && at[n + 1] <= 'z')) {
    n++;
  }
  return n;
}

/* The C library's strtod takes 9 kB of the download. */
static double number(Reader *r) {
  char digits[MAX_DIGITS + 1] = "";
  size_t length = strspn(r->at, "0123456789.");
  assert(length <= MAX_DIGITS);
  memcpy(digits, r->at, length);
  r->at += length;
  return platform_parse_decimal(digits);
}

static Instruction *factor(Reader *r) {
  if (takes(r, "-")) return make_unary(&r->working->m, HLO_NEGATE, factor(r));
  if (takes(r, "(")) {
    Instruction *inner = choice(r);
    takes(r, ")");
    return inner;
  }
  size_t length = name_length(r->at);
  if (length) {
    const char *name = r->at;
    r->at += length;
    return named(r, name, length);
  }
  return make_number(&r->working->m, r->names->shape, number(r));
}

static Instruction *product(Reader *r) {
  Instruction *x = factor(r);
  for (;;) {
    if (takes(r, "*")) {
      x = make_binary(&r->working->m, HLO_MULTIPLY, x, factor(r));
    } else if (takes(r, "/")) {
      x = make_binary(&r->working->m, HLO_DIVIDE, x, factor(r));
    } else {
      return x;
    }
  }
}

static Instruction *sum(Reader *r) {
  Instruction *x = product(r);
  for (;;) {
    if (takes(r, "+")) {
      x = make_binary(&r->working->m, HLO_ADD, x, product(r));
    } else if (takes(r, "-")) {
      x = make_binary(&r->working->m, HLO_SUBTRACT, x, product(r));
    } else {
      return x;
    }
  }
}

static Instruction *compared(Reader *r) {
  static const struct {
    const char *token;
    ComparisonDirection direction;
  } comparisons[] = {{"==", COMPARE_EQ}, {"!=", COMPARE_NE}, {"<=", COMPARE_LE},
                     {">=", COMPARE_GE}, {"<", COMPARE_LT},  {">", COMPARE_GT}};
  Instruction *x = sum(r);
  for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
    if (takes(r, comparisons[i].token)) {
      return make_compare(&r->working->m, comparisons[i].direction, x, sum(r));
    }
  }
  return x;
}

static Instruction *test(Reader *r) {
  Instruction *x = compared(r);
  while (takes(r, "&")) x = make_binary(&r->working->m, HLO_AND, x, compared(r));
  return x;
}

static Instruction *choice(Reader *r) {
  Instruction *condition = test(r);
  if (!takes(r, "?")) return condition;
  Instruction *then = choice(r);
  takes(r, ":");
  return make_select(&r->working->m, condition, then, choice(r));
}

Instruction *add_named_formula(WorkingComputation *working, const char *formula,
                               const FormulaNames *names) {
  Reader r = {working, names, formula};
  while (*r.at == ' ') r.at++;
  return choice(&r);
}

Instruction *add_formula(WorkingComputation *working, const char *formula, Instruction *instruction,
                         Instruction *tangent) {
  return add_named_formula(working, formula,
                           &(FormulaNames){.shape = instruction->shape,
                                           .operands = instruction->operands,
                                           .results = &instruction,
                                           .tangent = tangent});
}
