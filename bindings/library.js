/*
 * What src/platform/wasm.c asks of JavaScript. Linked into the Emscripten glue (--js-library), so
 * it runs on every thread; a thread shares with the others only the linear memory.
 *
 * A generated module is known by a number, the address of its record in linear memory divided by 8:
 *
 *     u32 serial    odd, never used twice; anything else: the module was released
 *     u32 size
 *     u8 bytes[size]
 *
 * A thread that wants a function compiles and instantiates the module from there, at its first
 * call, and keeps the instance. (An engine that has seen the same bytes on another thread compiles
 * no second time.) Nobody can tell the other threads that a module was released, for they sleep in
 * wasm; they find out by its serial when they instantiate the next one, and free its table slots.
 */
addToLibrary({
  // instances: module number -> { serial, exports, slots: table index by function }
  $xlaModules: '={ nextSerial: 1, instances: new Map() }',

  $xlaModuleRecord: (module) => module << 3 >>> 2, // as an index of HEAPU32

  // Forgets what was released since, so that its table slots can be used again.
  $xlaModulesSweep__deps: ['$xlaModules', '$xlaModuleRecord', '$freeTableIndexes'],
  $xlaModulesSweep: () => {
    for (const [module, { serial, slots }] of xlaModules.instances) {
      if (HEAPU32[xlaModuleRecord(module)] === serial) continue;
      for (const slot of slots.values()) {
        wasmTable.set(slot, null);
        freeTableIndexes.push(slot);
      }
      xlaModules.instances.delete(module);
    }
  },

  $xlaModuleInstantiate__deps: ['$xlaModules', '$xlaModuleRecord', '$xlaModulesSweep'],
  $xlaModuleInstantiate: (module) => {
    xlaModulesSweep();
    const record = xlaModuleRecord(module);
    const start = (record + 2) * 4;
    // A copy: engines take no bytes that other threads could change.
    const bytes = HEAPU8.slice(start, start + HEAPU32[record + 1]);
    const env = { ...wasmExports, memory: wasmMemory }; // by their C names: see -lexports.js
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env });
    const instance = { serial: HEAPU32[record], exports, slots: new Map() };
    xlaModules.instances.set(module, instance);
    return instance;
  },

  // On the main thread, which alone gives out serials.
  xla_js_module_register__proxy: 'sync',
  xla_js_module_register__deps: ['$xlaModules', 'malloc'],
  xla_js_module_register: (bytes, size) => {
    bytes >>>= 0;
    if (!WebAssembly.validate(HEAPU8.slice(bytes, bytes + size))) return 0;
    const address = _malloc(8 + size) >>> 0;
    if (!address) return 0;
    HEAPU8.copyWithin(address + 8, bytes, bytes + size);
    HEAPU32[(address >>> 2) + 1] = size;
    HEAPU32[address >>> 2] = xlaModules.nextSerial;
    xlaModules.nextSerial += 2;
    return address >>> 3;
  },

  xla_js_module_release__proxy: 'sync',
  xla_js_module_release__deps: ['$xlaModulesSweep', '$xlaModuleRecord', 'free'],
  xla_js_module_release: (module) => {
    HEAPU32[xlaModuleRecord(module)] = 0;
    xlaModulesSweep();
    _free(module << 3);
  },

  xla_js_module_function__deps: [
    '$xlaModules', '$xlaModuleRecord', '$xlaModuleInstantiate', '$getEmptyTableSlot',
  ],
  xla_js_module_function: (module, index) => {
    try {
      let instance = xlaModules.instances.get(module);
      if (instance?.serial !== HEAPU32[xlaModuleRecord(module)]) {
        instance = xlaModuleInstantiate(module);
      }
      let slot = instance.slots.get(index);
      if (slot === undefined) {
        slot = getEmptyTableSlot();
        wasmTable.set(slot, instance.exports[index]);
        instance.slots.set(index, slot);
      }
      return slot;
    } catch (error) {
      return 0; // out of memory, or out of table: the caller has another way
    }
  },

  // Returns 1, or 0 if function(argument) trapped; then `message` says why.
  xla_js_try__deps: ['$stringToUTF8', '$stackSave', '$stackRestore'],
  xla_js_try: (func, argument, message, messageSize) => {
    const stack = stackSave();
    try {
      wasmTable.get(func)(argument);
      return 1;
    } catch (error) {
      if (error === 'unwind') throw error; // the glue's own
      stackRestore(stack);
      stringToUTF8(String(error?.message ?? error), message, messageSize);
      return 0;
    }
  },

  xla_js_wait: (word, seen) => {
    Atomics.wait(HEAP32, word >>> 2, seen | 0);
  },

  xla_js_fatal__deps: ['$UTF8ToString'],
  xla_js_fatal: (message) => {
    throw Object.assign(new Error(UTF8ToString(message)), { xlaFatal: true });
  },

  xla_js_notify__proxy: 'async',
  xla_js_notify: () => {
    Module['onXlaNotify']?.();
  },
});
