/* The code of formulas. */
#ifndef XLA_CODEGEN_LOOPS_EXPRESSION_EMITTER_H
#define XLA_CODEGEN_LOOPS_EXPRESSION_EMITTER_H

#include "codegen/loops/emitter.h"

/* Emits a formula. Each result is in a local of its own, which the caller releases. Inputs' locals stay. */
void emit_expression(Emitter *e, Expression *expression, const Value *results, int count,
                     int *locals);

/*
** Emits: if (any lane of the mask in local `where`) { instead = ...; these lanes of result = instead }. A lane's
** result does not depend on its neighbours. The locals `where` and `instead` are released.
*/
void begin_exception(Emitter *e, int where);
void end_exception(Emitter *e, int where, int instead, int result);

#endif
