/*
** Declares the functions that differ between WebAssembly (wasm.c) and a native process (native.c).
** No other file in src/ may include an Emscripten header.
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
/* Unwinds the thread with RESOURCE_EXHAUSTED, for exhausted arenas. */
_Noreturn void platform_fatal(const char *message);

/* Microseconds on a monotonic clock that all threads share. */
double platform_now_us(void);

/* Converts a decimal number, -?digits[.digits][e[+-]digits], to the nearest double; infinite beyond the largest.
** platform_decimal_digits converts back: it returns the `digits` digits (at most 17) nearest to value > 0 as an
** integer whose first digit counts 10^exponent; of two equally near ones, either. Every host can do both; the
** C library's versions take 9 kB of the download. */
double platform_parse_decimal(const char *text);
int64_t platform_decimal_digits(double value, int digits, int *exponent);

/* Returns the number of threads that the machine can run at once; 1 in the single-threaded build. */
int platform_concurrency(void);

/* Returns the bytes of stack to allocate for a new worker; 0: none. */
size_t platform_stack_bytes(void);
/* Returns the max bytes that pthread_create allocates besides; 0: none in this memory. */
size_t platform_thread_bytes(void);

/* Returns the bytes that malloc has allocated and not freed; 0 if unknown. */
double platform_heap_in_use(void);

/* Notifies the host of an event that it may wait for (a run ended, a device needs the host). Returns at once;
** callable from any thread; calls may be merged. */
void platform_notify(void);
/* The words by which a host in JavaScript waits for these events: see api.h. NULL natively. */
void *platform_host_events(void);

/*
** Generated code. A module made by codegen/ is registered once, by any thread, and gets a number;
** each thread that calls it instantiates it on first use. Natively there is no engine for it:
** platform_has_codegen() is false, and fusions are run by the evaluator.
*/
bool platform_has_codegen(void);

/* Returns whether the linear memory is shared between threads; generated modules must declare this. */
bool platform_shared_memory(void);

/* Returns whether the engine multiplies and adds with one rounding (relaxed SIMD), and may: by default it may. Natively it
** does not. platform_allow_fused(false) comes before anything is compiled. */
bool platform_fuses(void);
void platform_allow_fused(bool allow);

/* Registers a WebAssembly module of `size` bytes, which are copied. Returns its number (> 0), or 0 and an error.
** platform_module_release makes the number invalid. */
int platform_module_register(const uint8_t *bytes, size_t size, Error *error);
void platform_module_release(int module);
/* Returns the size of a registered module, followed by its bytes. */
const uint32_t *platform_module_code(int module);

/* The C type of a generated kernel; codegen/codegen.h describes the arguments. */
typedef void (*GeneratedKernel)(uint8_t *const *buffers, int64_t begin, int64_t end);

/* The C type of a generated region; see codegen/regions/region.h. */
typedef int (*GeneratedRegion)(void *context, uint8_t *const *slots, int resume, int fuel);

/* Returns this thread's function `function` (exports are named "0", "1", ...) of a registered module, or NULL if
** the module cannot be instantiated. The pointer is valid on this thread only. After the first call it costs a few
** loads. */
GeneratedKernel platform_module_function(int module, int function);

/* Calls `function(argument)`. If it traps, restores this thread's stack and returns false with the reason in
** `error`. Natively, platform_trap() is the only trap. A trap of the engine itself gives INTERNAL, a worker's stack that
** overflowed RESOURCE_EXHAUSTED; if it overwrote data below, the host is told that the instance is broken. Every task on
** every thread runs inside a platform_try(). */
bool platform_try(void (*function)(void *), void *argument, Error *error);

/* Returns the thread that is in malloc (see lock.h), or THREAD_NONE; always THREAD_NONE natively and in the
** single-threaded build. */
int platform_heap_owner(void);
bool platform_heap_is_mine(void);

/* platform_wait sleeps until *word differs from `seen` or `most_us` have passed (0: no limit); it may also wake
** spuriously. On a page's main thread it returns at once. platform_wake_all wakes all threads that sleep on `word`. */
void platform_wait(_Atomic uint32_t *word, uint32_t seen, double max_us);
void platform_wake_all(_Atomic uint32_t *word);

#endif
