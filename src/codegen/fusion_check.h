/*
** Checks what may enter code generation, for builds that test (XLA_CHECKS). A fault aborts, with the fusion's name.
*/
#ifndef XLA_CODEGEN_FUSION_CHECK_H
#define XLA_CODEGEN_FUSION_CHECK_H

#include "plan/fusible.h"

#ifdef XLA_CHECKS
/*
** Checks that a fusion is one loop that can be emitted:
**   - its computation has a parameter of each operand's type and dimensions;
**   - every other instruction is a constant, the root tuple, or one that `target` can fuse;
**   - only the root reduces or scatters;
**   - 32-bit indices count its elements;
**   - no instruction waits for another that is no operand.
*/
void fusion_check(const Instruction *fusion, const Target *target);
#else
static inline void fusion_check(const Instruction *fusion, const Target *target) {}
#endif

#endif
