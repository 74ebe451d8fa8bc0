/*
** The custom calls that are built in: LAPACK's routines under the names by which JAX's exports for
** the CPU call them, lapack_<s|d|c|z><routine>_ffi. lapack.h says what they compute.
*/
#include <stdlib.h>
#include <string.h>

#include "eval/lapack.h"

/*
** Shapes are one letter a dimension, behind dimensions of a batch: m and n are bound by the first
** operand that has them, so are others; k is min(m, n) and p is n - 1. "-" is a scalar.
*/
typedef struct Routine {
  const char *names, *operands, *results; /* names: without the type's letter, separated by | */
  LapackRoutine *run;
} Routine;

static const Routine real_routines[] = {
    {"getrf", "mn", "mn k -", lapack_getrf},
    {"potrf", "nn", "nn -", lapack_potrf},
    {"trsm", "qq mn", "mn", lapack_trsm},
    {"geqrf", "mn", "mn k", lapack_geqrf},
    {"geqp3", "mn n", "mn n k", lapack_geqp3},
    {"orgqr|ungqr", "mn t", "mn", lapack_orgqr},
    {"ormqr|unmqr", "qt t mn", "mn", lapack_ormqr},
    {"gehrd", "nn", "nn p -", lapack_gehrd},
    {"sytrd|hetrd", "nn", "nn n p p -", lapack_sytrd},
    {"gtsv", "n n n nr", "n n n nr -", lapack_gtsv},
    {"syevd|heevd", "nn", "nn n -", lapack_syevd},
    {"gesdd|gesvd", "mn", "mn k mu vn -", lapack_gesdd},
    {"gees", "nn", "nn nn n n - -", lapack_gees},
    {"geev", "nn", "n n nn nn -", lapack_geev},
};
/* Where complex numbers need no second vector of eigenvalues. */
static const Routine complex_routines[] = {
    {"gees", "nn", "nn nn n - -", lapack_gees},
    {"geev", "nn", "n nn nn -", lapack_geev},
};

static bool has_name(const char *names, const char *name, size_t length) {
  for (;;) {
    size_t n = strcspn(names, "|");
    if (n == length && memcmp(names, name, length) == 0) return true;
    if (names[n] == 0) return false;
    names += n + 1;
  }
}

static const Routine *find(const Routine *rows, size_t count, const char *name, size_t length) {
  for (size_t i = 0; i < count; i++) {
    if (has_name(rows[i].names, name, length)) return &rows[i];
  }
  return NULL;
}

static const Routine *routine_of(const char *target) {
  static const char prefix[] = "lapack_", suffix[] = "_ffi";
  size_t size = strlen(target), ends = sizeof prefix - 1 + sizeof suffix - 1;
  if (size <= ends + 1 || strncmp(target, prefix, sizeof prefix - 1) != 0) return NULL;
  if (strcmp(target + size - (sizeof suffix - 1), suffix) != 0) return NULL;
  char type = target[sizeof prefix - 1];
  const char *name = target + sizeof prefix;
  size_t length = size - ends - 1;
  if (!strchr("sdcz", type)) return NULL;
  const Routine *found = NULL;
  if (type == 'c' || type == 'z') {
    found =
        find(complex_routines, sizeof complex_routines / sizeof *complex_routines, name, length);
  }
  if (found) return found;
  return find(real_routines, sizeof real_routines / sizeof *real_routines, name, length);
}

bool custom_call_is_built_in(const Instruction *instruction) {
  const char *target = instruction->a->custom_call_target;
  return target && routine_of(target);
}

/* ---- Shapes ---- */

typedef struct Sizes {
  int64_t batch, of[128]; /* by letter; -1: not bound yet */
} Sizes;

static bool bind(Sizes *sizes, char letter, int64_t size) {
  int64_t *bound = &sizes->of[(unsigned char)letter];
  if (*bound < 0) *bound = size;
  return *bound == size;
}

/* Whether the array's last dimensions are `letters`, up to a space, and those before the batch. */
static bool matches(Sizes *sizes, const char *letters, const Shape *shape) {
  int rank = *letters == '-' ? 0 : (int)strcspn(letters, " ");
  if (!shape_is_array(shape) || shape->rank < rank) return false;
  int64_t batch = 1;
  for (int d = 0; d < shape->rank - rank; d++) batch *= shape->dims[d];
  if (sizes->batch < 0) sizes->batch = batch;
  if (sizes->batch != batch) return false;
  for (int d = 0; d < rank; d++) {
    if (!bind(sizes, letters[d], shape->dims[shape->rank - rank + d])) return false;
  }
  return true;
}

static bool match_all(Sizes *sizes, const char *letters, const Shape *const *shapes, int count) {
  for (int i = 0; i < count; i++) {
    if (*letters == 0 || !matches(sizes, letters, shapes[i])) return false;
    letters += strcspn(letters, " ");
    letters += *letters == ' ';
  }
  return *letters == 0;
}

/* A routine's result is a tuple, unless there is only one. */
static const Shape *result_shape(const Instruction *instruction, int i) {
  const Shape *shape = instruction->shape;
  return shape->type == TUPLE ? shape->elements[i] : shape;
}

static int result_count(const Instruction *instruction) {
  const Shape *shape = instruction->shape;
  return shape->type == TUPLE ? shape->tuple_size : 1;
}

static bool check_shapes(const Instruction *instruction, const Routine *routine, Sizes *sizes,
                         Error *error) {
  const Shape *operands[LAPACK_OPERANDS], *results[LAPACK_RESULTS];
  int count = instruction->operand_count, outputs = result_count(instruction);
  sizes->batch = -1;
  for (int i = 0; i < 128; i++) sizes->of[i] = -1;
  bool ok = count <= LAPACK_OPERANDS && outputs <= LAPACK_RESULTS;
  for (int i = 0; ok && i < count; i++) operands[i] = instruction->operands[i]->shape;
  for (int i = 0; ok && i < outputs; i++) results[i] = result_shape(instruction, i);
  ok = ok && match_all(sizes, routine->operands, operands, count);
  int64_t m = sizes->of['m'], n = sizes->of['n'];
  sizes->of['k'] = m < n ? m : n;
  sizes->of['p'] = n > 0 ? n - 1 : 0;
  if (ok && match_all(sizes, routine->results, results, outputs)) return true;
  return error_set_op(error, STATUS_INVALID_ARGUMENT, "custom-call",
                      "%s of %s has operands or results of other shapes; it takes (%s) to (%s), "
                      "with k = min(m, n) and p = n - 1, behind the dimensions of a batch",
                      instruction->name, instruction->a->custom_call_target, routine->operands,
                      routine->results);
}

static const char *next_word(const char *letters) {
  letters += strcspn(letters, " ");
  return letters + (*letters == ' ');
}

static void set_sizes(const Sizes *sizes, const char *letters, int64_t (*matrix)[2]) {
  for (; *letters; letters = next_word(letters), matrix++) {
    size_t rank = *letters == '-' ? 0 : strcspn(letters, " ");
    for (size_t d = 0; d < 2; d++) {
      (*matrix)[d] = d < rank ? sizes->of[(unsigned char)letters[d]] : 1;
    }
  }
}

const char *custom_call_sizes(const Instruction *instruction, CustomCallSizes *out) {
  const Routine *routine = routine_of(instruction->a->custom_call_target);
  Sizes sizes;
  Error error;
  if (!check_shapes(instruction, routine, &sizes, &error)) return NULL;
  out->batch = sizes.batch;
  set_sizes(&sizes, routine->operands, out->operands);
  set_sizes(&sizes, routine->results, out->results);
  return routine->names;
}

/* ---- Data ---- */

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

int64_t custom_call_attribute(const char *config, const char *name, int64_t otherwise) {
  size_t size = strlen(name);
  for (const char *text = config; text && (text = strstr(text, name)); text += size) {
    bool starts = text == config || strchr("{, ", text[-1]);
    const char *value = text + size + strspn(text + size, " ");
    if (!starts || *value != '=') continue;
    value += 1 + strspn(value + 1, " ");
    return *value == 't' ? 1 : strtoll(value, NULL, 10); /* true, false or a number */
  }
  return otherwise;
}

int64_t lapack_attribute(const Lapack *call, const char *name, int64_t otherwise) {
  return custom_call_attribute(call->config, name, otherwise);
}

static Matrix new_matrix(const Sizes *sizes, const char *letters, Arena *arena) {
  size_t rank = *letters == '-' ? 0 : strcspn(letters, " ");
  int64_t rows = rank > 0 ? sizes->of[(unsigned char)letters[0]] : 1;
  return matrix_new(arena, rows, rank > 1 ? sizes->of[(unsigned char)letters[1]] : 1);
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

static bool run(const Instruction *instruction, const Routine *routine, const Sizes *sizes,
                int64_t batch, Literal *const *operands, Literal *result, EvalContext *context) {
  bool is_tuple = instruction->shape->type == TUPLE;
  Lapack call = {.config = instruction->a->backend_config, .context = context};
  call.is_complex = type_is_complex(instruction->operands[0]->shape->type);
  const char *letters = routine->operands;
  for (int i = 0; i < instruction->operand_count; i++, letters = next_word(letters)) {
    call.in[i] = new_matrix(sizes, letters, context->arena);
    load(&call.in[i], operands[i], batch);
  }
  letters = routine->results;
  for (int i = 0; i < result_count(instruction); i++, letters = next_word(letters)) {
    call.out[i] = new_matrix(sizes, letters, context->arena);
  }
  if (!routine->run(&call)) return false;
  for (int i = 0; i < result_count(instruction); i++) {
    store(&call.out[i], is_tuple ? result->elements[i] : result, batch);
  }
  return true;
}

bool eval_custom_call(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context) {
  const Routine *routine = routine_of(instruction->a->custom_call_target);
  Sizes sizes;
  if (!check_shapes(instruction, routine, &sizes, context->error)) return false;
  bool ok = true;
  for (int64_t batch = 0; ok && batch < sizes.batch; batch++) {
    ArenaMark mark = arena_mark(context->arena);
    ok = run(instruction, routine, &sizes, batch, operands, result, context);
    arena_release(context->arena, mark);
  }
  return ok;
}
