/**
 * The names of the core's functions, for Core.call(); src/api.h documents each. Written by
 * `make declarations` (bindings/tools/declarations/calls.mjs).
 */
/** src/api.h: int xla_api_version(void) */
export const xla_api_version = 'xla_api_version';
/** src/api.h: int xla_expect_threads(int threads) */
export const xla_expect_threads = 'xla_expect_threads';
/** src/api.h: int xla_start(int threads) */
export const xla_start = 'xla_start';
/** src/api.h: void xla_allow_fused_multiply_add(bool allow) */
export const xla_allow_fused_multiply_add = 'xla_allow_fused_multiply_add';
/** src/api.h: void xla_free(void *memory) */
export const xla_free = 'xla_free';
/** src/api.h: void xla_call_begin(void) */
export const xla_call_begin = 'xla_call_begin';
/** src/api.h: void xla_call_end(void) */
export const xla_call_end = 'xla_call_end';
/** src/api.h: bool xla_call_abandon(bool trapped) */
export const xla_call_abandon = 'xla_call_abandon';
/** src/api.h: int xla_error_code(void) */
export const xla_error_code = 'xla_error_code';
/** src/api.h: int xla_error_line(void) */
export const xla_error_line = 'xla_error_line';
/** src/api.h: int xla_error_column(void) */
export const xla_error_column = 'xla_error_column';
/** src/api.h: const char *xla_error_operation(void) */
export const xla_error_operation = 'xla_error_operation';
/** src/api.h: const char *xla_error_message(void) */
export const xla_error_message = 'xla_error_message';
/** src/api.h: Builder *xla_builder_new(const char *name) */
export const xla_builder_new = 'xla_builder_new';
/** src/api.h: void xla_builder_free(Builder *builder) */
export const xla_builder_free = 'xla_builder_free';
/** src/api.h: bool xla_builder_add(Builder *builder, int text_count, const char *text, int count, const uint32_t *words, Instruction **added) */
export const xla_builder_add = 'xla_builder_add';
/** src/api.h: const char *xla_builder_import(Builder *builder, const Module *module) */
export const xla_builder_import = 'xla_builder_import';
/** src/api.h: const char *xla_instruction_name(const Instruction *instruction) */
export const xla_instruction_name = 'xla_instruction_name';
/** src/api.h: bool xla_builder_header(Builder *builder, const char *text) */
export const xla_builder_header = 'xla_builder_header';
/** src/api.h: char *xla_instruction_shape(const Instruction *instruction) */
export const xla_instruction_shape = 'xla_instruction_shape';
/** src/api.h: Instruction *xla_builder_gradient(Builder *builder, const Instruction *of, Instruction *const *wrt, int count, double max_iterations, int checkpoint, const char *rule_names, Module *const *rules, int rule_count) */
export const xla_builder_gradient = 'xla_builder_gradient';
/** src/api.h: bool xla_has_known_derivative(const char *function) */
export const xla_has_known_derivative = 'xla_has_known_derivative';
/** src/api.h: Module *xla_builder_build(Builder *builder, Instruction *root) */
export const xla_builder_build = 'xla_builder_build';
/** src/api.h: Module *xla_module_parse(const char *text, int length, int elided) */
export const xla_module_parse = 'xla_module_parse';
/** src/api.h: Module *xla_module_parse_with_data(const char *text, int length, void *const *data, const uint32_t *sizes, int count) */
export const xla_module_parse_with_data = 'xla_module_parse_with_data';
/** src/api.h: char *xla_module_print(const Module *module) */
export const xla_module_print = 'xla_module_print';
/** src/api.h: char *xla_module_print_with_data(const Module *module, int min_bytes) */
export const xla_module_print_with_data = 'xla_module_print_with_data';
/** src/api.h: void xla_module_free(Module *module) */
export const xla_module_free = 'xla_module_free';
/** src/api.h: const char *xla_module_name(const Module *module) */
export const xla_module_name = 'xla_module_name';
/** src/api.h: int xla_module_replica_count(const Module *module) */
export const xla_module_replica_count = 'xla_module_replica_count';
/** src/api.h: int xla_module_partition_count(const Module *module) */
export const xla_module_partition_count = 'xla_module_partition_count';
/** src/api.h: int xla_module_parameter_count(const Module *module) */
export const xla_module_parameter_count = 'xla_module_parameter_count';
/** src/api.h: char *xla_module_parameter_shape(const Module *module, int number) */
export const xla_module_parameter_shape = 'xla_module_parameter_shape';
/** src/api.h: const char *xla_module_parameter_name(const Module *module, int number) */
export const xla_module_parameter_name = 'xla_module_parameter_name';
/** src/api.h: char *xla_module_result_shape(const Module *module) */
export const xla_module_result_shape = 'xla_module_result_shape';
/** src/api.h: Module *xla_module_differentiate(const Module *module, int mode, const int *wrt, int count, int of, bool value, double max_iterations, int checkpoint, const char *rule_names, Module *const *rules, int rule_count) */
export const xla_module_differentiate = 'xla_module_differentiate';
/** src/api.h: Module *xla_wanted_rule(void) */
export const xla_wanted_rule = 'xla_wanted_rule';
/** src/api.h: const char *xla_module_backend_config(const Module *module) */
export const xla_module_backend_config = 'xla_module_backend_config';
/** src/api.h: Module *xla_module_batch(const Module *module, const int *in, int in_count, const int *out, int out_count, double size) */
export const xla_module_batch = 'xla_module_batch';
/** src/api.h: Compilation *xla_compile_begin(const Module *module, int replicas, int partitions, int how, const char *disable) */
export const xla_compile_begin = 'xla_compile_begin';
/** src/api.h: bool xla_compile_run(Compilation *compilation, double ms) */
export const xla_compile_run = 'xla_compile_run';
/** src/api.h: Executable *xla_compile_end(Compilation *compilation) */
export const xla_compile_end = 'xla_compile_end';
/** src/api.h: char *xla_optional_passes(void) */
export const xla_optional_passes = 'xla_optional_passes';
/** src/api.h: const char *xla_compile_step(void) */
export const xla_compile_step = 'xla_compile_step';
/** src/api.h: int xla_executable_replicas(const Executable *executable) */
export const xla_executable_replicas = 'xla_executable_replicas';
/** src/api.h: int xla_executable_partitions(const Executable *executable) */
export const xla_executable_partitions = 'xla_executable_partitions';
/** src/api.h: void xla_executable_free(Executable *executable) */
export const xla_executable_free = 'xla_executable_free';
/** src/api.h: char *xla_executable_print(const Executable *executable) */
export const xla_executable_print = 'xla_executable_print';
/** src/api.h: double xla_executable_bytes(const Executable *executable, int kind) */
export const xla_executable_bytes = 'xla_executable_bytes';
/** src/api.h: char *xla_executable_thunks(const Executable *executable) */
export const xla_executable_thunks = 'xla_executable_thunks';
/** src/api.h: char *xla_executable_memory(const Executable *executable) */
export const xla_executable_memory = 'xla_executable_memory';
/** src/api.h: const uint32_t *xla_executable_code(const Executable *executable) */
export const xla_executable_code = 'xla_executable_code';
/** src/api.h: char *xla_compile_passes(const Module *module, int replicas, int partitions, int how, const char *disable) */
export const xla_compile_passes = 'xla_compile_passes';
/** src/api.h: Buffer *xla_buffer_new(const char *shape) */
export const xla_buffer_new = 'xla_buffer_new';
/** src/api.h: void xla_buffer_free(Buffer *buffer) */
export const xla_buffer_free = 'xla_buffer_free';
/** src/api.h: void *xla_buffer_data(Buffer *buffer) */
export const xla_buffer_data = 'xla_buffer_data';
/** src/api.h: char *xla_buffer_shape(const Buffer *buffer) */
export const xla_buffer_shape = 'xla_buffer_shape';
/** src/api.h: double xla_buffer_bytes(const Buffer *buffer) */
export const xla_buffer_bytes = 'xla_buffer_bytes';
/** src/api.h: Run *xla_run_new(Executable *executable, Buffer *const *arguments, const uint8_t *donated, bool profile) */
export const xla_run_new = 'xla_run_new';
/** src/api.h: Run *xla_launch_new(Executable *const *executables, int count, Buffer *const *arguments, const uint8_t *donated, bool profile) */
export const xla_launch_new = 'xla_launch_new';
/** src/api.h: void xla_run_seed(Run *run, double seed) */
export const xla_run_seed = 'xla_run_seed';
/** src/api.h: int xla_run_start(Run *run, double us) */
export const xla_run_start = 'xla_run_start';
/** src/api.h: int xla_run_state(Run *run) */
export const xla_run_state = 'xla_run_state';
/** src/api.h: void xla_run_error(Run *run) */
export const xla_run_error = 'xla_run_error';
/** src/api.h: Buffer *xla_run_result(Run *run, int device, int leaf) */
export const xla_run_result = 'xla_run_result';
/** src/api.h: void xla_run_cancel(Run *run) */
export const xla_run_cancel = 'xla_run_cancel';
/** src/api.h: void xla_run_time_out(Run *run, double ms) */
export const xla_run_time_out = 'xla_run_time_out';
/** src/api.h: char *xla_run_waiting(Run *run) */
export const xla_run_waiting = 'xla_run_waiting';
/** src/api.h: void xla_run_free(Run *run) */
export const xla_run_free = 'xla_run_free';
/** src/api.h: const ProfileEvent *xla_run_profile(Run *run) */
export const xla_run_profile = 'xla_run_profile';
/** src/api.h: int xla_run_profile_count(Run *run) */
export const xla_run_profile_count = 'xla_run_profile_count';
/** src/api.h: HostCall *xla_run_host_call(Run *run) */
export const xla_run_host_call = 'xla_run_host_call';
/** src/api.h: int xla_host_call_replica(const HostCall *call) */
export const xla_host_call_replica = 'xla_host_call_replica';
/** src/api.h: int xla_host_call_partition(const HostCall *call) */
export const xla_host_call_partition = 'xla_host_call_partition';
/** src/api.h: const char *xla_host_call_opcode(const HostCall *call) */
export const xla_host_call_opcode = 'xla_host_call_opcode';
/** src/api.h: const char *xla_host_call_target(const HostCall *call) */
export const xla_host_call_target = 'xla_host_call_target';
/** src/api.h: const char *xla_host_call_backend_config(const HostCall *call) */
export const xla_host_call_backend_config = 'xla_host_call_backend_config';
/** src/api.h: int xla_host_call_operand_count(const HostCall *call) */
export const xla_host_call_operand_count = 'xla_host_call_operand_count';
/** src/api.h: char *xla_host_call_operand_shape(const HostCall *call, int leaf) */
export const xla_host_call_operand_shape = 'xla_host_call_operand_shape';
/** src/api.h: const void *xla_host_call_operand_data(const HostCall *call, int leaf) */
export const xla_host_call_operand_data = 'xla_host_call_operand_data';
/** src/api.h: int xla_host_call_result_count(const HostCall *call) */
export const xla_host_call_result_count = 'xla_host_call_result_count';
/** src/api.h: char *xla_host_call_result_shape(const HostCall *call, int leaf) */
export const xla_host_call_result_shape = 'xla_host_call_result_shape';
/** src/api.h: void *xla_host_call_result_data(const HostCall *call, int leaf) */
export const xla_host_call_result_data = 'xla_host_call_result_data';
/** src/api.h: void xla_host_call_done(HostCall *call, int code, const char *message) */
export const xla_host_call_done = 'xla_host_call_done';
/** src/api.h: bool xla_step(double budget_us) */
export const xla_step = 'xla_step';
/** src/api.h: int xla_worker_lost(int worker) */
export const xla_worker_lost = 'xla_worker_lost';
/** src/api.h: void *xla_host_events(void) */
export const xla_host_events = 'xla_host_events';
/** src/api.h: double xla_memory_in_use(void) */
export const xla_memory_in_use = 'xla_memory_in_use';
/** src/api.h: double xla_heap_in_use(void) */
export const xla_heap_in_use = 'xla_heap_in_use';
