/*
** Compiles a module for a mesh of devices: the rewrites, thunks, buffers, groups of loops and generated code, in steps.
*/
#ifndef XLA_COMPILE_COMPILATION_H
#define XLA_COMPILE_COMPILATION_H

#include "compile/program.h"

typedef struct CompileOptions {
  bool evaluate;     /* needed rewrites only; the evaluator runs what it can; nothing is in place */
  bool not_in_place; /* no result is written into an operand's memory */
  bool no_row_groups, no_regions;
  /* Loops run in the smallest chunks that they allow, and row groups row by row. */
  bool small_chunks;
  PassSet disabled; /* rewrites that are switched off */
  KernelSet kernels_off;
  PassWatch *watch; /* of the passes; may be NULL */
} CompileOptions;

/* switches.c: reads a comma-separated list of parts to switch off: optional rewrites, parts of switches.def, and
** kernels as kernel-NAME; NULL is an empty one. Returns false with INVALID_ARGUMENT if a name is none of these. */
bool compile_options_disable(CompileOptions *options, const char *names, Error *error);
/* Appends a comma-separated list of these names, in the order in which the parts run. */
void compile_options_list(StrBuf *out);

/*
** Compiles a copy of `module` for a mesh of devices, in steps, so that the host can do other things between them. A step
** is one rewrite, one of the later stages of compilation.c, or a part of the tables that kernels need.
*/
typedef struct Compilation Compilation;
Compilation *compilation_new(const Module *module, Mesh mesh, const CompileOptions *options);
/* Does the next step. Returns false if it was the last one, or failed. */
bool compilation_step(Compilation *compilation);
/* Frees a compilation. Returns the program; NULL with the reason if it failed, or has steps left. */
Program *compilation_end(Compilation *compilation, Error *error);

/* Does all steps. */
Program *program_new(const Module *module, Mesh mesh, const CompileOptions *options, Error *error);
#endif
