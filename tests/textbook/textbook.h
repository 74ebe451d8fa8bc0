/*
** Textbook routines: rules of the evaluator for operations that kernels run. Tests compare the kernels with them. Builds
** for tests link this folder, and textbook.c then adds the rules; the download does not have it.
*/
#ifndef XLA_TEXTBOOK_TEXTBOOK_H
#define XLA_TEXTBOOK_TEXTBOOK_H

#include "reference/eval.h"

EvalRule eval_dot, eval_ragged_dot, eval_scaled_dot, eval_fft, eval_cholesky, eval_triangular_solve,
    eval_scan;

#endif
