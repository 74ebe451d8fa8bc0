/* Runs thunks in the evaluator (src/reference). */
#ifndef XLA_RUNTIME_EVAL_STEP_H
#define XLA_RUNTIME_EVAL_STEP_H

#include "runtime/run_state.h"

/* Evaluates a thunk's instruction as a whole, on this thread. Returns false with the reason if that fails. */
bool run_eval(Device *device, const Thunk *thunk, Error *error);

/* Evaluates a thunk's instruction from chunk frame->chunk on, until the device's deadline. Returns OUTCOME_DONE,
** OUTCOME_FAILED with the reason in `error`, or OUTCOME_YIELD: the next call goes on from the frame. */
Outcome run_eval_step(Device *device, Frame *frame, const Thunk *thunk, Error *error);

#endif
