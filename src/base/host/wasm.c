/*
** Implements platform.h for WebAssembly under a JavaScript host. bindings/host/library.js does the parts that only
** JavaScript can do: instantiate modules, catch traps, post messages.
*/
#include <emscripten.h>
#include <emscripten/stack.h>
#include <emscripten/threading.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/lock.h"
#include "base/host/platform.h"

/* bindings/host/library.js */
extern void xla_js_notify(void);
extern void xla_js_broken(const char *message);
extern bool xla_js_module_validate(const uint8_t *bytes, size_t size);
extern void xla_js_modules_sweep(void);
extern int xla_js_module_function(int module, int function);
extern int xla_js_try(void (*function)(void *), void *argument, char *message, int message_size);
extern void xla_js_wait(_Atomic uint32_t *word, uint32_t seen, double max_us);
extern double xla_js_parse_decimal(const char *text);
extern int64_t xla_js_decimal_digits(double value, int digits, int *exponent);
extern void xla_js_trap(int code, const char *message) __attribute__((noreturn));

_Noreturn void platform_trap(StatusCode code, const char *message) {
  xla_js_trap((int)code, message);
}

_Noreturn void platform_fatal(const char *message) {
  platform_trap(STATUS_RESOURCE_EXHAUSTED, message);
}

double platform_now_us(void) { return emscripten_get_now() * 1e3; }

/* Implements snprintf without floats, under the name that the Makefile gives it. The C library's variant without
** floats takes only a va_list. */
int snprintf(char *restrict out, size_t size, const char *restrict format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(out, size, format, arguments);
  va_end(arguments);
  return length;
}

double platform_parse_decimal(const char *text) { return xla_js_parse_decimal(text); }

int64_t platform_decimal_digits(double value, int digits, int *exponent) {
  return xla_js_decimal_digits(value, digits, exponent);
}

size_t platform_stack_bytes(void) { return 1 << 20; }
size_t platform_thread_bytes(void) {
  return 1 << 15;
} /* 11 kB used; cached_functions is 8 of them */

double platform_heap_in_use(void) { return (double)mallinfo().uordblks; }

/*
** What the host looks at while it sleeps in JavaScript (bindings/host/core.mjs): `events` changes when there is something
** to do. A host that sleeps gets no messages, as these would pile up. `broken` says why nothing may be called again.
*/
static struct {
  _Atomic uint32_t events, sleeps;
  const char *_Atomic broken;
} host;

void *platform_host_events(void) { return &host; }

static void wake_host(void) {
  atomic_fetch_add(&host.events, 1);
  platform_wake_all(&host.events);
}

void platform_notify(void) {
  wake_host();
  if (!host.sleeps) xla_js_notify();
}

bool platform_has_codegen(void) { return true; }

static bool fused_is_allowed = true;

void platform_allow_fused(bool allow) { fused_is_allowed = allow; }

bool platform_fuses(void) {
  /* (a, b, c) => f32x4.relaxed_madd(a, b, c) */
  static const char probe[] =
      "\0asm\1\0\0\0"
      "\x01\x08\x01\x60\x03\x7b\x7b\x7b\x01\x7b"                      /* types */
      "\x03\x02\x01\x00"                                              /* functions */
      "\x0a\x0d\x01\x0b\x00\x20\x00\x20\x01\x20\x02\xfd\x85\x02\x0b"; /* code */
  static _Atomic int fuses = -1;                                      /* until it is known */
  if (fuses < 0) fuses = xla_js_module_validate((const uint8_t *)probe, sizeof probe - 1);
  return fused_is_allowed && fuses;
}

/* The record of a module; bindings/host/library.js reads it. A module's number is its record's address divided by 8. */
typedef struct ModuleRecord {
  uint32_t serial; /* odd, never used twice; anything else: the module was released */
  uint32_t size;
  uint8_t bytes[];
} ModuleRecord;

int platform_module_register(const uint8_t *bytes, size_t size, Error *error) {
  static _Atomic uint32_t last_serial = 1;
  if (!xla_js_module_validate(bytes, size)) {
    return error_set(error, STATUS_INTERNAL, "the engine refuses the generated module");
  }
  ModuleRecord *record = malloc(sizeof *record + size);
  if (!record) return error_set(error, STATUS_RESOURCE_EXHAUSTED, "out of memory");
  record->serial = last_serial += 2;
  record->size = (uint32_t)size;
  memcpy(record->bytes, bytes, size);
  return (int)((uintptr_t)record >> 3);
}

const uint32_t *platform_module_code(int module) {
  return &((const ModuleRecord *)((uintptr_t)module << 3))->size;
}

void platform_module_release(int module) {
  ModuleRecord *record = (ModuleRecord *)((uintptr_t)module << 3);
  record->serial = 0;
  xla_js_modules_sweep();
  free(record);
}

/* Threshold CACHE_BITS: the cache of function addresses has 2^9 entries. No path. */
enum { CACHE_BITS = 9 };
/*
** A thread's cache of function addresses, so that it calls JavaScript once per function. An entry with another
** serial than the module's belongs to another module.
*/
typedef struct CachedFunction {
  int module, function;
  uint32_t serial;
  GeneratedKernel address;
} CachedFunction;

static _Thread_local CachedFunction cached_functions[1 << CACHE_BITS];

GeneratedKernel platform_module_function(int module, int function) {
  const ModuleRecord *record = (const ModuleRecord *)((uintptr_t)module << 3);
  uint32_t hash = ((uint32_t)module * 31 + (uint32_t)function) * UINT32_C(2654435769);
  CachedFunction *cached = &cached_functions[hash >> (32 - CACHE_BITS)];
  if (cached->module != module || cached->function != function ||
      cached->serial != record->serial) {
    GeneratedKernel address = (GeneratedKernel)xla_js_module_function(module, function);
    if (!address) return NULL;
    *cached = (CachedFunction){module, function, record->serial, address};
  }
  return cached->address;
}

/*
** The host's stack lies at the bottom of memory (--stack-first), so that an overflow traps. A worker's stack is on
** the heap, above other data. Its last words are a guard. If its upper words are overwritten, the stack overflowed;
** if its lower half is, too, so may be the data below.
*/
/* Threshold GUARD_WORDS, UPPER_WORDS: words of the guard. No path. */
enum { GUARD_WORDS = 4096, UPPER_WORDS = 64, GUARD = 0x57acced5 };
static _Thread_local uint32_t *stack_guard;

static void fill_stack_guard(void) {
  for (int i = 0; i < GUARD_WORDS; i++) stack_guard[i] = GUARD;
}

static void set_stack_guard(void) {
  if (stack_guard || lock_thread() == THREAD_HOST) return;
  stack_guard = (uint32_t *)emscripten_stack_get_end();
  fill_stack_guard();
}

static bool guard_stands(int begin, int end) {
  for (int i = begin; i < end; i++) {
    if (stack_guard[i] != GUARD) return false;
  }
  return true;
}

/* Reports an overflow of this worker's stack: an error of the run, or of the whole instance. */
static bool stack_overflowed(Error *error) {
  bool is_contained = guard_stands(0, GUARD_WORDS / 2);
  fill_stack_guard();
  if (is_contained) return error_set(error, STATUS_RESOURCE_EXHAUSTED, "out of stack, on a worker");
  static const char REASON[] = "a worker's stack overflowed";
  host.broken = REASON;
  wake_host();
  xla_js_broken(REASON);
  return error_set(error, STATUS_INTERNAL, "a worker's stack overflowed");
}

bool platform_try(void (*function)(void *), void *argument, Error *error) {
  char message[256];
  set_stack_guard();
  int code = xla_js_try(function, argument, message, sizeof message);
  if (stack_guard && !guard_stands(GUARD_WORDS - UPPER_WORDS, GUARD_WORDS)) {
    return stack_overflowed(error);
  }
  if (code == STATUS_OK) return true;
  return error_set(error, (StatusCode)code, "%s", message);
}

#ifdef XLA_SINGLE_THREADED

int platform_heap_owner(void) { return THREAD_NONE; }
bool platform_heap_is_mine(void) { return false; }
int platform_concurrency(void) { return 1; }
bool platform_shared_memory(void) { return false; }
void platform_wait(_Atomic uint32_t *word, uint32_t seen, double max_us) {
  (void)word, (void)seen, (void)max_us;
}
void platform_wake_all(_Atomic uint32_t *word) { (void)word; }

#else

/*
** The lock of malloc knows its owner, as the scheduler's does, so no thread waits for one that died in malloc.
** The C library's own lock is only taken inside it and is always free.
*/
static Lock heap_lock;

extern void *emscripten_builtin_malloc(size_t size);
extern void *emscripten_builtin_calloc(size_t count, size_t size);
extern void *emscripten_builtin_memalign(size_t alignment, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void emscripten_builtin_free(void *memory);

int platform_heap_owner(void) { return lock_owner(&heap_lock); }
bool platform_heap_is_mine(void) { return lock_is_mine(&heap_lock); }

#define LOCKED(type, expression)       \
  {                                    \
    lock_acquire(&heap_lock);          \
    type result_ = (type)(expression); \
    lock_release(&heap_lock);          \
    return result_;                    \
  }

void *malloc(size_t size) LOCKED(void *, emscripten_builtin_malloc(size)) void *calloc(size_t count,
                                                                                       size_t size)
    LOCKED(void *, emscripten_builtin_calloc(count, size)) void *realloc(void *memory, size_t size)
        LOCKED(void *, __libc_realloc(memory, size)) void *memalign(size_t alignment, size_t size)
            LOCKED(void *, emscripten_builtin_memalign(alignment,
                                                       size)) void *aligned_alloc(size_t alignment,
                                                                                  size_t size)
                LOCKED(void *, emscripten_builtin_memalign(alignment, size))

                    void free(void *memory) {
  if (!memory) return;
  lock_acquire(&heap_lock);
  emscripten_builtin_free(memory);
  lock_release(&heap_lock);
}

int platform_concurrency(void) { return emscripten_num_logical_cores(); }
bool platform_shared_memory(void) { return true; }

/*
** Waits in JavaScript (Atomics.wait), not with memory.atomic.wait32: Node 20's baseline compiler loses the locals
** of a function that waits in a loop. A worker's pointer to its own stack became 0, and all workers shared the
** same few bytes. A wrapper function does not help, since binaryen inlines it.
*/
void platform_wait(_Atomic uint32_t *word, uint32_t seen, double max_us) {
  xla_js_wait(word, seen, max_us);
}

void platform_wake_all(_Atomic uint32_t *word) {
  __builtin_wasm_memory_atomic_notify((int *)word, 0x7fffffff);
}

#endif
