/*
** Tests evaluator rules that the golden corpus cannot reach, because XLA's importer rewrites or refuses them:
** computations applied to scalars in every form, asynchronous forms, physical bitcasts, stochastic rounding,
** inverse complex functions; and programs that the evaluator must refuse.
**
** Expected values are written as HLO literals. They follow from the operation's definition; those
** of the complex functions were computed with mpmath at 120 bits.
*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hlo/text/text.h"
#include "reference/eval.h"

typedef struct Row {
  const char *name, *hlo, *expected;
} Row;

/* f(x, y) on x = -3, 0.25, 100 and y = 1, 2, 3 by map, with computations `extra` and f's `body`. */
#define MAP(extra, body)                                                                 \
  "HloModule m\n" extra "f {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n" body \
  "\n}\nENTRY e {\n  a = f32[3] constant({-3, 0.25, 100})\n"                             \
  "  b = f32[3] constant({1, 2, 3})\n"                                                   \
  "  ROOT r = f32[3] map(a, b), dimensions={0}, to_apply=f\n}\n"

#define HALVE                                                      \
  "halve {\n  h = f32[] parameter(0)\n  c = f32[] constant(0.5)\n" \
  "  ROOT r = f32[] multiply(h, c)\n}\n"

static const Row applied[] = {
    {"op(p1, p0)", MAP("", "  ROOT r = f32[] subtract(y, x)"), "{4, 1.75, -97}"},
    {"clamp", MAP("", "  l = f32[] constant(0)\n  ROOT r = f32[] clamp(l, x, y)"), "{0, 0.25, 3}"},
    {"select and compare",
     MAP("", "  l = pred[] compare(x, y), direction=LT\n  ROOT r = f32[] select(l, y, x)"),
     "{1, 2, 100}"},
    {"convert",
     MAP("", "  i = s8[] convert(x)\n  j = f32[] convert(i)\n  ROOT r = f32[] add(j, y)"),
     "{-2, 2, 103}"},
    {"bitcast-convert",
     MAP("", "  i = u32[] bitcast-convert(x)\n  o = u32[] constant(2147483648)\n"
             "  j = u32[] xor(i, o)\n  ROOT r = f32[] bitcast-convert(j)"),
     "{3, -0.25, -100}"},
    {"4-bit bitcast-convert",
     MAP("", "  i = s4[] convert(x)\n  j = u4[] bitcast-convert(i)\n  ROOT r = f32[] convert(j)"),
     "{13, 0, 7}"},
    {"copies of scalars",
     MAP("", "  i = f32[] copy(x)\n  j = f32[] reshape(i)\n  k = f32[] broadcast(j), "
             "dimensions={}\n  ROOT r = f32[] add(k, y)"),
     "{-2, 2.25, 103}"},
    {"call", MAP(HALVE, "  i = f32[] call(x), to_apply=halve\n  ROOT r = f32[] add(i, y)"),
     "{-0.5, 2.125, 53}"},
    {"fusion",
     MAP(HALVE, "  i = f32[] fusion(x), kind=kLoop, calls=halve\n  ROOT r = f32[] add(i, y)"),
     "{-0.5, 2.125, 53}"},
    {"map", MAP(HALVE, "  ROOT r = f32[] map(x), dimensions={}, to_apply=halve"),
     "{-1.5, 0.125, 50}"},
    {"an array inside",
     MAP("g {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT r = f32[] add(p, q)\n}\n",
         "  v = f32[4] broadcast(x), dimensions={}\n"
         "  ROOT r = f32[] reduce(v, y), dimensions={0}, to_apply=g"),
     "{-11, 3, 403}"},
    {"a loop inside",
     MAP("c {\n  s = f32[] parameter(0)\n  l = f32[] constant(10)\n"
         "  ROOT r = pred[] compare(s, l), direction=LT\n}\n"
         "b {\n  s = f32[] parameter(0)\n  ROOT r = f32[] add(s, s)\n}\n",
         "  ROOT r = f32[] while(y), condition=c, body=b"),
     "{16, 16, 12}"},
};
#undef HALVE
#undef MAP

#define TWICE  "twice {\n  t = f32[2] parameter(0)\n  ROOT r = f32[2] add(t, t)\n}\n"
#define FLOATS "  a = f32[2] constant({1, -2.5})\n"

static const Row whole[] = {
    {"fusion",
     "HloModule m\n" TWICE "ENTRY e {\n" FLOATS
     "  ROOT r = f32[2] fusion(a), kind=kLoop, calls=twice\n}\n",
     "{2, -5}"},
    {"async-start, -update, -done",
     "HloModule m\n" TWICE "ENTRY e {\n" FLOATS
     "  s = ((f32[2]), f32[2], u32[]) async-start(a), calls=twice\n"
     "  u = ((f32[2]), f32[2], u32[]) async-update(s)\n  ROOT r = f32[2] async-done(u)\n}\n",
     "{2, -5}"},
    {"copy-start, copy-done",
     "HloModule m\nENTRY e {\n" FLOATS "  s = (f32[2], f32[2], u32[]) copy-start(a)\n"
     "  ROOT r = f32[2] copy-done(s)\n}\n",
     "{1, -2.5}"},
    {"opt-barrier and add-dependency",
     "HloModule m\nENTRY e {\n" FLOATS "  k = token[] after-all()\n"
     "  d = f32[2] add-dependency(a, k)\n  t = (f32[2], f32[2]) tuple(a, d)\n"
     "  o = (f32[2], f32[2]) opt-barrier(t)\n"
     "  ROOT r = f32[2] get-tuple-element(o), index=1\n}\n",
     "{1, -2.5}"},
    {"bitcast of layouts: the same memory, another order of dimensions",
     "HloModule m\nENTRY e {\n"
     "  a = f32[2,3]{1,0} constant({ {1, 2, 3}, {4, 5, 6} })\n"
     "  ROOT r = f32[3,2]{0,1} bitcast(a)\n}\n",
     "{ {1, 4}, {2, 5}, {3, 6} }"},
    {"bitcast to another type",
     "HloModule m\nENTRY e {\n" FLOATS "  ROOT r = s32[1,2] bitcast(a)\n}\n",
     "{ {1065353216, -1071644672} }"},
    /* 0.25 of 2^32 is 1073741824: smaller random numbers round away from zero. */
    {"stochastic-convert",
     "HloModule m\nENTRY e {\n"
     "  a = f32[8] constant({2.25, 2.25, -2.25, -2.25, 3, nan, inf, -1e20})\n"
     "  b = u32[8] constant({1073741823, 1073741824, 1073741823, 1073741824, 0, 0, 0, 0})\n"
     "  ROOT r = s32[8] stochastic-convert(a, b)\n}\n",
     "{3, 2, -3, -2, 3, 0, 2147483647, -2147483648}"},
    {"reduce-precision of an f8",
     "HloModule m\nENTRY e {\n  a = f8e5m2[4] constant({1.5, 1.25, 1.75, 3.5})\n"
     "  ROOT r = f8e5m2[4] reduce-precision(a), exponent_bits=5, mantissa_bits=1\n}\n",
     "{1.5, 1, 2, 4}"},
};

#define COMPLEX(opcode)                                                                   \
  "HloModule m\nENTRY e {\n  a = c128[4] constant({(0.5, 0.25), (-2, 1.5), (3, -0.125), " \
  "(-0.75, -4)})\n  ROOT r = c128[4] " opcode "(a)\n}\n"

static const Row complex_functions[] = {
    {"acos", COMPLEX("acos"),
     "{(1.0691874735193959, -0.28139605624529277), (2.4585614729788017, -1.6004100552346136), "
     "(0.044160063747637453, 1.7637816499875794), (1.7508970890606558, 2.1105397701879896)}"},
    {"acosh", COMPLEX("acosh"),
     "{(0.28139605624529277, 1.0691874735193959), (1.6004100552346136, 2.4585614729788017), "
     "(1.7637816499875794, -0.044160063747637453), (2.1105397701879896, -1.7508970890606558)}"},
    {"asin", COMPLEX("asin"),
     "{(0.50160885327550076, 0.28139605624529277), (-0.88776514618390509, 1.6004100552346136), "
     "(1.5266362630472592, -1.7637816499875794), (-0.18010076226575914, -2.1105397701879896)}"},
    {"asinh", COMPLEX("asinh"),
     "{(0.49267568342077062, 0.2243284526346675), (-1.6224941488715938, 0.60651151819975475), "
     "(1.8191871840143681, -0.039510981659918418), (-2.0823915018805747, -1.379738693199499)}"},
    {"atanh", COMPLEX("atanh"),
     "{(0.50037000005253102, 0.31439814320771648), (-0.31042828307719576, 1.3112232696716351), "
     "(0.34584295166932219, -1.5552068385120521), (-0.042808922928047956, -1.3333817009982243)}"},
    {"cosh", COMPLEX("cosh"),
     "{(1.0925708047319177, 0.12892104172809825), (0.26612719531354576, -3.6177750739401374), "
     "(9.9891107466640705, -1.2489758856613867), (-0.8462614700677672, -0.62233135466249686)}"},
    {"sinh", COMPLEX("sinh"),
     "{(0.50489571438799502, 0.27897912835026152), (-0.25655395609048179, 3.7527713404792983), "
     "(9.9397121335712888, -1.2551830751361823), (0.53750208615926804, 0.97981954047690089)}"},
};
#undef COMPLEX

/* Fails huge allocations, as malloc does in WebAssembly. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* Here `expected` is part of the message. */
static const Row refused[] = {
    {"a collective",
     "HloModule m\ns {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
     "  ROOT r = f32[] add(x, y)\n}\nENTRY e {\n" FLOATS
     "  ROOT r = f32[2] all-reduce(a), replica_groups={}, to_apply=s\n}\n",
     "FAILED_PRECONDITION: all-reduce: "},
    {"a value that cannot fit",
     "HloModule m\nENTRY e {\n  a = f32[] constant(1)\n"
     "  b = f32[16384,16384,16384] broadcast(a), dimensions={}\n"
     "  ROOT r = f32[1,1,1] slice(b), slice={[0:1], [0:1], [0:1]}\n}\n",
     "RESOURCE_EXHAUSTED: out of memory: a value of shape f32[16384,16384,16384]"},
    {"stochastic-convert to a float",
     "HloModule m\nENTRY e {\n" FLOATS "  b = u32[2] constant({1, 2})\n"
     "  ROOT r = bf16[2] stochastic-convert(a, b)\n}\n",
     "UNIMPLEMENTED: stochastic-convert: operand f32 cannot become bf16"},
};

/* ---- Running ---- */

static int failures;

static void fail(const Row *row, const char *what) {
  printf("FAIL %s: %s\n", row->name, what);
  failures++;
}

static Literal *run(const Row *row, Module **module, Arena *arena, Error *error) {
  *module = hlo_parse(row->hlo, strlen(row->hlo), error);
  if (!*module) return NULL;
  EvalContext context = {.arena = arena, .error = error};
  return eval_computation((*module)->entry, NULL, &context);
}

static bool within(const Literal *got, const Literal *want, double tolerance) {
  if (tolerance == 0) return !memcmp(got->data, want->data, (size_t)shape_bytes(want->shape));
  PrimitiveType part = type_complex_component(want->shape->type);
  int64_t count = shape_bytes(want->shape) / type_bytes(part);
  for (int64_t i = 0; i < count; i++) {
    double x = scalar_load(part, got->data, i).f, y = scalar_load(part, want->data, i).f;
    if (!(fabs(x - y) <= tolerance * fabs(y))) return false;
  }
  return true;
}

static void expect_values(const Row *rows, size_t count, double tolerance) {
  for (const Row *row = rows; row < rows + count; row++) {
    Error error = {0};
    Arena *arena = arena_new();
    Module *module;
    Literal *got = run(row, &module, arena, &error);
    Literal *want = got ? hlo_parse_literal(arena, got->shape, row->expected, &error) : NULL;
    if (!got || !want) {
      fail(row, error.message);
    } else if (!within(got, want, tolerance)) {
      StrBuf text = {0};
      hlo_print_literal(got, &text);
      fail(row, text.text);
      strbuf_free(&text);
    }
    module_free(module);
    arena_free(arena);
  }
}

static void expect_refusals(const Row *rows, size_t count) {
  for (const Row *row = rows; row < rows + count; row++) {
    Error error = {0};
    char message[ERROR_MESSAGE_SIZE + 64] = "nothing was refused";
    Arena *arena = arena_new();
    Module *module;
    if (!run(row, &module, arena, &error)) {
      snprintf(message, sizeof message, "%s: %s", status_code_name(error.code), error.message);
    }
    if (strncmp(message, row->expected, strlen(row->expected))) fail(row, message);
    module_free(module);
    arena_free(arena);
  }
}

/* f0(x) = x, f1(x) = f0(x), ...: built without the parser, which has a limit of its own. */
static Module *nested_calls(int depth) {
  Module *module = module_new("nested");
  const Shape *shape = shape_scalar(F32);
  Computation *callee = NULL;
  for (int i = 0; i <= depth; i++) {
    Computation *computation = module_add_computation(module, NULL);
    Instruction *x = computation_add_parameter(computation, 0, shape, "x");
    Attributes attributes;
    attributes_init(&attributes);
    attributes.to_apply = callee;
    if (callee) computation_add(computation, HLO_CALL, shape, &x, 1, &attributes);
    module->entry = callee = computation;
  }
  return module;
}

static void expect_depth(int depth, StatusCode expected) {
  static const Row row = {.name = "nested calls"};
  Error error = {0};
  Module *module = nested_calls(depth);
  Arena *arena = arena_new();
  EvalContext context = {.arena = arena, .error = &error};
  Literal *x = literal_new(arena, shape_scalar(F32));
  bool ok = eval_computation(module->entry, &x, &context) != NULL;
  if (ok != (expected == STATUS_OK) || error.code != expected || context.depth != 0) {
    fail(&row, ok ? "were evaluated" : error.message);
  }
  arena_free(arena);
  module_free(module);
}

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

int main(void) {
  expect_values(applied, COUNT(applied), 0);
  expect_values(whole, COUNT(whole), 0);
  expect_values(complex_functions, COUNT(complex_functions), 0x1p-50);
  expect_refusals(refused, COUNT(refused));
  expect_depth(100, STATUS_OK);
  expect_depth(1000, STATUS_RESOURCE_EXHAUSTED);
  size_t count = COUNT(applied) + COUNT(whole) + COUNT(complex_functions) + COUNT(refused) + 2;
  printf("%zu evaluator rows, %d failed\n", count, failures);
  return failures != 0;
}
