/*
** Evaluates calls of LAPACK's routines, one matrix of the batch at a time.
*/
#include "reference/textbook/lapack.h"

static LapackRoutine *const routines[LAPACK_COUNT] = {
#define LAPACK(ID, id, ...) lapack_##id,
#include "hlo/ir/lapack_calls.def"
#undef LAPACK
};

Matrix matrix_new(Arena *arena, int64_t rows, int64_t columns) {
  Number *items = ARENA_ARRAY(arena, Number, rows * columns);
  for (int64_t i = 0; i < rows * columns; i++) items[i] = 0;
  return (Matrix){rows, columns, items};
}

Matrix matrix_copy(Arena *arena, const Matrix *from) {
  Matrix copy = matrix_new(arena, from->rows, from->columns);
  matrix_assign(&copy, from);
  return copy;
}

void matrix_assign(const Matrix *to, const Matrix *from) {
  for (int64_t i = 0; i < from->rows * from->columns; i++) to->items[i] = from->items[i];
}

bool matrix_is_finite(const Matrix *m) {
  for (int64_t i = 0; i < m->rows * m->columns; i++) {
    /* x - x is 0 for finite numbers alone */
    double re = creal(m->items[i]), im = cimag(m->items[i]);
    if (re - re != 0 || im - im != 0) return false;
  }
  return true;
}

Number number_divide(Number x, Number y) {
  return cimag(y) == 0 ? number(creal(x) / creal(y), cimag(x) / creal(y)) : x / y;
}

int64_t lapack_attribute(const Lapack *call, const char *name, int64_t otherwise) {
  return lapack_call_attribute(call->config, name, otherwise);
}

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
  Lapack call = {.config = instruction->a->backend_config, .context = context};
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
