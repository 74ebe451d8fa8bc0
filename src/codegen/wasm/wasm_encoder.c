#include "codegen/wasm/wasm_encoder.h"

#include <stdio.h>
#include <string.h>

#include "base/scope.h"

/* --- Modules ---------------------------------------------------------------------------------- */

enum { SECTION_TYPE = 1, SECTION_IMPORT, SECTION_FUNCTION, SECTION_EXPORT = 7, SECTION_CODE = 10 };
enum { CALL_BYTES = 5 }; /* of an index that is filled in later */
enum { CONSTANT_BYTES = 16 };

/* The parameters, then a 0, then the result, if any. */
static const char *const signatures[SIGNATURE_COUNT] = {
    [SIGNATURE_KERNEL] = "\x7f\x7e\x7e",          [SIGNATURE_VECTOR] = "\x7b:\x7b",
    [SIGNATURE_VECTOR_2] = "\x7b\x7b:\x7b",       [SIGNATURE_VECTOR_3] = "\x7b\x7b\x7b:\x7b",
    [SIGNATURE_REGION] = "\x7f\x7f\x7f\x7f:\x7f", [SIGNATURE_STEP] = "\x7f\x7f:\x7f",
};
enum { EXTERN_FUNCTION = 0, EXTERN_MEMORY = 2 };
/* The largest memory that WebAssembly has, in pages of 64 KiB. */
enum { MAX_PAGES = 65536 };

/* Returns the index of an imported function for `call`; imports it at its first use. */
static int wasm_import(WasmModule *module, const char *name, WasmSignature signature) {
  for (int i = 0; i < module->import_count; i++) {
    if (!strcmp(module->imports[i].name, name)) return i;
  }
  if (module->import_count == module->import_capacity) {
    module->import_capacity = module->import_capacity * 2 + 8;
    module->imports =
        scope_realloc(module->imports, sizeof *module->imports * (size_t)module->import_capacity);
  }
  module->imports[module->import_count] = (WasmImport){name, signature};
  return module->import_count++;
}

static void put_name(ByteBuf *out, const char *name) {
  bytebuf_leb(out, strlen(name));
  bytebuf_append(out, name, strlen(name));
}

/* Appends `content` as a section, and frees it. */
static void put_section(ByteBuf *out, int id, ByteBuf *content) {
  bytebuf_put(out, (uint8_t)id);
  bytebuf_leb(out, content->size);
  bytebuf_append(out, content->bytes, content->size);
  bytebuf_free(content);
}

static void put_types(ByteBuf *out) {
  ByteBuf section = {0};
  bytebuf_leb(&section, SIGNATURE_COUNT);
  for (int i = 0; i < SIGNATURE_COUNT; i++) {
    size_t parameters = strcspn(signatures[i], ":");
    const char *result = signatures[i] + parameters;
    bytebuf_append(&section, (uint8_t[]){0x60, (uint8_t)parameters}, 2);
    bytebuf_append(&section, signatures[i], parameters);
    bytebuf_put(&section, *result ? 1 : 0);
    if (*result) bytebuf_put(&section, (uint8_t)result[1]);
  }
  put_section(out, SECTION_TYPE, &section);
}

static void put_imports(ByteBuf *out, const WasmModule *module, bool shared_memory) {
  ByteBuf section = {0};
  bytebuf_leb(&section, 1 + (uint64_t)module->import_count);
  for (int i = 0; i < module->import_count; i++) {
    put_name(&section, "env");
    put_name(&section, module->imports[i].name);
    bytebuf_put(&section, EXTERN_FUNCTION);
    bytebuf_leb(&section, module->imports[i].signature);
  }
  put_name(&section, "env");
  put_name(&section, "memory");
  bytebuf_put(&section, EXTERN_MEMORY);
  bytebuf_put(&section, shared_memory ? 3 : 0); /* 1: has a maximum, 2: is shared */
  bytebuf_leb(&section, 1);
  if (shared_memory) bytebuf_leb(&section, MAX_PAGES);
  put_section(out, SECTION_IMPORT, &section);
}

/* Fills in the final indices of called functions. */
static void settle_calls(WasmModule *module) {
  for (int i = 0; i < module->call_count; i++) {
    uint32_t index = (uint32_t)(module->import_count + module->calls[i].body);
    uint8_t *at = module->code.bytes + module->calls[i].at;
    for (int k = 0; k < CALL_BYTES; k++, index >>= 7) {
      at[k] = (uint8_t)((index & 0x7f) | (k < CALL_BYTES - 1 ? 0x80 : 0));
    }
  }
}

static void put_functions(ByteBuf *out, const WasmModule *module) {
  ByteBuf types = {0}, exports = {0}, code = {0};
  bytebuf_leb(&types, (uint64_t)module->body_count);
  for (int i = 0; i < module->body_count; i++) bytebuf_leb(&types, module->bodies[i].signature);
  bytebuf_leb(&exports, (uint64_t)module->export_count);
  for (int i = 0; i < module->export_count; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    put_name(&exports, name);
    bytebuf_put(&exports, EXTERN_FUNCTION);
    bytebuf_leb(&exports, (uint64_t)(module->import_count + module->exports[i]));
  }
  bytebuf_leb(&code, (uint64_t)module->body_count);
  bytebuf_append(&code, module->code.bytes, module->code.size);
  put_section(out, SECTION_FUNCTION, &types);
  put_section(out, SECTION_EXPORT, &exports);
  put_section(out, SECTION_CODE, &code);
}

void wasm_module_encode(WasmModule *module, bool shared_memory, ByteBuf *out) {
  static const uint8_t magic_and_version[] = {0, 'a', 's', 'm', 1, 0, 0, 0};
  bytebuf_append(out, magic_and_version, sizeof magic_and_version);
  put_types(out);
  put_imports(out, module, shared_memory);
  settle_calls(module);
  put_functions(out, module);
}

void wasm_module_free(WasmModule *module) {
  scope_free(module->imports);
  scope_free(module->bodies);
  scope_free(module->exports);
  scope_free(module->calls);
  bytebuf_free(&module->code);
}

/* --- Functions -------------------------------------------------------------------------------- */

static int add_local(WasmFunction *function, WasmType type) {
  if (function->local_count == function->local_capacity) {
    function->local_capacity = function->local_capacity * 2 + 16;
    size_t capacity = (size_t)function->local_capacity;
    function->local_types = scope_realloc(function->local_types, capacity);
    function->local_free = scope_realloc(function->local_free, capacity * sizeof(bool));
  }
  function->local_types[function->local_count] = (uint8_t)type;
  function->local_free[function->local_count] = false;
  return function->local_count++;
}

void wasm_function_begin(WasmFunction *function, WasmModule *module, WasmSignature signature) {
  *function = (WasmFunction){.module = module, .signature = signature};
  for (const char *type = signatures[signature]; *type && *type != ':'; type++) {
    add_local(function, (WasmType)*type);
    function->parameters++;
  }
}

static uint64_t hash_of(const uint8_t *bytes, size_t size) { /* FNV-1a */
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

/* Returns the number of a body: that of an equal earlier one, or of this one, added. The layers of a network
** often need the same loops. */
static int find_or_add_body(WasmModule *module, const ByteBuf *content, WasmSignature signature) {
  WasmBody body = {module->code.size, content->size, hash_of(content->bytes, content->size),
                   signature};
  for (int i = 0; i < module->body_count; i++) {
    const WasmBody *other = &module->bodies[i];
    if (other->hash == body.hash && other->size == body.size && other->signature == signature &&
        !memcmp(module->code.bytes + other->offset, content->bytes, body.size)) {
      return i;
    }
  }
  if (module->body_count == module->body_capacity) {
    module->body_capacity = module->body_capacity * 2 + 16;
    module->bodies = scope_realloc(module->bodies, sizeof body * (size_t)module->body_capacity);
  }
  bytebuf_append(&module->code, content->bytes, content->size);
  module->bodies[module->body_count] = body;
  return module->body_count++;
}

static void add_call(WasmCall **calls, int *count, int *capacity, WasmCall call) {
  if (*count == *capacity) {
    *capacity = *capacity * 2 + 16;
    *calls = scope_realloc(*calls, sizeof call * (size_t)*capacity);
  }
  (*calls)[(*count)++] = call;
}

/* Moves a function's calls to the module; the function's code begins at `start` in the module's code. */
static void take_calls(WasmFunction *function, size_t start) {
  WasmModule *module = function->module;
  for (int i = 0; i < function->call_count; i++) {
    WasmCall call = {start + function->calls[i].at, function->calls[i].body};
    add_call(&module->calls, &module->call_count, &module->call_capacity, call);
  }
  scope_free(function->calls);
}

/* Appends the code that sets the locals of constants, in the order of their numbers. */
static void put_constants(const WasmFunction *function, ByteBuf *out) {
  const uint8_t *bytes = function->constants.bytes;
  for (int i = function->parameters; i < function->local_count; i++) {
    if (function->local_types[i] != WASM_CONSTANT) continue;
    bytebuf_append(out, (uint8_t[]){SIMD_PREFIX, V128_CONST}, 2);
    bytebuf_append(out, bytes, CONSTANT_BYTES);
    bytebuf_put(out, OP_LOCAL_SET);
    bytebuf_leb(out, (uint64_t)i);
    bytes += CONSTANT_BYTES;
  }
}

void wasm_function_end(WasmFunction *function) {
  WasmModule *module = function->module;
  ByteBuf locals = {0}, content = {0};
  bytebuf_leb(&locals, (uint64_t)(function->local_count - function->parameters));
  for (int i = function->parameters; i < function->local_count; i++) {
    bytebuf_put(&locals, 1); /* a run of one */
    bytebuf_put(&locals,
                function->local_types[i] == WASM_CONSTANT ? WASM_V128 : function->local_types[i]);
  }
  put_constants(function, &locals);
  wasm_op(function, OP_END);
  bytebuf_leb(&content, locals.size + function->body.size);
  bytebuf_append(&content, locals.bytes, locals.size);
  bytebuf_append(&content, function->body.bytes, function->body.size);
  if (module->export_count == module->export_capacity) {
    module->export_capacity = module->export_capacity * 2 + 16;
    module->exports = scope_realloc(module->exports, sizeof(int) * (size_t)module->export_capacity);
  }
  size_t before = module->code.size;
  module->exports[module->export_count++] = find_or_add_body(module, &content, function->signature);
  if (module->code.size > before) {
    take_calls(function, module->code.size - function->body.size);
  } else {
    scope_free(function->calls);
  }
  bytebuf_free(&locals);
  bytebuf_free(&content);
  bytebuf_free(&function->body);
  bytebuf_free(&function->constants);
  scope_free(function->local_types);
  scope_free(function->local_free);
}

int wasm_local(WasmFunction *function, WasmType type) {
  for (int i = function->parameters; i < function->local_count; i++) {
    if (function->local_free[i] && function->local_types[i] == type) {
      function->local_free[i] = false;
      return i;
    }
  }
  return add_local(function, type);
}

void wasm_local_release(WasmFunction *function, int local) { function->local_free[local] = true; }

bool *wasm_locals_in_use(const WasmFunction *function, int *count) {
  *count = function->local_count;
  bool *was_free = scope_new((size_t)*count, sizeof *was_free);
  memcpy(was_free, function->local_free, sizeof *was_free * (size_t)*count);
  return was_free;
}

void wasm_locals_restore(WasmFunction *function, bool *was_free, int count) {
  memcpy(function->local_free, was_free, sizeof *was_free * (size_t)count);
  for (int i = count; i < function->local_count; i++) function->local_free[i] = true;
  scope_free(was_free);
}

void wasm_op(WasmFunction *function, int opcode) { bytebuf_put(&function->body, (uint8_t)opcode); }

void wasm_simd(WasmFunction *function, int opcode) {
  bytebuf_put(&function->body, SIMD_PREFIX);
  bytebuf_leb(&function->body, (uint64_t)opcode);
}

static void op_with_index(WasmFunction *function, int opcode, int index) {
  wasm_op(function, opcode);
  bytebuf_leb(&function->body, (uint64_t)index);
}

void wasm_get(WasmFunction *function, int local) { op_with_index(function, OP_LOCAL_GET, local); }
void wasm_set(WasmFunction *function, int local) { op_with_index(function, OP_LOCAL_SET, local); }
void wasm_tee(WasmFunction *function, int local) { op_with_index(function, OP_LOCAL_TEE, local); }

void wasm_i32(WasmFunction *function, int64_t value) {
  wasm_op(function, OP_I32_CONST);
  bytebuf_sleb(&function->body, (int32_t)(uint32_t)value);
}

/* Returns the local that holds a constant; adds one. */
static int constant_local(WasmFunction *function, const void *bytes) {
  const uint8_t *held = function->constants.bytes;
  for (int i = function->parameters; i < function->local_count; i++) {
    if (function->local_types[i] != WASM_CONSTANT) continue;
    if (!memcmp(held, bytes, CONSTANT_BYTES)) return i;
    held += CONSTANT_BYTES;
  }
  bytebuf_append(&function->constants, bytes, CONSTANT_BYTES);
  return add_local(function, WASM_CONSTANT);
}

/* Whether a single instruction makes a vector: all bits are 0, or 1. */
static bool is_cheap(const uint8_t *bytes) {
  bool is = bytes[0] == 0 || bytes[0] == UINT8_MAX;
  for (int i = 1; i < CONSTANT_BYTES; i++) is &= bytes[i] == bytes[0];
  return is;
}

void wasm_v128(WasmFunction *function, const void *bytes) {
  if (!function->is_rare && !is_cheap(bytes)) {
    wasm_get(function, constant_local(function, bytes));
    return;
  }
  wasm_simd(function, V128_CONST);
  bytebuf_append(&function->body, bytes, CONSTANT_BYTES);
}

void wasm_block(WasmFunction *function, int opcode) {
  wasm_op(function, opcode);
  wasm_op(function, WASM_BLOCK_VOID);
}

void wasm_branch(WasmFunction *function, int opcode, int depth) {
  op_with_index(function, opcode, depth);
}

void wasm_i64(WasmFunction *function, int64_t value) {
  wasm_op(function, OP_I64_CONST);
  bytebuf_sleb(&function->body, value);
}

void wasm_call(WasmFunction *function, const char *name, WasmSignature signature) {
  op_with_index(function, OP_CALL, wasm_import(function->module, name, signature));
}

/* Emits the body's number until the index is known, so that functions with different calls have different
** bytes. */
void wasm_call_function(WasmFunction *function, int number) {
  int body = function->module->exports[number];
  wasm_op(function, OP_CALL);
  add_call(&function->calls, &function->call_count, &function->call_capacity,
           (WasmCall){function->body.size, body});
  for (int k = 0; k < CALL_BYTES; k++) bytebuf_put(&function->body, (uint8_t)(body >> (7 * k)));
}

/* Offsets have 32 bits. Code for arrays that do not fit into memory has to be valid, although it cannot run. */
static void put_memory_operand(WasmFunction *function, int64_t offset) {
  bytebuf_leb(&function->body, 0); /* no alignment is promised */
  bytebuf_leb(&function->body, (uint32_t)offset);
}

void wasm_memory(WasmFunction *function, int opcode, int64_t offset) {
  wasm_op(function, opcode);
  put_memory_operand(function, offset);
}

void wasm_memory_copy(WasmFunction *function) {
  static const uint8_t code[] = {0xfc, 10, 0, 0}; /* of memory 0 to memory 0 */
  bytebuf_append(&function->body, code, sizeof code);
}

void wasm_simd_memory(WasmFunction *function, int opcode, int64_t offset) {
  wasm_simd(function, opcode);
  put_memory_operand(function, offset);
}

void wasm_simd_memory_lane(WasmFunction *function, int opcode, int64_t offset, int lane) {
  wasm_simd_memory(function, opcode, offset);
  bytebuf_put(&function->body, (uint8_t)lane);
}

void wasm_extract_lane(WasmFunction *function, int opcode, int lane) {
  wasm_simd(function, opcode);
  bytebuf_put(&function->body, (uint8_t)lane);
}

void wasm_shuffle8(WasmFunction *function, const uint8_t *lanes) {
  wasm_simd(function, I8X16_SHUFFLE);
  bytebuf_append(&function->body, lanes, 16);
}

void wasm_shuffle32(WasmFunction *function, int a, int b, int c, int d) {
  const int from[4] = {a, b, c, d};
  uint8_t lanes[16];
  for (int i = 0; i < 16; i++) lanes[i] = (uint8_t)(4 * from[i / 4] + i % 4);
  wasm_shuffle8(function, lanes);
}
