/* The platform of a native process: for tests under sanitizers, and for porting. */
#define _GNU_SOURCE
#include <sched.h>
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

#include "platform/platform.h"

_Noreturn void platform_fatal(const char *message) {
  fprintf(stderr, "fatal: %s\n", message);
  abort();
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

double platform_heap_in_use(void) {
#ifdef __GLIBC__
  return (double)mallinfo2().uordblks;
#else
  return 0;
#endif
}

/* A native host waits with scheduler_wait, which needs no telling. */
void platform_notify(void) {}

bool platform_has_codegen(void) { return false; }
bool platform_shared_memory(void) { return false; }

int platform_module_register(const uint8_t *bytes, size_t size) {
  (void)bytes, (void)size;
  return 0;
}

void platform_module_release(int module) { (void)module; }

GeneratedKernel platform_module_function(int module, int function) {
  (void)module, (void)function;
  return NULL;
}

bool platform_try(void (*function)(void *), void *argument) {
  function(argument);
  return true;
}

const char *platform_trap_message(void) { return ""; }

void platform_wait(_Atomic uint32_t *word, uint32_t seen) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
  (void)word, (void)seen;
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
