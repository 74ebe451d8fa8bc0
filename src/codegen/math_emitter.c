/*
** Functions that are written out in the loop, as programs spend their time in them: a call costs
** half as much as what it calls, and a function that is called for each vector makes its constants
** each time, three instructions apiece. Here they are made once, before the loops.
**
** Each is a list of steps for WebAssembly's stack, with the operand on top at the start and the
** result at the end. What a float's NaN becomes is a NaN again: pmin and pmax keep the first operand
** unless the second is less (or more), at one instruction where min and max are six.
*/
#include <string.h>

#include "codegen/emitter.h"

typedef enum StepKind {
  STEP_END,
  STEP_SIMD,  /* the instruction `op` */
  STEP_SHIFT, /* the same, of all lanes by `amount` */
  STEP_KEEP,  /* copies the top of the stack to variable `amount` */
  STEP_GET,   /* and back */
  STEP_CONSTANT,
} StepKind;

typedef struct Step {
  StepKind kind;
  int op, amount;
  float constant;
} Step;

enum { VARIABLES = 4 };

#define OP(name)        {STEP_SIMD, name, 0, 0}
#define SHIFT(name, by) {STEP_SHIFT, name, by, 0}
#define KEEP(variable)  {STEP_KEEP, 0, variable, 0}
#define GET(variable)   {STEP_GET, 0, variable, 0}
#define K(value)        {STEP_CONSTANT, 0, 0, value}
#define END             {STEP_END, 0, 0, 0}
#define ADD             OP(F32X4_ADD)
#define SUB             OP(F32X4_SUB)
#define MUL             OP(F32X4_MUL)
#define DIV             OP(F32X4_DIV)

/* --- The functions ---------------------------------------------------------------------------- */

/* A line is a thought. clang-format would fill them. */
/* clang-format off */

/*
** x = n ln 2 + r with |r| <= ln 2 / 2, and e^r = 1 + r + r^2 p(r) by Moshier's Cephes library
** (expf.c). Adding 1.5 * 2^23 rounds to an integer, and leaves it in the low bits.
**
** x -> r^2 p(r) + r; then `r` is a variable, and `n` the sum whose low 9 bits are n's.
*/
#define REDUCED_EXPONENTIAL(r, n, whole)                                          \
  KEEP(r), K(1.44269504088896341f), MUL, K(12582912.0f), ADD, KEEP(n),            \
  K(12582912.0f), SUB, KEEP(whole),                                               \
  K(-0.693359375f), MUL, GET(r), ADD, GET(whole), K(2.12194440e-4f), MUL, ADD,    \
  KEEP(r), K(1.9875691500E-4f), MUL, K(1.3981999507E-3f), ADD,                    \
  GET(r), MUL, K(8.3334519073E-3f), ADD, GET(r), MUL, K(4.1665795894E-2f), ADD,   \
  GET(r), MUL, K(1.6666665459E-1f), ADD, GET(r), MUL, K(5.0000001201E-1f), ADD,   \
  GET(r), MUL, GET(r), MUL, GET(r), ADD

/* An integer in the low 9 bits -> 2 to its power, by way of the exponent's bits. */
#define POWER_OF_TWO SHIFT(I32X4_SHL, 23), K(1.0f), OP(I32X4_ADD)

/* x -> e^x for x from -104 on, where it is 0, to 89, where it is infinite. The scaling takes two
** steps, as 2^n itself may be out of range where the result is denormal. */
#define EXPONENTIAL(r, n, half)                                                   \
  REDUCED_EXPONENTIAL(r, n, half), K(1.0f), ADD,                                  \
  GET(n), SHIFT(I32X4_SHR_U, 1), KEEP(half), POWER_OF_TWO, MUL,                   \
  GET(n), GET(half), OP(I32X4_SUB), POWER_OF_TWO, MUL

static const Step exp_steps[] = {
    K(89.0f), OP(F32X4_PMIN), K(-104.0f), OP(F32X4_PMAX),
    EXPONENTIAL(0, 1, 2), END,
};

/* 1 / (1 + e^-x), with e^x / (1 + e^x) for negative x, where e^-x could overflow. */
static const Step logistic_steps[] = {
    KEEP(3), K(-0.0f), OP(V128_OR), K(-104.0f), OP(F32X4_PMAX),
    EXPONENTIAL(0, 1, 2), KEEP(0),
    K(1.0f), GET(3), SHIFT(I32X4_SHR_S, 31), OP(V128_BITSELECT),
    GET(0), K(1.0f), ADD, DIV, END,
};

/* (e^2x - 1) / (e^2x + 1) with the sign of x, where e^2x - 1 = 2^n (e^r - 1) + (2^n - 1) loses
** nothing. From 2x = 20 on the result is 1. */
static const Step tanh_steps[] = {
    KEEP(3), OP(F32X4_ABS), KEEP(0), GET(0), ADD, K(20.0f), OP(F32X4_PMIN),
    REDUCED_EXPONENTIAL(0, 1, 2),
    GET(1), POWER_OF_TWO, KEEP(1), MUL, GET(1), K(1.0f), SUB, ADD, KEEP(0),
    GET(0), K(2.0f), ADD, DIV,
    GET(3), K(-0.0f), OP(V128_AND), OP(V128_OR), END,
};

/* clang-format on */

static const Step *steps_of(Opcode opcode, LaneKind kind) {
  if (kind != LANES_F32) return NULL;
  switch (opcode) {
  case HLO_EXP: return exp_steps;
  case HLO_LOGISTIC: return logistic_steps;
  case HLO_TANH: return tanh_steps;
  default: return NULL;
  }
}

/* --- Writing them ----------------------------------------------------------------------------- */

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static int constant_local(const Emitter *e, float value) {
  for (int i = 0; i < e->math_count; i++) {
    if (e->math[i].bits == bits_of(value)) return e->math[i].local;
  }
  return NO_LOCAL;
}

static void add_constants(Emitter *e, const LoopNode *node) {
  const Instruction *instruction = node->instruction;
  const Step *step = node->kind == NODE_OPERATION
                         ? steps_of(instruction->opcode, lane_kind(node_type(node)))
                         : NULL;
  for (; step && step->kind != STEP_END; step++) {
    if (step->kind != STEP_CONSTANT || constant_local(e, step->constant) != NO_LOCAL) continue;
    MathConstant constant = {bits_of(step->constant), wasm_local(&e->function, WASM_V128)};
    emit_splat32(e, constant.bits);
    wasm_set(&e->function, constant.local);
    ARENA_PUSH(e->plan->arena, e->math, e->math_count, e->math_capacity, constant);
  }
}

void emit_math_constants(Emitter *e) {
  for (int i = 0; i < e->plan->count; i++) add_constants(e, e->plan->nodes[i]);
  for (int i = 0; i < e->plan->combine_count; i++) add_constants(e, e->plan->combine[i]);
}

bool has_math(Opcode opcode, LaneKind kind) { return steps_of(opcode, kind) != NULL; }

void emit_math(Emitter *e, Opcode opcode, LaneKind kind) {
  const Step *step = steps_of(opcode, kind);
  WasmFunction *f = &e->function;
  int variables[VARIABLES];
  for (int i = 0; i < VARIABLES; i++) variables[i] = wasm_local(f, WASM_V128);
  for (; step->kind != STEP_END; step++) {
    switch (step->kind) {
    case STEP_SHIFT: wasm_i32(f, step->amount); /* fallthrough */
    case STEP_SIMD: wasm_simd(f, step->op); break;
    case STEP_KEEP: wasm_tee(f, variables[step->amount]); break;
    case STEP_GET: wasm_get(f, variables[step->amount]); break;
    default: wasm_get(f, constant_local(e, step->constant)); break;
    }
  }
  for (int i = 0; i < VARIABLES; i++) wasm_local_release(f, variables[i]);
}
