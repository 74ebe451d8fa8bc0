/* Implements platform.h for a native process: for tests under sanitizers, and for porting. */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "base/host/lock.h"
#include "base/host/platform.h"

typedef struct Try {
  struct Try *outer;
  Error *error;
  jmp_buf place;
} Try;

static _Thread_local Try *innermost;

_Noreturn void platform_trap(StatusCode code, const char *message) {
  if (!innermost) {
    fprintf(stderr, "fatal: %s\n", message);
    abort();
  }
  error_set(innermost->error, code, "%s", message);
  longjmp(innermost->place, 1);
}

_Noreturn void platform_fatal(const char *message) {
  platform_trap(STATUS_RESOURCE_EXHAUSTED, message);
}

bool platform_try(void (*function)(void *), void *argument, Error *error) {
  Try attempt = {.outer = innermost, .error = error};
  innermost = &attempt;
  bool trapped = setjmp(attempt.place) != 0; /* NOLINT(cert-err52-cpp) */
  if (!trapped) function(argument);
  innermost = attempt.outer;
  return !trapped;
}

double platform_now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

int platform_concurrency(void) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (int)count : 1;
}

double platform_parse_decimal(const char *text) { return strtod(text, NULL); }

int64_t platform_decimal_digits(double value, int digits, int *exponent) {
  char text[40];
  snprintf(text, sizeof text, "%.*e", digits - 1, value);
  int64_t all = 0;
  const char *at = text;
  for (; *at != 'e'; at++) {
    if (*at != '.') all = all * 10 + (*at - '0');
  }
  *exponent = atoi(at + 1);
  return all;
}

size_t platform_stack_bytes(void) { return 0; }
size_t platform_thread_bytes(void) { return 1 << 10; } /* for tests: no thread needs them here */

double platform_heap_in_use(void) {
#ifdef __GLIBC__
  return (double)mallinfo2().uordblks;
#else
  return 0;
#endif
}

/* Does nothing: a native host waits with scheduler_wait. */
void platform_notify(void) {}
void *platform_host_events(void) { return NULL; }

/* malloc has locks of its own, and no native thread dies in it. */
int platform_heap_owner(void) { return THREAD_NONE; }
bool platform_heap_is_mine(void) { return false; }

bool platform_has_codegen(void) { return false; }
bool platform_shared_memory(void) { return false; }

bool platform_fuses(void) { return false; }
void platform_allow_fused(bool allow) { (void)allow; }

int platform_module_register(const uint8_t *bytes, size_t size, Error *error) {
  (void)bytes, (void)size;
  error_set(error, STATUS_INTERNAL, "there is no engine for generated code");
  return 0;
}

void platform_module_release(int module) { (void)module; }
const uint32_t *platform_module_code(int module) { return (void)module, NULL; }

GeneratedKernel platform_module_function(int module, int function) {
  (void)module, (void)function;
  return NULL;
}

void platform_wait(_Atomic uint32_t *word, uint32_t seen, double max_us) {
#ifdef __linux__
  struct timespec max = {(time_t)(max_us * 1e-6), 0};
  max.tv_nsec = (long)((max_us - (double)max.tv_sec * 1e6) * 1e3);
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, max_us > 0 ? &max : NULL, NULL, 0);
#else
  (void)word, (void)seen, (void)max_us;
  sched_yield();
#endif
}

void platform_wake_all(_Atomic uint32_t *word) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
#else
  (void)word;
#endif
}
