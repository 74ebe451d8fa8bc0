/*
** Evaluates calls of LAPACK's routines, one matrix of the batch at a time.
*/
#include "textbook/lapack.h"

static LapackRoutine *const routines[LAPACK_COUNT] = {
#define LAPACK(ID, id, ...) lapack_##id,
#include "hlo/ir/lapack_calls.def"
#undef LAPACK
};

static void load(const Matrix *m, const Literal *literal, int64_t batch) {
  PrimitiveType type = literal->shape->type;
  int64_t count = m->rows * m->columns;
  for (int64_t i = 0; i < count; i++) {
    Scalar x = scalar_load(type, literal->data, batch * count + i);
    bool is_signed = type_kind(type) == KIND_SIGNED;
    m->items[i] = type_is_complex(type) ? number(x.f, x.im) : is_signed ? (double)x.i : x.f;
  }
}

static void store(const Matrix *m, const Literal *literal, int64_t batch) {
  PrimitiveType type = literal->shape->type;
  int64_t count = m->rows * m->columns;
  for (int64_t i = 0; i < count; i++) {
    Scalar x = {.f = creal(m->items[i]), .im = cimag(m->items[i])};
    if (type_kind(type) == KIND_SIGNED) x = scalar_convert(F64, type, x); /* saturates */
    scalar_store(type, literal->data, batch * count + i, x);
  }
}

static bool run(const Instruction *instruction, LapackRoutine *routine,
                const LapackCallSizes *sizes, int64_t batch, Literal *const *operands,
                Literal *result, EvalContext *context) {
  bool is_tuple = instruction->shape->type == TUPLE;
  int results = is_tuple ? instruction->shape->tuple_size : 1;
  Lapack call = {.instruction = instruction, .context = context};
  PrimitiveType type = instruction->operands[0]->shape->type;
  call.is_complex = type_is_complex(type);
  call.is_narrow = type == F32 || type == C64;
  for (int i = 0; i < instruction->operand_count; i++) {
    call.in[i] = matrix_new(context->arena, sizes->operands[i][0], sizes->operands[i][1]);
    load(&call.in[i], operands[i], batch);
  }
  for (int i = 0; i < results; i++) {
    call.out[i] = matrix_new(context->arena, sizes->results[i][0], sizes->results[i][1]);
  }
  if (!routine(&call)) return false;
  for (int i = 0; i < results; i++) {
    store(&call.out[i], is_tuple ? result->elements[i] : result, batch);
  }
  return true;
}

bool lapack_eval(const Instruction *instruction, Literal *const *operands, Literal *result,
                 EvalContext *context) {
  LapackCallSizes sizes;
  LapackRoutine *routine = routines[lapack_call_sizes(instruction, &sizes)];
  bool ok = true;
  for (int64_t batch = 0; ok && batch < sizes.batch; batch++) {
    ArenaMark mark = arena_mark(context->arena);
    ok = run(instruction, routine, &sizes, batch, operands, result, context);
    arena_release(context->arena, mark);
  }
  return ok;
}
