/*
** The exported C interface: all that JavaScript (or a native host) calls.
**
** Handles are pointers. Strings are NUL-terminated UTF-8. A function that can fail returns NULL (or
** -1) and sets the last error (xla_error_code and the functions after it), until the next failing
** call. Memory: `char *` results are the caller's, to be given back with xla_free(); `const char *`
** results live as long as the handle they came from.
**
** All functions are called from one thread, the host's; the worker threads are the core's own.
*/
#ifndef XLA_API_H
#define XLA_API_H

#include "hlo/infer/builder.h"
#include "runtime/buffer.h"
#include "runtime/executable.h"
#include "runtime/host.h"
#include "runtime/run.h"

#define XLA_API __attribute__((used, visibility("default")))

/*
** The version of all that the bindings rely on: the functions of this header, and the layouts and
** numbers that they stand for (ProfileEvent, RunState, WorkerLoss, StatusCode). The bindings have the same
** number, and refuse a build that has another. A change of any of it raises both;
** tests/api/api_version.test.mjs checks that.
*/
enum { XLA_API_VERSION = 15 };
XLA_API int xla_api_version(void);

/* Allocates memory for this many worker threads (0 in the single-threaded build, where xla_step does the work).
** Once, before anything else. Returns how many there will be: fewer where memory is short. */
XLA_API int xla_expect_threads(int threads);
/* Starts them, once, at any time: runs that have been started wait for them. Returns the number started. */
XLA_API int xla_start(int threads);
/* Before anything is compiled: whether products and sums may be rounded once, where the engine can do so (by
** default), or never. */
XLA_API void xla_allow_fused_multiply_add(bool allow);
XLA_API void xla_free(void *memory);

/*
** Bracket each call (they do not nest): _begin before it, _end when it has returned. If it ended by an exception
** instead, _abandon frees what it had allocated. If the call had the scheduler's lock, the run that it handled fails.
** `trapped`: the exception is a trap of the engine, after which any state may be half changed. Returns false if nothing
** may be called again.
*/
XLA_API void xla_call_begin(void);
XLA_API void xla_call_end(void);
XLA_API bool xla_call_abandon(bool trapped);

/* The last error: status code number, line and column (0: none), operation ("" if none), text. */
XLA_API int xla_error_code(void);
XLA_API int xla_error_line(void);
XLA_API int xla_error_column(void);
XLA_API const char *xla_error_operation(void);
XLA_API const char *xla_error_message(void);

/* Builders. Instruction handles belong to their builder's module. */
XLA_API Builder *xla_builder_new(const char *name);
XLA_API void xla_builder_free(Builder *builder);
/* Adds instructions until one breaks a rule; then it returns false. `text` holds NUL-terminated texts. `words` has for each
** instruction a kind and the numbers of three texts: its opcode by its HLO text name; its shape, or ""; and attributes as in
** HLO text ("dimensions={1}"), with called computations by the name that xla_builder_import gave ("to_apply=%add"), and for
** element-wise operations XlaBuilder's "broadcast_dimensions={1}". Then words follow as the kind says. An operand is a
** handle, or 2 i + 1 for instruction i of this call. */
enum {
  /* A count of operands, and these. The shape follows from them, or is the argument of builder_add: see builder.h. */
  BATCH_INFERRED = 0,
  BATCH_GIVEN = 1,
  /* A number. The parameter's name stands for attributes. */
  BATCH_PARAMETER = 2,
  /* A count of words, and these: the elements, dense and row-major, which are copied. */
  BATCH_CONSTANT = 3,
  /* A pointer from malloc to the elements, which the caller keeps on failure. */
  BATCH_OWNED_CONSTANT = 4,
  /* With one of these: it fails, too, if the shape is not the stated one. */
  BATCH_CHECKED = 8,
};
XLA_API bool xla_builder_add(Builder *builder, int text_count, const char *text, int count,
                             const uint32_t *words, Instruction **added);
/* Copies the entry computation of `module` in and returns its name here. */
XLA_API const char *xla_builder_import(Builder *builder, const Module *module);
/* Unique in its computation; as long as the builder's module. */
XLA_API const char *xla_instruction_name(const Instruction *instruction);
/* States attributes of the module as in the first line of HLO text: "replica_count=2, ...". */
XLA_API bool xla_builder_header(Builder *builder, const char *text);
XLA_API char *xla_instruction_shape(const Instruction *instruction);
/* Adds the gradients of a scalar by `count` other values: a tuple; see builder_gradient in
** derive/gradient/gradient.h. The last arguments are those of xla_module_differentiate. */
XLA_API Instruction *xla_builder_gradient(Builder *builder, const Instruction *of,
                                          Instruction *const *wrt, int count, double max_iterations,
                                          int checkpoint, const char *rule_names,
                                          Module *const *rules, int rule_count);
/* Whether gradients have a rule for functions of that name. Importers keep calls of these as calls. */
XLA_API bool xla_has_known_derivative(const char *function);
/* Ends the builder (which stays a handle to be freed) and returns its module. */
XLA_API Module *xla_builder_build(Builder *builder, Instruction *root);

/* Modules. */
/* `elided`: an ElidedLiterals of hlo/text/text.h. */
XLA_API Module *xla_module_parse(const char *text, int length, int elided);
/* `count` constants' elements beside the text: see TextData in hlo/text/text.h. */
XLA_API Module *xla_module_parse_with_data(const char *text, int length, void *const *data,
                                           const uint32_t *sizes, int count);
XLA_API char *xla_module_print(const Module *module);
XLA_API char *xla_module_print_with_data(const Module *module,
                                         int min_bytes); /* see hlo_print_with_data */
XLA_API void xla_module_free(Module *module);
XLA_API const char *xla_module_name(const Module *module);
XLA_API int xla_module_replica_count(const Module *module);   /* 0: not stated */
XLA_API int xla_module_partition_count(const Module *module); /* 0: not stated */
XLA_API int xla_module_parameter_count(const Module *module);
XLA_API char *xla_module_parameter_shape(const Module *module, int number); /* with layout if any */
XLA_API const char *xla_module_parameter_name(const Module *module, int number);
XLA_API char *xla_module_result_shape(const Module *module);
/* A new module, of derivatives: see module_differentiate in derive/gradient/gradient.h. `mode`: a GradientMode;
** `wrt`: `count` numbers of parameters; `max_iterations`: 0 for none; `checkpoint`: a Checkpoint; `rule_names`, `rules`:
** the names, and the `rule_count` pairs, of CallerRules in derive/gradient/options.h. */
XLA_API Module *xla_module_differentiate(const Module *module, int mode, const int *wrt, int count,
                                         int of, bool value, double max_iterations, int checkpoint,
                                         const char *rule_names, Module *const *rules,
                                         int rule_count);
/* After xla_module_differentiate or xla_builder_gradient failed for lack of a caller's rule: a program of the call that needs
** one, which the caller frees. Else NULL. */
XLA_API Module *xla_wanted_rule(void);
/* The backend_config of a module's result, as its text has it; "": none. */
XLA_API const char *xla_module_backend_config(const Module *module);
/* A new module, for a batch: see module_batch in derive/batch/batch.h. `in` and `out`: the dimension of the batch in
** each leaf of the parameters and of the result; NO_BATCH for none. */
XLA_API Module *xla_module_batch(const Module *module, const int *in, int in_count, const int *out,
                                 int out_count, double size);

/* Executables, for replicas x partitions devices; 0: as many as the module says. The module is copied
** and may be freed. `how`: flags, for finding faults. `disable`: names of rewrites, parts and kernels that are left out,
** with commas between them; NULL: none. */
enum {
  COMPILE_AS_WRITTEN = 1,
  COMPILE_NOT_IN_PLACE = 2
}; /* CompileOptions, in compile/compilation.h */
XLA_API Compilation *xla_compile_begin(const Module *module, int replicas, int partitions, int how,
                                       const char *disable);
/* Goes on for `ms` milliseconds, or one step if that takes longer. Returns false if there are no more steps. */
XLA_API bool xla_compile_run(Compilation *compilation, double ms);
/* Frees the compilation, at any time. NULL with an error if it failed or is not finished. */
XLA_API Executable *xla_compile_end(Compilation *compilation);
XLA_API char *xla_optional_passes(void); /* the names that `disable` may have, in order */
/* The step that a compilation was in when it trapped: the name of a rewrite, a stage or kernel-NAME. */
XLA_API const char *xla_compile_step(void);
XLA_API int xla_executable_replicas(const Executable *executable);
XLA_API int xla_executable_partitions(const Executable *executable);
XLA_API void xla_executable_free(Executable *executable);
XLA_API char *xla_executable_print(const Executable *executable); /* the optimised module */
/* Bytes of one device's arguments (kind 0) and results (1), of results that may take the memory of
** arguments (2), of temporaries (3); of constants (4) and generated code (5), which all devices share; of
** temporaries where all arguments are given away (6). */
XLA_API double xla_executable_bytes(const Executable *executable, int kind);
XLA_API char *xla_executable_thunks(const Executable *executable); /* a readable listing */
/* The bytes of its arena, then the contents of each slot: see program_print_memory. */
XLA_API char *xla_executable_memory(const Executable *executable);
/* The generated module: its size in bytes, then these. NULL if nothing was generated. */
XLA_API const uint32_t *xla_executable_code(const Executable *executable);
/* Runs the passes that a compilation with these arguments runs. Returns, for each pass that changed the module, in order: a form
** feed, the pass's name, a newline, the module's text. */
XLA_API char *xla_compile_passes(const Module *module, int replicas, int partitions, int how,
                                 const char *disable);

/* Device buffers: the memory of one array leaf, reference-counted; new ones have one reference. */
XLA_API Buffer *xla_buffer_new(const char *shape);    /* its elements are not set */
XLA_API void xla_buffer_free(Buffer *buffer);         /* drops one reference */
XLA_API void *xla_buffer_data(Buffer *buffer);        /* dense, row-major; type_bytes per element */
XLA_API char *xla_buffer_shape(const Buffer *buffer); /* all static */
XLA_API double xla_buffer_bytes(const Buffer *buffer);

/*
** Runs. `arguments` are devices x (leaves of all parameters in order) buffers, replica-major;
** tuples are given as their leaves; a token leaf is NULL. `donated` (may be NULL) marks those whose
** memory the run may overwrite, and takes over one reference of each; the others are borrowed until
** the run is freed. Shapes are checked. Dynamic dimensions may be shorter than their bound.
*/
XLA_API Run *xla_run_new(Executable *executable, Buffer *const *arguments, const uint8_t *donated,
                         bool profile);
/* Starts a run with an executable for each device; all are compiled for the mesh of these devices. */
XLA_API Run *xla_launch_new(Executable *const *executables, int count, Buffer *const *arguments,
                            const uint8_t *donated, bool profile);
/* Before the start: which numbers rng gives; an integer, 0 by default. */
XLA_API void xla_run_seed(Run *run, double seed);
/* Returns the state: a short run has ended when it returns, if `us`, the time that the calling thread has, is enough. */
XLA_API int xla_run_start(Run *run, double us);
/* RunState: 0 new, 1 running, 2 done, 3 failed. platform_notify() tells when to look. */
XLA_API int xla_run_state(Run *run);
/* Makes the run's error the last error (see xla_error_code). */
XLA_API void xla_run_error(Run *run);
/* The result's leaf number `leaf` on a device: a reference of the caller's. NULL for tokens, and
** when memory is out. Dynamic dimensions are as long as they turned out: see xla_buffer_shape. */
XLA_API Buffer *xla_run_result(Run *run, int device, int leaf);
XLA_API void xla_run_cancel(Run *run);
/* Fails the run now with DEADLINE_EXCEEDED. The message says that it took longer than `ms` milliseconds, and lists each
** device's wait. */
XLA_API void xla_run_time_out(Run *run, double ms);
/* Returns each device's wait, when the run could not go on or was timed out, as JSON: see runtime/waiting.h. */
XLA_API char *xla_run_waiting(Run *run);
XLA_API void xla_run_free(Run *run); /* a running run is cancelled first */
/* Profile: `count` events; see ProfileEvent in runtime/run_state.h. */
XLA_API const ProfileEvent *xla_run_profile(Run *run);
XLA_API int xla_run_profile_count(Run *run);

/*
** Calls of the host (infeed, outfeed, custom-call, host sends and receives): whenever
** platform_notify() is heard, take calls until there are none, write the results' data, and end
** each. `message`, if not NULL or "", fails the run with status `code`. Operands and results are leaves in order; a
** token's data is NULL. Handles stay good until the call is done or the run is freed.
*/
XLA_API HostCall *xla_run_host_call(Run *run);
XLA_API int xla_host_call_replica(const HostCall *call);
XLA_API int xla_host_call_partition(const HostCall *call);
XLA_API const char *xla_host_call_opcode(const HostCall *call); /* "infeed", "custom-call", ... */
XLA_API const char *xla_host_call_target(const HostCall *call); /* see runtime/host.h */
XLA_API const char *xla_host_call_backend_config(const HostCall *call); /* raw text or "" */
XLA_API int xla_host_call_operand_count(const HostCall *call);
XLA_API char *xla_host_call_operand_shape(const HostCall *call, int leaf);
XLA_API const void *xla_host_call_operand_data(const HostCall *call, int leaf);
XLA_API int xla_host_call_result_count(const HostCall *call);
XLA_API char *xla_host_call_result_shape(const HostCall *call, int leaf);
XLA_API void *xla_host_call_result_data(const HostCall *call, int leaf);
XLA_API void xla_host_call_done(HostCall *call, int code, const char *message);

/* Single-threaded build: works for about `budget_us`; returns true if there is more to do now. */
XLA_API bool xla_step(double budget_us);

/* A worker thread is gone (the host noticed): fails what it was running, and starts another.
** WorkerLoss: 0 started, 1 could not be started, 2 nothing may be called again. */
XLA_API int xla_worker_lost(int worker);

/* Three words for a host that waits by Atomics.wait, in WebAssembly: a count of events, which changes whenever
** platform_notify() is called; whether the host sleeps, which it sets itself, and then hears no platform_notify(); and a
** message, or NULL: why nothing may be called again. */
XLA_API void *xla_host_events(void);

/* Returns the bytes of live device buffers and run arenas; for tests that memory is freed. */
XLA_API double xla_memory_in_use(void);
/* Returns the bytes allocated by malloc and not freed; for leak tests. */
XLA_API double xla_heap_in_use(void);

#endif
