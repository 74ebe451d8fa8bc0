/*
** Between SMALL_CODE and SMALL_CODE_END functions are compiled for size: for what does not run often, in
** folders that the Makefile compiles for speed. Every kilobyte is downloaded.
*/
#ifndef XLA_BASE_SMALL_H
#define XLA_BASE_SMALL_H

#define SMALL_CODE     _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define SMALL_CODE_END _Pragma("clang attribute pop")

#endif
