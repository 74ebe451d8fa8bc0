/*
** The custom calls that are built in: LAPACK's routines under the names by which JAX's exports for
** the CPU call them, lapack_<s|d|c|z><routine>_ffi. Kernels run them (kernels/linalg/linalg.c); reference/lapack.h, what they are
** held against, is in native builds alone.
*/
#ifndef XLA_HLO_IR_LAPACK_CALLS_H
#define XLA_HLO_IR_LAPACK_CALLS_H

#include "hlo/ir/module.h"

/* Whether a custom-call is one of those that are built in, LAPACK's or another. */
bool is_library_call(const Instruction *instruction);

/*
** cpu_csr_sparse_dense_ffi, by which JAX multiplies a sparse matrix and a dense vector or matrix. Operands: the
** numbers that are not zero, where each row of them begins (and the last ends), their columns, and the dense matrix.
*/
typedef struct CsrSizes {
  int64_t rows, inner, columns, entries; /* [rows, inner] times [inner, columns] */
} CsrSizes;
bool is_csr_call(const Instruction *instruction);
/* INVALID_ARGUMENT, with the shapes that it takes, if these are others. */
bool csr_call_check(const Instruction *instruction, CsrSizes *sizes, Error *error);

/* Whether a custom-call is one of these, whatever its shapes. */
bool is_lapack_call(const Instruction *instruction);

/* INVALID_ARGUMENT, with the shapes that the routine takes, if these are others. */
bool lapack_call_check(const Instruction *instruction, Error *error);

/* The rows and columns of the matrices of each operand and result, of which there are `batch`. */
enum { LAPACK_OPERANDS = 4, LAPACK_RESULTS = 6 };
typedef struct LapackCallSizes {
  int64_t batch, operands[LAPACK_OPERANDS][2], results[LAPACK_RESULTS][2];
} LapackCallSizes;
/* The routine's names without the type's letter, separated by |; NULL if the shapes don't fit. */
const char *lapack_call_sizes(const Instruction *instruction, LapackCallSizes *sizes);

/* An attribute of its backend_config: a number, as LAPACK's letters are there, or true as 1:
** {uplo = 76 : ui8, left = true}. */
int64_t lapack_call_attribute(const char *config, const char *name, int64_t otherwise);

#endif
