/*
** The platform of WebAssembly under a JavaScript host. What only JavaScript can do (instantiate
** modules, catch traps, post messages) is in bindings/library.js.
*/
#include <emscripten.h>
#include <emscripten/threading.h>
#include <malloc.h>
#include <stdlib.h>

#include "platform/platform.h"

/* bindings/library.js */
extern void xla_js_notify(void);
extern int xla_js_module_register(const uint8_t *bytes, size_t size);
extern void xla_js_module_release(int module);
extern int xla_js_module_function(int module, int function);
extern int xla_js_try(void (*function)(void *), void *argument, char *message, int message_size);
extern void xla_js_wait(_Atomic uint32_t *word, uint32_t seen);
extern void xla_js_fatal(const char *message) __attribute__((noreturn));

static _Thread_local char trap_message[256];

_Noreturn void platform_fatal(const char *message) { xla_js_fatal(message); }

double platform_now_us(void) { return emscripten_get_now() * 1e3; }

double platform_heap_in_use(void) { return (double)mallinfo().uordblks; }

void platform_notify(void) { xla_js_notify(); }

bool platform_has_codegen(void) { return true; }
int platform_module_register(const uint8_t *bytes, size_t size) {
  return xla_js_module_register(bytes, size);
}
void platform_module_release(int module) { xla_js_module_release(module); }

GeneratedKernel platform_module_function(int module, int function) {
  return (GeneratedKernel)xla_js_module_function(module, function);
}

bool platform_try(void (*function)(void *), void *argument) {
  return xla_js_try(function, argument, trap_message, sizeof trap_message);
}

const char *platform_trap_message(void) { return trap_message; }

#ifdef XLA_SINGLE_THREADED

int platform_concurrency(void) { return 1; }
bool platform_shared_memory(void) { return false; }
void platform_wait(_Atomic uint32_t *word, uint32_t seen) { (void)word, (void)seen; }
void platform_wake_all(_Atomic uint32_t *word) { (void)word; }

#else

int platform_concurrency(void) { return emscripten_num_logical_cores(); }
bool platform_shared_memory(void) { return true; }

/*
** In JavaScript (Atomics.wait), not by memory.atomic.wait32: Node 20's baseline compiler loses the
** locals of a function that waits in a loop. A worker's pointer to its own stack became 0, and all
** workers shared the same few bytes. binaryen inlines any function around the instruction.
*/
void platform_wait(_Atomic uint32_t *word, uint32_t seen) { xla_js_wait(word, seen); }

void platform_wake_all(_Atomic uint32_t *word) {
  __builtin_wasm_memory_atomic_notify((int *)word, 0x7fffffff);
}

#endif
