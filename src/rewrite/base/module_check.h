/*
** Checks modules between rewrites, for builds that test (XLA_CHECKS). A fault aborts, with the rewrite's name.
*/
#ifndef XLA_REWRITE_BASE_MODULE_CHECK_H
#define XLA_REWRITE_BASE_MODULE_CHECK_H

#include "hlo/ir/module.h"

#ifdef XLA_CHECKS

/* Whether the verifier accepts a module. One may be accepted when it is read, and not for the mesh that it is compiled
** for: later stages refuse that, and these checks leave it alone. */
bool module_is_valid(const Module *module);

/* Checks that a rewrite left a module that the verifier accepts. */
void module_check(const Module *module, const char *pass);

/*
** Checks what may leave the rewrites: a module that the verifier accepts, in which
**   - no array has a dynamic dimension;
**   - no operation is left that a needed rewrite replaces;
**   - every instruction is in a computation that the entry reaches.
*/
void module_check_rewritten(const Module *module);
#else
static inline bool module_is_valid(const Module *module) { return true; }
static inline void module_check(const Module *module, const char *pass) {}
static inline void module_check_rewritten(const Module *module) {}
#endif

#endif
