#include "hlo/ir/lapack_calls.h"

#include <stdlib.h>
#include <string.h>

/*
** Shapes have one letter per dimension, after the dimensions of the batch. The first operand that has a
** letter determines its size; k is min(m, n) and p is n - 1. "-" is a scalar.
*/
typedef struct Routine {
  const char *names, *operands, *results; /* names: without the type's letter, separated by | */
} Routine;

static const Routine real_routines[] = {
    {"getrf", "mn", "mn k -"},
    {"potrf", "nn", "nn -"},
    {"trsm", "qq mn", "mn"},
    {"geqrf", "mn", "mn k"},
    {"geqp3", "mn n", "mn n k"},
    {"orgqr|ungqr", "mn t", "mn"},
    {"ormqr|unmqr", "qt t mn", "mn"},
    {"gehrd", "nn", "nn p -"},
    {"sytrd|hetrd", "nn", "nn n p p -"},
    {"gtsv", "n n n nr", "n n n nr -"},
    {"tridiagonal_solve_perturbed", "n n n nr", "nr"}, /* jaxlib's own, without a type's letter */
    {"syevd|heevd", "nn", "nn n -"},
    {"gesdd|gesvd", "mn", "mn k mu vn -"},
    {"gees", "nn", "nn nn n n - -"},
    {"geev", "nn", "n n nn nn -"},
};
/* Routines that need no second vector of eigenvalues for complex numbers. */
static const Routine complex_routines[] = {
    {"gees", "nn", "nn nn n - -"},
    {"geev", "nn", "n nn nn -"},
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
  if (strcmp(target, "tridiagonal_solve_perturbed_ffi") == 0) {
    return find(real_routines, sizeof real_routines / sizeof *real_routines, target, size - 4);
  }
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

bool is_lapack_call(const Instruction *instruction) {
  const char *target = instruction->a->custom_call_target;
  return target && routine_of(target);
}

bool is_library_call(const Instruction *instruction) {
  return is_lapack_call(instruction) || is_csr_call(instruction);
}

/* ---- Sparse matrices ---- */

bool is_csr_call(const Instruction *instruction) {
  const char *target = instruction->a->custom_call_target;
  return target && strcmp(target, "cpu_csr_sparse_dense_ffi") == 0;
}

static bool is_array(const Shape *shape, int rank, PrimitiveType type) {
  return shape_is_array(shape) && shape->rank == rank && shape->type == type;
}

static bool csr_shapes(const Instruction *x, CsrSizes *sizes) {
  const Shape *out = x->shape;
  if (x->operand_count != 4 || !shape_is_array(out) || out->rank < 1 || out->rank > 2) return false;
  const Shape *data = x->operands[0]->shape, *rows = x->operands[1]->shape;
  const Shape *columns = x->operands[2]->shape, *right = x->operands[3]->shape;
  bool has_types = out->type == S32 || out->type == S64 || out->type == F32 || out->type == F64 ||
                   type_is_complex(out->type);
  bool has_indices = is_array(rows, 1, S32) || is_array(rows, 1, S64);
  if (!has_types || !has_indices || !is_array(data, 1, out->type) ||
      !is_array(columns, 1, rows->type) || !is_array(right, out->rank, out->type)) {
    return false;
  }
  *sizes = (CsrSizes){.rows = out->dims[0],
                      .inner = right->dims[0],
                      .columns = out->rank == 2 ? out->dims[1] : 1,
                      .entries = data->dims[0]};
  return columns->dims[0] == sizes->entries && rows->dims[0] == sizes->rows + 1 &&
         (out->rank == 1 || right->dims[1] == sizes->columns);
}

bool csr_call_check(const Instruction *instruction, CsrSizes *sizes, Error *error) {
  if (csr_shapes(instruction, sizes)) return true;
  return error_set_op(error, STATUS_INVALID_ARGUMENT, "custom-call",
                      "%s of %s has operands or a result of other shapes; it takes (t[e], i[m+1], "
                      "i[e], t[n] or t[n,c]) to t[m] or t[m,c], where t is s32, s64, f32, f64, c64 "
                      "or c128 and i is s32 or s64",
                      instruction->name, instruction->a->custom_call_target);
}

/* ---- Shapes ---- */

typedef struct LetterSizes {
  int64_t batch, of[128]; /* by letter; -1: not bound yet */
} LetterSizes;

static bool bind(LetterSizes *sizes, char letter, int64_t size) {
  int64_t *bound = &sizes->of[(unsigned char)letter];
  if (*bound < 0) *bound = size;
  return *bound == size;
}

/* Whether the array's last dimensions match `letters`, up to a space, and its first ones the batch. */
static bool matches(LetterSizes *sizes, const char *letters, const Shape *shape) {
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

static bool match_all(LetterSizes *sizes, const char *letters, const Shape *const *shapes,
                      int count) {
  for (int i = 0; i < count; i++) {
    if (*letters == 0 || !matches(sizes, letters, shapes[i])) return false;
    letters += strcspn(letters, " ");
    letters += *letters == ' ';
  }
  return *letters == 0;
}

/* Returns the shape of result i. Several results form a tuple; a single one does not. */
static const Shape *result_shape(const Instruction *instruction, int i) {
  const Shape *shape = instruction->shape;
  return shape->type == TUPLE ? shape->elements[i] : shape;
}

static int result_count(const Instruction *instruction) {
  const Shape *shape = instruction->shape;
  return shape->type == TUPLE ? shape->tuple_size : 1;
}

static bool bind_shapes(const Instruction *instruction, const Routine *routine, LetterSizes *sizes,
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
                      "with k = min(m, n) and p = n - 1, after the dimensions of a batch",
                      instruction->name, instruction->a->custom_call_target, routine->operands,
                      routine->results);
}

bool lapack_call_check(const Instruction *instruction, Error *error) {
  LetterSizes sizes;
  return bind_shapes(instruction, routine_of(instruction->a->custom_call_target), &sizes, error);
}

static const char *next_word(const char *letters) {
  letters += strcspn(letters, " ");
  return letters + (*letters == ' ');
}

static void set_sizes(const LetterSizes *sizes, const char *letters, int64_t (*matrix)[2]) {
  for (; *letters; letters = next_word(letters), matrix++) {
    size_t rank = *letters == '-' ? 0 : strcspn(letters, " ");
    for (size_t d = 0; d < 2; d++) {
      (*matrix)[d] = d < rank ? sizes->of[(unsigned char)letters[d]] : 1;
    }
  }
}

const char *lapack_call_sizes(const Instruction *instruction, LapackCallSizes *out) {
  const Routine *routine = routine_of(instruction->a->custom_call_target);
  LetterSizes sizes;
  Error error;
  if (!bind_shapes(instruction, routine, &sizes, &error)) return NULL;
  out->batch = sizes.batch;
  set_sizes(&sizes, routine->operands, out->operands);
  set_sizes(&sizes, routine->results, out->results);
  return routine->names;
}

int64_t lapack_call_attribute(const char *config, const char *name, int64_t otherwise) {
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
