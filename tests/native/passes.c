/*
** Tests the passes: the program after them, and that it computes the same bits as before. A row names a program
** and the operations of its entry computation, in order and without parameters, after the pipeline has run
** without fusion. Every program then runs again with fusion.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "hlo/infer/verifier.h"
#include "hlo/text/text.h"
#include "reference/eval.h"
#include "rewrite/pipeline.h"

typedef struct Row {
  const char *name;
  const char *before; /* computations that the entry calls */
  const char *entry;  /* its instructions after x = f32[2,3], y = f32[2,3], i = s32[2,3] */
  const char *left;
} Row;

/* The same, and the operations left with a target. */
typedef struct Lowered {
  Row row;
  const char *lowered;
} Lowered;

#define ADD \
  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n"
#define GREATER                                                \
  "ge {\n  c = f32[] parameter(0)\n  d = f32[] parameter(1)\n" \
  "  ROOT s = pred[] compare(c, d), direction=GE\n}\n"
#define NEGATE "f {\n  a = f32[2,3] parameter(0)\n  ROOT r = f32[2,3] negate(a)\n}\n"
#define STEP                                                                            \
  "f {\n  a = f32[3] parameter(0)\n  b = f32[3] parameter(1)\n  s = f32[3] add(a, b)\n" \
  "  ROOT t = (f32[3], f32[3]) tuple(s, s)\n}\n"
#define ZERO(type) "z = " type "[] constant(0)\nzb = " type "[2,3] broadcast(z), dimensions={}\n"
#define ONE(type)  "o = " type "[] constant(1)\nob = " type "[2,3] broadcast(o), dimensions={}\n"

static const Row rows[] = {
    /* Algebra that keeps every bit, and similar rewrites that would not. */
    {"x + 0 of integers", "", ZERO("s32") "ROOT r = s32[2,3] add(i, zb)", ""},
    {"x + 0 of floats turns -0 into 0", "", ZERO("f32") "ROOT r = f32[2,3] add(x, zb)",
     "constant broadcast add"},
    {"x - 0", "", ZERO("f32") "ROOT r = f32[2,3] subtract(x, zb)", ""},
    {"x * 1", "", ONE("f32") "ROOT r = f32[2,3] multiply(ob, x)", ""},
    {"x / 1", "", ONE("f32") "ROOT r = f32[2,3] divide(x, ob)", ""},
    {"1 / x", "", ONE("f32") "ROOT r = f32[2,3] divide(ob, x)", "constant broadcast divide"},
    {"x ^ 2", "",
     "p = f32[] constant(2)\npb = f32[2,3] broadcast(p), dimensions={}\n"
     "ROOT r = f32[2,3] power(x, pb)",
     "multiply"},
    {"bitcast between layouts", "", "ROOT r = f32[3,2]{0,1} bitcast(x)", "transpose"},
    {"bitcast from a layout", "",
     "t = f32[3,2]{0,1} transpose(x), dimensions={1,0}\nROOT r = f32[6] bitcast(t)", "reshape"},
    {"bitcast to another type and layout", "",
     "n = f32[2,3]{0,1} negate(x)\nROOT r = s32[2,1,3]{1,0,2} bitcast(n)",
     "negate transpose bitcast-convert reshape transpose"},
    {"-(-x)", "", "n = f32[2,3] negate(x)\nROOT r = f32[2,3] negate(n)", ""},
    {"i | i", "", "ROOT r = s32[2,3] or(i, i)", ""},
    {"i << 0", "", ZERO("s32") "ROOT r = s32[2,3] shift-left(i, zb)", ""},
    {"select of the same", "",
     "p = pred[2,3] compare(x, y), direction=LT\nROOT r = f32[2,3] select(p, x, x)", ""},
    {"select by a constant", "", "p = pred[] constant(false)\nROOT r = f32[2,3] select(p, x, y)",
     ""},
    {"there and back through a wider type", "",
     "w = s64[2,3] convert(i)\nROOT r = s32[2,3] convert(w)", ""},
    {"there and back through a narrower one", "",
     "w = s8[2,3] convert(i)\nROOT r = s32[2,3] convert(w)", "convert convert"},
    {"one of two constants, converted", "",
     "p = pred[2,3] compare(x, y), direction=LT\na = s32[] constant(255)\n"
     "ab = s32[2,3] broadcast(a), dimensions={}\n" ZERO(
         "s32") "c = s32[2,3] select(p, ab, zb)\nROOT r = u8[2,3] convert(c)",
     "compare constant broadcast constant broadcast select"},
    {"one of a constant and something, converted", "",
     "p = pred[2,3] compare(x, y), direction=LT\n" ZERO(
         "s32") "c = s32[2,3] select(p, i, zb)\nROOT r = u8[2,3] convert(c)",
     "compare constant broadcast select convert"},
    /* Data movement. */
    {"transposes that undo each other", "",
     "t = f32[3,2] transpose(x), dimensions={1,0}\n"
     "ROOT r = f32[2,3] transpose(t), dimensions={1,0}",
     ""},
    {"transposes into a dot", "",
     "t = f32[3,2] transpose(x), dimensions={1,0}\nu = f32[3,2] transpose(y), dimensions={1,0}\n"
     "ROOT r = f32[3,3] dot(t, u), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     "dot"},
    {"a dot's transpose", "",
     "d = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "ROOT r = f32[2,2] transpose(d), dimensions={1,0}",
     "dot"},
    {"a dot that others need as it is", "",
     "d = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "t = f32[2,2] transpose(d), dimensions={1,0}\nROOT r = f32[2,2] add(d, t)",
     "dot transpose add"},
    {"a transpose whose order a dot keeps", "",
     "a = f32[2,3,2] broadcast(x), dimensions={0,1}\n"
     "t = f32[2,2,3] transpose(a), dimensions={2,0,1}\n"
     "ROOT r = f32[2,2,2] dot(t, y), lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "broadcast transpose dot"},
    {"transposes around a convolution", "",
     "a = f32[1,2,3,1] reshape(x)\nt = f32[1,1,3,2] transpose(a), dimensions={0,3,2,1}\n"
     "b = f32[2,3,1,1] reshape(y)\nu = f32[3,2,1,1] transpose(b), dimensions={1,0,2,3}\n"
     "c = f32[1,1,4,2] convolution(t, u), window={size=3x2 pad=2_1x0_1}, "
     "dim_labels=bf01_01io->bf01\n"
     "ROOT r = f32[1,1,2,4] transpose(c), dimensions={0,1,3,2}",
     "reshape reshape convolution"},
    {"reshapes", "", "a = f32[6] reshape(x)\nROOT r = f32[3,2] reshape(a)", "reshape"},
    {"a transpose of a dimension of one", "",
     "a = f32[1,2,3] reshape(x)\nROOT r = f32[2,1,3] transpose(a), dimensions={1,0,2}", "reshape"},
    {"broadcasts", "",
     "a = f32[2,3,4] broadcast(x), dimensions={0,1}\n"
     "ROOT r = f32[5,2,3,4] broadcast(a), dimensions={1,2,3}",
     "broadcast"},
    {"slices", "",
     "a = f32[2,2] slice(x), slice={[0:2],[1:3]}\nROOT r = f32[1,2] slice(a), slice={[1:2],[0:2]}",
     "slice"},
    {"a slice of everything", "", "ROOT r = f32[2,3] slice(x), slice={[0:2],[0:3]}", ""},
    {"padding by nothing", "",
     "z = f32[] constant(0)\nROOT r = f32[2,3] pad(x, z), padding=0_0x0_0", ""},
    {"a concatenation with nothing", "",
     "e = f32[2,0] slice(x), slice={[0:2],[1:1]}\n"
     "ROOT r = f32[2,3] concatenate(x, e), dimensions={1}",
     ""},
    {"a dynamic slice at constants, clamped", "",
     "s = s32[] constant(7)\nt = s32[] constant(-1)\n"
     "ROOT r = f32[1,2] dynamic-slice(x, s, t), dynamic_slice_sizes={1,2}",
     "slice"},
    {"an update of everything", "",
     "s = s32[] constant(0)\nROOT r = f32[2,3] dynamic-update-slice(x, y, s, s)", ""},
    {"a copy", "", "ROOT r = f32[2,3] copy(x)", ""},
    /* Tuples and control flow. */
    {"an element of a tuple", "",
     "t = (f32[2,3], s32[2,3]) tuple(x, i)\n"
     "ROOT r = s32[2,3] get-tuple-element(t), index=1",
     ""},
    {"a call", NEGATE, "ROOT r = f32[2,3] call(x), to_apply=f", "negate"},
    {"a fusion of another compiler", NEGATE, "ROOT r = f32[2,3] fusion(x), kind=kLoop, calls=f",
     "negate"},
    {"a map",
     "m {\n  a = f32[] parameter(0)\n  c = f32[] constant(2)\n  ROOT r = f32[] add(a, c)\n}\n",
     "ROOT r = f32[2,3] map(x), dimensions={0,1}, to_apply=m", "constant broadcast add"},
    {"a branch that is known",
     NEGATE "g {\n  b = f32[2,3] parameter(0)\n  ROOT s = f32[2,3] abs(b)\n}\n",
     "p = pred[] constant(false)\n"
     "ROOT r = f32[2,3] conditional(p, x, y), true_computation=f, false_computation=g",
     "abs"},
    {"a branch by an index beyond the last",
     NEGATE "g {\n  b = f32[2,3] parameter(0)\n  ROOT s = f32[2,3] abs(b)\n}\n",
     "p = s32[] constant(9)\n"
     "ROOT r = f32[2,3] conditional(p, x, y), branch_computations={f, g}",
     "abs"},
    {"a loop that never runs",
     NEGATE "c {\n  q = f32[2,3] parameter(0)\n  ROOT s = pred[] constant(false)\n}\n",
     "ROOT r = f32[2,3] while(x), condition=c, body=f", ""},
    {"a scan", STEP,
     "z = f32[3] constant({1, 2, 3})\n"
     "s = (f32[2,3], f32[3]) scan(x, z), dimensions={0}, num_carries=1, to_apply=f\n"
     "ROOT r = f32[3] get-tuple-element(s), index=1", /* no instruction reads its stacked values */
     "constant constant tuple while get-tuple-element"},
    {"a scan of nothing", STEP,
     "z = f32[3] constant({1, 2, 3})\nn = f32[0,3] slice(x), slice={[0:0], [0:3]}\n"
     "s = (f32[0,3], f32[3]) scan(n, z), dimensions={0}, num_carries=1, to_apply=f\n"
     "ROOT r = f32[3] get-tuple-element(s), index=1",
     "constant"},
    {"a scaled-dot", "",
     "s = f32[1,3] slice(y), slice={[0:1], [0:3]}\n"
     "ROOT r = f32[3,3] scaled-dot(x, y, x, s), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={0}",
     "slice multiply reshape broadcast reshape multiply dot"},
    {"an asynchronous call", NEGATE,
     "s = ((f32[2,3]), f32[2,3], u32[]) async-start(x), calls=f\n"
     "ROOT r = f32[2,3] async-done(s), calls=f",
     "negate"},
    {"an asynchronous all-reduce", ADD,
     "s = f32[2,3] all-reduce-start(x), replica_groups={}, to_apply=add\n"
     "ROOT r = f32[2,3] all-reduce-done(s)",
     "all-reduce"},
    /* Constants, common subexpressions, dead code. */
    {"constants", "",
     "a = f32[] constant(3)\nb = f32[] constant(4)\nc = f32[] multiply(a, b)\n"
     "d = f32[] sqrt(c)\ncb = f32[2,3] broadcast(d), dimensions={}\n"
     "ROOT r = f32[2,3] add(x, cb)",
     "constant broadcast add"},
    {"a constant that would grow", "",
     "a = f32[] constant(3)\nROOT r = f32[100,100] broadcast(a), dimensions={}",
     "constant broadcast"},
    {"the same twice", "",
     "a = f32[2,3] add(x, y)\nb = f32[2,3] add(x, y)\nROOT r = f32[2,3] multiply(a, b)",
     "add multiply"},
    {"not quite the same", "",
     "a = pred[2,3] compare(x, y), direction=LT\nb = pred[2,3] compare(x, y), direction=LE\n"
     "ROOT r = pred[2,3] and(a, b)",
     "compare compare and"},
    {"unused", "", "a = f32[2,3] exponential(x)\nROOT r = f32[2,3] abs(x)", "abs"},
    {"a side effect", "",
     "t = token[] after-all()\no = token[] outfeed(x, t)\nROOT r = f32[2,3] abs(x)",
     "after-all outfeed abs"},
    /* For the run with fusion: operations that may, or may not, be one loop. */
    {"a softmax", ADD,
     "m = f32[] constant(-inf)\nz = f32[] constant(0)\ne = f32[2,3] multiply(x, x)\n"
     "s = f32[2] reduce(e, z), dimensions={1}, to_apply=add\n"
     "b = f32[2,3] broadcast(s), dimensions={0}\nROOT r = f32[2,3] divide(e, b)",
     "constant multiply reduce broadcast divide"},
    {"two results", "",
     "a = f32[2,3] add(x, y)\nb = f32[2,3] negate(a)\nc = f32[2,3] abs(a)\n"
     "ROOT r = (f32[2,3], f32[2,3], f32[2,3]) tuple(b, a, c)",
     "add negate abs tuple"},
    {"a reshape that both a loop and the result need", "",
     "a = f32[2,3] multiply(x, y)\nb = f32[3,2] reshape(a)\nc = f32[3,2] abs(b)\n"
     "ROOT r = (f32[3,2], f32[3,2]) tuple(b, c)",
     "multiply reshape abs tuple"},
    {"a gradient of pooling", ADD GREATER,
     "z = f32[] constant(0.5)\ns = f32[1,1] slice(y), slice={[1:2],[2:3]}\n"
     "ROOT r = f32[2,3] select-and-scatter(x, s, z), window={size=2x2 stride=2x2}, "
     "select=ge, scatter=add",
     "constant slice select-and-scatter"},
    {"a gradient of overlapping windows", ADD GREATER,
     "z = f32[] constant(0.5)\n"
     "ROOT r = f32[2,3] select-and-scatter(x, y, z), window={size=2x2 pad=1_0x-1_2}, "
     "select=ge, scatter=add",
     "constant select-and-scatter"},
    {"a short loop",
     "below {\n  p = (s32[], f32[2,3]) parameter(0)\n"
     "  k = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(3)\n"
     "  ROOT l = pred[] compare(k, n), direction=LT\n}\n"
     "twice {\n  p = (s32[], f32[2,3]) parameter(0)\n"
     "  k = s32[] get-tuple-element(p), index=0\n"
     "  v = f32[2,3] get-tuple-element(p), index=1\n  o = s32[] constant(1)\n"
     "  m = s32[] add(k, o)\n  w = f32[2,3] add(v, v)\n"
     "  ROOT t = (s32[], f32[2,3]) tuple(m, w)\n}\n",
     "k = s32[] constant(0)\ns = (s32[], f32[2,3]) tuple(k, x)\n"
     "w = (s32[], f32[2,3]) while(s), condition=below, body=twice\n"
     "ROOT r = f32[2,3] get-tuple-element(w), index=1",
     "constant tuple while get-tuple-element"},
    {"products that are summed along rows and kept", ADD,
     "z = f32[] constant(0)\nm = f32[2,3] multiply(x, y)\nc = f32[2,3] cosine(m)\n"
     "s = f32[2] reduce(c, z), dimensions={1}, to_apply=add\nROOT t = (f32[2], f32[2,3]) tuple(s, "
     "c)",
     "constant multiply cosine reduce tuple"},
    {"windows over padding", ADD,
     "z = f32[] constant(0)\nROOT r = f32[2,3] reduce-window(x, z), "
     "window={size=2x3 pad=1_0x1_1}, to_apply=add",
     "constant reduce-window"},
};

/* Convolutions in the order of dimensions that kernels prefer. */
static const Lowered convolutions[] = {
    {{"few output features", "",
      "p = f32[2,5,20,3] iota(), iota_dimension=2\nb = f32[2,5,20,3] broadcast(x), "
      "dimensions={0,3}\n"
      "a = f32[2,5,20,3] add(b, p)\nt = f32[3,2] transpose(y), dimensions={1,0}\n"
      "k = f32[3,3,3,2] broadcast(t), dimensions={2,3}\n"
      "ROOT r = f32[2,5,20,2] convolution(a, k), window={size=3x3 pad=1_1x1_1}, "
      "dim_labels=b01f_01io->b01f",
      "iota broadcast add transpose broadcast convolution"},
     "fusion fusion convolution fusion"},
    {{"a depthwise convolution with steps", "",
      "p = f32[2,4,3,9] iota(), iota_dimension=1\nb = f32[2,4,3,9] broadcast(x), dimensions={0,2}\n"
      "a = f32[2,4,3,9] add(b, p)\nk = f32[4,1,2,3] broadcast(y), dimensions={2,3}\n"
      "ROOT r = f32[2,4,1,4] convolution(a, k), window={size=2x3 stride=2x2}, "
      "dim_labels=bf01_oi01->bf01, feature_group_count=4",
      "iota broadcast add broadcast convolution"},
     "fusion fusion convolution fusion"},
    {{"two output features per input feature", "",
      "p = f32[2,3,9,4] iota(), iota_dimension=3\nb = f32[2,3,9,4] broadcast(x), dimensions={0,1}\n"
      "a = f32[2,3,9,4] add(b, p)\nq = f32[2,3,1,8] iota(), iota_dimension=3\n"
      "c = f32[2,3,1,8] broadcast(y), dimensions={0,1}\nk = f32[2,3,1,8] add(c, q)\n"
      "ROOT r = f32[2,2,7,8] convolution(a, k), window={size=2x3}, "
      "dim_labels=b01f_01io->b01f, feature_group_count=4",
      "iota broadcast add iota broadcast add convolution"},
     "fusion fusion fusion reshape convolution fusion"},
};

/* The new value of a in a body with the state (s32 i, f32[2] a, f32[2,3] xs, f32[2,3] w); the condition is i < 20. */
#define LOOP(body)                                                                                \
  "cond {\n  p = (s32[], f32[2], f32[2,3], f32[2,3]) parameter(0)\n"                              \
  "  k = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(20)\n"                         \
  "  ROOT l = pred[] compare(k, n), direction=LT\n}\n"                                            \
  "body {\n  p = (s32[], f32[2], f32[2,3], f32[2,3]) parameter(0)\n"                              \
  "  i = s32[] get-tuple-element(p), index=0\n  a = f32[2] get-tuple-element(p), index=1\n"       \
  "  xs = f32[2,3] get-tuple-element(p), index=2\n  w = f32[2,3] get-tuple-element(p), index=3\n" \
  "  one = s32[] constant(1)\n  zero = s32[] constant(0)\n  j = s32[] add(i, one)\n" body         \
  "  ROOT t = (s32[], f32[2], f32[2,3], f32[2,3]) tuple(j, b, xs, w)\n}\n"
#define RUN_LOOP                                                                           \
  "k = s32[] constant(0)\nf = f32[] constant(0)\na = f32[2] broadcast(f), dimensions={}\n" \
  "s = (s32[], f32[2], f32[2,3], f32[2,3]) tuple(k, a, x, y)\n"                            \
  "w = (s32[], f32[2], f32[2,3], f32[2,3]) while(s), condition=cond, body=body\n"          \
  "ROOT r = f32[2] get-tuple-element(w), index=1"

static const Lowered loops[] = {
    {{"a row of a sequence times a matrix, in each turn",
      LOOP("  d = f32[1,3] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,3}\n"
           "  c = f32[3] reshape(d)\n  e = f32[2] dot(c, w), lhs_contracting_dims={0}, "
           "rhs_contracting_dims={1}\n  b = f32[2] add(a, e)\n"),
      RUN_LOOP, "constant constant broadcast tuple while get-tuple-element"},
     "constant fusion fusion tuple while get-tuple-element"},
    {{"a matrix times a row",
      LOOP("  d = f32[1,3] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,3}\n"
           "  c = f32[3] reshape(d)\n  e = f32[2] dot(w, c), lhs_contracting_dims={1}, "
           "rhs_contracting_dims={0}\n  b = f32[2] add(a, e)\n"),
      RUN_LOOP, "constant constant broadcast tuple while get-tuple-element"},
     "constant fusion fusion tuple while get-tuple-element"},
    {{"a row of a sequence by a list of indices",
      LOOP("  o = s32[1] constant({0})\n  k = s32[1] reshape(i)\n"
           "  l = s32[2] concatenate(k, o), dimensions={0}\n"
           "  d = f32[1,3] dynamic-slice(xs, l), dynamic_slice_sizes={1,3}\n"
           "  c = f32[3] reshape(d)\n  e = f32[2] dot(c, w), lhs_contracting_dims={0}, "
           "rhs_contracting_dims={1}\n  b = f32[2] add(a, e)\n"),
      RUN_LOOP, "constant constant broadcast tuple while get-tuple-element"},
     "constant fusion tuple while get-tuple-element"},
    {{"the same product in each turn",
      LOOP("  v = f32[2,40,3] broadcast(w), dimensions={0,2}\n"
           "  m = f32[2,2,40] dot(xs, v), lhs_contracting_dims={1}, rhs_contracting_dims={2}\n"
           "  c = f32[1,1,2] slice(m), slice={[0:1], [0:1], [3:5]}\n  e = f32[2] reshape(c)\n"
           "  b = f32[2] add(a, e)\n"),
      RUN_LOOP, "constant constant broadcast tuple while get-tuple-element"},
     "constant fusion fusion dot tuple while get-tuple-element"},
    {{"a product with what changes",
      LOOP("  c = f32[3] dot(a, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
           "  b = f32[2] dot(xs, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
      RUN_LOOP, "constant constant broadcast tuple while get-tuple-element"},
     "constant fusion tuple while get-tuple-element"},
};

static int failures;

static void fail(const Row *row, const char *what, const char *more) {
  failures++;
  printf("%s: %s%s\n", row->name, what, more);
}

static Module *parse(const Row *row) {
  char text[4096];
  Error error = {0};
  snprintf(text, sizeof text,
           "HloModule m\n%sENTRY e {\nx = f32[2,3] parameter(0)\ny = f32[2,3] parameter(1)\n"
           "i = s32[2,3] parameter(2)\n%s\n}\n",
           row->before, row->entry);
  Module *module = hlo_parse(text, strlen(text), &error);
  if (!module) fail(row, "does not parse: ", error.message);
  return module;
}

/* Generates code for the entry's fusions; natively it cannot run, but it can be emitted. */
static void check_code(const Row *row, const Module *fused) {
  FusionFunction fusions[16];
  ByteBuf bytes = {0};
  Error error = {0};
  int count = 0;
  for (int k = 0; k < fused->entry->count && count < 16; k++) {
    Instruction *instruction = fused->entry->instructions[k];
    if (instruction->opcode == HLO_FUSION) fusions[count++] = (FusionFunction){instruction, 1};
  }
  CodegenInput input = {.fusions = fusions, .fusion_count = count};
  if (!codegen_emit(&input, true, &bytes, &error)) fail(row, "no code: ", error.message);
  if (bytes.size < 8 || memcmp(bytes.bytes, "\0asm\1\0\0", 8)) fail(row, "no module", "");
  bytebuf_free(&bytes);
}

/* The operations of the entry, except parameters. */
static void list_operations(const Module *module, char *out, size_t size) {
  *out = 0;
  for (int k = 0; k < module->entry->count; k++) {
    Opcode opcode = module->entry->instructions[k]->opcode;
    if (opcode == HLO_PARAMETER) continue;
    size_t length = strlen(out);
    snprintf(out + length, size - length, "%s%s", length ? " " : "", opcode_name(opcode));
  }
}

static bool same_bits(const Literal *a, const Literal *b) {
  if (shape_is_tuple(a->shape)) {
    for (int k = 0; k < a->shape->tuple_size; k++) {
      if (!same_bits(a->elements[k], b->elements[k])) return false;
    }
    return true;
  }
  return !memcmp(a->data, b->data, (size_t)shape_bytes(a->shape));
}

static const Literal *run(const Module *module, Arena *arena) {
  float x[] = {-0.0f, 1.5f, -3, 1e30f, 0, 7}, y[] = {2, -0.0f, 0.25f, -8, 1e-30f, 3};
  int32_t i[] = {0, 1, -1, 1 << 30, -300, 127};
  void *data[] = {x, y, i};
  Literal *arguments[3];
  Error error;
  EvalContext context = {.arena = arena, .error = &error};
  for (int p = 0; p < 3; p++) {
    const Shape *shape = module->entry->parameters[p]->shape;
    arguments[p] = literal_new(arena, shape);
    memcpy(arguments[p]->data, data[p], (size_t)shape_bytes(shape));
  }
  return eval_computation(module->entry, arguments, &context);
}

static void check_results(const Row *row, const Module *before, const Module *after) {
  Error error = {0};
  Arena *arena = arena_new();
  if (!verify_module(after, &error)) fail(row, "is no valid module afterwards: ", error.message);
  const Literal *expected = run(before, arena);
  if (expected) { /* the evaluator runs it: it needs no other replicas and no host */
    const Literal *got = run(after, arena);
    if (!got || !same_bits(expected, got)) fail(row, "computes something else", "");
  }
  arena_free(arena);
}

static void lower(Module *module, const Target *target) {
  Error error;
  PipelineOptions options = {.target = target};
  if (!pipeline_run(module, &options, &error)) abort();
}

static void check(const Row *row, const char *lowered) {
  char left[1024];
  Module *before = parse(row), *after = parse(row), *fused = parse(row);
  if (!before) return;
  lower(after, NULL);
  list_operations(after, left, sizeof left);
  if (strcmp(left, row->left)) fail(row, "leaves ", left);
  check_results(row, before, after);
  lower(fused, &codegen_target);
  list_operations(fused, left, sizeof left);
  if (lowered && strcmp(left, lowered)) fail(row, "is lowered to ", left);
  check_results(row, before, fused);
  check_code(row, fused);
  module_free(before);
  module_free(after);
  module_free(fused);
}

int main(void) {
  size_t count = sizeof rows / sizeof *rows;
  for (size_t k = 0; k < count; k++) check(&rows[k], NULL);
  for (size_t k = 0; k < sizeof convolutions / sizeof *convolutions; k++, count++) {
    check(&convolutions[k].row, convolutions[k].lowered);
  }
  for (size_t k = 0; k < sizeof loops / sizeof *loops; k++, count++) {
    check(&loops[k].row, loops[k].lowered);
  }
  printf("%zu programs, %d failed\n", count, failures);
  return failures != 0;
}
