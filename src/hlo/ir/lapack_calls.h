/*
** Recognises the built-in custom calls: LAPACK's routines under the names in JAX's exports for the CPU,
** lapack_<s|d|c|z><routine>_ffi. Kernels run them (kernels/linalg/linalg_kernel.c). Native builds also contain
** tests/textbook/lapack.h, which the kernels are tested against.
*/
#ifndef XLA_HLO_IR_LAPACK_CALLS_H
#define XLA_HLO_IR_LAPACK_CALLS_H

#include "hlo/ir/module.h"

/* Whether a custom-call is built in, LAPACK's or another. */
bool is_library_call(const Instruction *instruction);

/*
** cpu_csr_sparse_dense_ffi, JAX's product of a sparse matrix and a dense vector or matrix. Operands: the nonzero
** numbers, the start of each row in them (and the end of the last), their columns, and the dense matrix.
*/
typedef struct CsrSizes {
  int64_t rows, inner, columns, entries; /* [rows, inner] times [inner, columns] */
} CsrSizes;
bool is_csr_call(const Instruction *instruction);
/* Fails with INVALID_ARGUMENT and the expected shapes if the shapes differ from these. */
bool csr_call_check(const Instruction *instruction, CsrSizes *sizes, Error *error);

/* The routines of lapack_calls.def: LAPACK_POTRF, ... */
typedef enum LapackName {
#define LAPACK(ID, ...) LAPACK_##ID,
#include "hlo/ir/lapack_calls.def"
#undef LAPACK
  LAPACK_COUNT
} LapackName;

/* Returns the routine that a custom-call names, whatever its shapes; LAPACK_COUNT if none. */
LapackName lapack_call_name(const Instruction *instruction);
static inline bool is_lapack_call(const Instruction *instruction) {
  return lapack_call_name(instruction) != LAPACK_COUNT;
}

/* Fails with INVALID_ARGUMENT and the routine's expected shapes if the shapes differ from these. */
bool lapack_call_check(const Instruction *instruction, Error *error);

/* Threshold LAPACK_OPERANDS, LAPACK_RESULTS: the maximum of an interface or a format. No path. */
enum { LAPACK_OPERANDS = 4, LAPACK_RESULTS = 6 };
/* The rows and columns of the matrices of each operand and result, which have `batch` matrices each; and the results'
** types, as in lapack_calls.def. */
typedef struct LapackCallSizes {
  int64_t batch, operands[LAPACK_OPERANDS][2], results[LAPACK_RESULTS][2];
  const char *types;
  bool is_complex; /* by its name */
} LapackCallSizes;
/* Returns the routine; LAPACK_COUNT if the shapes do not match. */
LapackName lapack_call_sizes(const Instruction *instruction, LapackCallSizes *sizes);

/* Returns an attribute of a call's backend_config: a number, which may be a LAPACK letter's code, or 1 for true:
** {uplo = 76 : ui8, left = true}. */
int64_t lapack_call_attribute(const Instruction *call, const char *name, int64_t otherwise);

#endif
