/*
** The few things that differ between WebAssembly (wasm.c) and a native process (native.c).
** Nothing else in src/ may include an Emscripten header.
*/
#ifndef XLA_BASE_HOST_PLATFORM_H
#define XLA_BASE_HOST_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Unwinds the thread as a trap would: the innermost platform_try() returns false, or the current call of the
** API fails. For failures that no return value can report. */
_Noreturn void platform_trap(StatusCode code, const char *message);
/* The same with RESOURCE_EXHAUSTED, for exhausted arenas. */
_Noreturn void platform_fatal(const char *message);

/* Microseconds on a monotonic clock that all threads share. */
double platform_now_us(void);

/* Decimal numbers, -?digits[.digits][e[+-]digits], to the nearest double, infinite beyond the largest; and
** back: the `digits` digits, 17 at most, that are nearest to value > 0, as an integer whose first digit
** counts 10^exponent. Of two that are as near it may be either. Every host can do both, and the C library's
** take 9 kB of the download. */
double platform_parse_decimal(const char *text);
int64_t platform_decimal_digits(double value, int digits, int *exponent);

/* Number of threads that the machine can run at once; 1 in the single-threaded build. */
int platform_concurrency(void);

/* Bytes of a worker's stack that whoever starts it has to allocate; 0: none. */
size_t platform_stack_bytes(void);
/* Bytes that pthread_create allocates besides, at most; 0: none that this memory has to hold. */
size_t platform_thread_bytes(void);

/* Bytes that malloc has given out and not got back; 0 where that can't be known. */
double platform_heap_in_use(void);

/* Tells the host that something happened that it may be waiting for (a run ended, a replica wants
** the host). Returns at once; callable from any thread; calls may be merged. */
void platform_notify(void);

/*
** Generated code. A module made by codegen/ is registered once, by any thread, and gets a number;
** each thread that calls it instantiates it on first use. Natively there is no engine for it:
** platform_has_codegen() is false, and fusions are run by the evaluator.
*/
bool platform_has_codegen(void);

/* Whether the linear memory is shared between threads, which generated modules must declare. */
bool platform_shared_memory(void);

/* Takes `size` bytes of a WebAssembly module. Returns its number (> 0), or 0 with the reason. The
** bytes are copied. platform_module_release makes the number invalid. */
int platform_module_register(const uint8_t *bytes, size_t size, Error *error);
void platform_module_release(int module);
/* The size of a registered module, then its bytes. */
const uint32_t *platform_module_code(int module);

/* A kernel as C sees it: see codegen/codegen.h for what the arguments mean. */
typedef void (*GeneratedKernel)(uint8_t *const *buffers, int64_t begin, int64_t end);

/* A region as C sees it: see codegen/region.h. */
typedef int (*GeneratedRegion)(void *context, uint8_t *const *slots, int resume, int fuel);

/* This thread's function `function` (exports are named "0", "1", ...) of a registered module, or
** NULL if it cannot be instantiated. The pointer is valid on this thread only. Costs a few loads, but
** for the first time. */
GeneratedKernel platform_module_function(int module, int function);

/* Calls `function(argument)`; returns false if it trapped, with the reason in `error`, and then puts
** this thread's stack right. Natively only platform_trap() is caught, as there are no other traps. A
** trap of the engine's own is UNAVAILABLE, and the host is told that all is broken.
** Every task on every thread runs inside one of these. */
bool platform_try(void (*function)(void *), void *argument, Error *error);

/* The thread that is in malloc (see lock.h): THREAD_NONE, or where only one could, never told. */
int platform_heap_owner(void);
bool platform_heap_is_mine(void);

/* Sleeps until *word is not `seen` any more, until `most_us` have passed (0: any time), or for no
** reason at all; wakes all that sleep there. On a page's main thread it returns at once. */
void platform_wait(_Atomic uint32_t *word, uint32_t seen, double most_us);
void platform_wake_all(_Atomic uint32_t *word);

#endif
