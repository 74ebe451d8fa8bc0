#include "hlo/ir/lapack_calls.h"

#include <stdlib.h>
#include <string.h>

/* The second result and type list are for complex numbers, or NULL. */
typedef struct Routine {
  const char *names, *operands, *results[2], *types[2];
} Routine;

static const Routine routines[LAPACK_COUNT] = {
#define LAPACK(ID, id, names, operands, results, types, complex_results, complex_types) \
  {names, operands, {results, complex_results}, {types, complex_types}},
#include "hlo/ir/lapack_calls.def"
#undef LAPACK
};

static const char *of_kind(const char *const lists[2], bool is_complex) {
  return is_complex && lists[1] ? lists[1] : lists[0];
}

static bool has_name(const char *names, const char *name, size_t length) {
  for (;;) {
    size_t n = strcspn(names, "|");
    if (n == length && memcmp(names, name, length) == 0) return true;
    if (names[n] == 0) return false;
    names += n + 1;
  }
}

static LapackName find(const char *name, size_t length) {
  int i = 0;
  while (i < LAPACK_COUNT && !has_name(routines[i].names, name, length)) i++;
  return (LapackName)i;
}

/* Finds the routine that a call names: lapack_<type>NAME_ffi, or the one that has no type. */
static LapackName named(const Instruction *instruction, bool *is_complex) {
  const char *target = instruction->a->custom_call_target;
  static const char prefix[] = "lapack_", suffix[] = "_ffi";
  size_t size = strlen(target), ends = sizeof prefix - 1 + sizeof suffix - 1;
  *is_complex =
      instruction->operand_count && type_is_complex(instruction->operands[0]->shape->type);
  if (strcmp(target, "tridiagonal_solve_perturbed_ffi") == 0) return LAPACK_PERTURBED;
  if (size <= ends + 1 || strncmp(target, prefix, sizeof prefix - 1) != 0) return LAPACK_COUNT;
  if (strcmp(target + size - (sizeof suffix - 1), suffix) != 0) return LAPACK_COUNT;
  char type = target[sizeof prefix - 1];
  if (!strchr("sdcz", type)) return LAPACK_COUNT;
  *is_complex = type == 'c' || type == 'z';
  return find(target + sizeof prefix, size - ends - 1);
}

LapackName lapack_call_name(const Instruction *instruction) {
  bool is_complex;
  return instruction->a->custom_call_target ? named(instruction, &is_complex) : LAPACK_COUNT;
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

static bool bind_shapes(const Instruction *instruction, const Routine *routine, bool is_complex,
                        LetterSizes *sizes, Error *error) {
  const char *returned = of_kind(routine->results, is_complex);
  const Shape *operands[LAPACK_OPERANDS], *results[LAPACK_RESULTS];
  int count = instruction->operand_count, outputs = result_count(instruction);
  *sizes = (LetterSizes){.batch = -1};
  for (int i = 0; i < 128; i++) sizes->of[i] = -1;
  bool ok = count <= LAPACK_OPERANDS && outputs <= LAPACK_RESULTS;
  for (int i = 0; ok && i < count; i++) operands[i] = instruction->operands[i]->shape;
  for (int i = 0; ok && i < outputs; i++) results[i] = result_shape(instruction, i);
  ok = ok && match_all(sizes, routine->operands, operands, count);
  int64_t m = sizes->of['m'], n = sizes->of['n'];
  sizes->of['k'] = m < n ? m : n;
  sizes->of['p'] = n > 0 ? n - 1 : 0;
  if (ok && match_all(sizes, returned, results, outputs)) return true;
  return error_set_op(error, STATUS_INVALID_ARGUMENT, "custom-call",
                      "%s of %s has operands or results of other shapes; it takes (%s) to (%s), "
                      "with k = min(m, n) and p = n - 1, after the dimensions of a batch",
                      instruction->name, instruction->a->custom_call_target, routine->operands,
                      returned);
}

bool lapack_call_check(const Instruction *instruction, Error *error) {
  LetterSizes sizes;
  bool is_complex;
  LapackName name = named(instruction, &is_complex);
  return bind_shapes(instruction, &routines[name], is_complex, &sizes, error);
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

LapackName lapack_call_sizes(const Instruction *instruction, LapackCallSizes *out) {
  LetterSizes sizes;
  Error error;
  bool is_complex;
  LapackName name = named(instruction, &is_complex);
  const Routine *routine = &routines[name];
  if (!bind_shapes(instruction, routine, is_complex, &sizes, &error)) return LAPACK_COUNT;
  *out = (LapackCallSizes){
      .batch = sizes.batch, .is_complex = is_complex, .types = of_kind(routine->types, is_complex)};
  set_sizes(&sizes, routine->operands, out->operands);
  set_sizes(&sizes, of_kind(routine->results, is_complex), out->results);
  return name;
}

int64_t lapack_call_attribute(const Instruction *call, const char *name, int64_t otherwise) {
  const char *config = call->a->backend_config;
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
