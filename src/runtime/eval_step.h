/* Runs thunks in the evaluator (src/reference). */
#ifndef XLA_RUNTIME_EVAL_STEP_H
#define XLA_RUNTIME_EVAL_STEP_H

#include "runtime/run_state.h"

/* Evaluates a thunk's instruction as a whole, on this thread. Returns false with the reason if that fails. */
bool run_eval(Device *device, const Thunk *thunk, Error *error);

/* Evaluates a thunk's instruction from chunk frame->chunk on, until the device's deadline. Returns whether it is over: *ok
** then says whether it succeeded, or `error` has the reason. Else the next call goes on from the frame. */
bool run_eval_step(Device *device, Frame *frame, const Thunk *thunk, bool *ok, Error *error);

#endif
