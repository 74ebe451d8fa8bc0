/*
 * JavaScript functions that src/base/host/wasm.c imports. They are linked into the Emscripten glue (--js-library), so
 * they run on every thread. Threads share only the linear memory.
 *
 * A generated module is known by a number, the address of its record (ModuleRecord in wasm.c) in
 * linear memory divided by 8.
 *
 * At its first call of a module's function, a thread compiles and instantiates the module from that record, and keeps
 * the instance. (Engines compile equal bytes once.) A thread that sleeps in WebAssembly cannot be told that a module was
 * released. It compares serials when it instantiates the next module, and then frees the table slots.
 */
addToLibrary({
  // instances: module number -> { serial, exports, slots: table index by function }
  // env: what modules import, the core's exports by their C names (-lexports.js)
  $xlaModules: '={ instances: new Map(), env: null }',

  $xlaModuleRecord: (module) => module << 3 >>> 2, // as an index of HEAPU32

  // Drops released modules, so that their table slots can be used again.
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
    const env = xlaModules.env ??= { ...wasmExports, memory: wasmMemory };
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env });
    const instance = { serial: HEAPU32[record], exports, slots: new Map() };
    xlaModules.instances.set(module, instance);
    return instance;
  },

  // Twice as much as there is, if there may be: at each growth V8 collects the page's garbage, all of it.
  emscripten_resize_heap__deps: ['$growMemory'],
  emscripten_resize_heap: (size) => {
    for (const part of [1, 4, 16, Infinity]) {
      if (growMemory((size >>> 0) + wasmMemory.buffer.byteLength / part)) return 1;
    }
    return 0;
  },

  // A copy: engines take no bytes that other threads could change.
  xla_js_module_validate: (bytes, size) => {
    bytes >>>= 0;
    return WebAssembly.validate(HEAPU8.slice(bytes, bytes + size));
  },

  xla_js_parse_decimal__deps: ['$UTF8ToString'],
  xla_js_parse_decimal: (text) => Number(UTF8ToString(text)),

  xla_js_decimal_digits: (value, digits, exponent) => {
    const [all, power] = value.toExponential(digits - 1).split('e');
    HEAP32[exponent >>> 2] = Number(power);
    return BigInt(all.replace('.', ''));
  },

  xla_js_modules_sweep__deps: ['$xlaModulesSweep'],
  xla_js_modules_sweep: () => xlaModulesSweep(),

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
      if (error instanceof WebAssembly.LinkError) { // an import that the core does not have
        throw Object.assign(new Error(`generated code: ${error.message}`), { xlaCode: 13 });
      }
      return 0; // out of memory, or out of table: the caller has another way
    }
  },

  // Says that nothing may be called again: a stack overflowed into other data. A worker stops here. If it went on, its
  // run could end before the host has the message, with an error that does not say that the client ends.
  $xlaTellBroken: (reason) => {
    const isWorker = typeof ENVIRONMENT_IS_PTHREAD === 'boolean' && ENVIRONMENT_IS_PTHREAD;
    if (!isWorker) return Module['onXlaBroken']?.(reason);
    postMessage({ cmd: 'xlaBroken', reason });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // until the host terminates it
  },

  xla_js_broken__deps: ['$xlaTellBroken', '$UTF8ToString'],
  xla_js_broken: (message) => xlaTellBroken(UTF8ToString(message)),

  // Returns 0, or if function(argument) trapped a StatusCode; then `message` says why. A trap of the engine (out of
  // bounds, unreachable) fails the run that it is in: its memory goes with it.
  xla_js_try__deps: ['$stringToUTF8', '$stackSave', '$stackRestore'],
  xla_js_try: (func, argument, message, messageSize) => {
    const stack = stackSave();
    try {
      wasmTable.get(func)(argument);
      return 0;
    } catch (error) {
      if (error === 'unwind') throw error; // the glue's own
      stackRestore(stack);
      const isTrap = error instanceof WebAssembly.RuntimeError;
      const text = isTrap ? `the core trapped: ${error.message}. This is a fault of xla-wasm; please report the ` +
        'program. xla-wasm run --bisect finds what to disable' : `${error?.message ?? error}`;
      stringToUTF8(text, message, messageSize);
      // RangeError: "Maximum call stack size exceeded", or no memory for JavaScript
      return error?.xlaCode ?? (error instanceof RangeError ? 8 : 13);
    }
  },

  // A page's main thread must not sleep; its caller polls.
  xla_js_wait: (word, seen, mostUs) => {
    const isWorker = typeof ENVIRONMENT_IS_PTHREAD === 'boolean' && ENVIRONMENT_IS_PTHREAD;
    if (!isWorker && !ENVIRONMENT_IS_NODE) return;
    Atomics.wait(HEAP32, word >>> 2, seen | 0, mostUs > 0 ? mostUs / 1000 : Infinity);
  },

  xla_js_trap__deps: ['$UTF8ToString'],
  xla_js_trap: (code, message) => {
    throw Object.assign(new Error(UTF8ToString(message)), { xlaCode: code });
  },

  // The glue's queue of calls from other threads, which nothing here uses: its Atomics.waitAsync is never
  // notified, and would keep a disposed client's memory for ever.
  _emscripten_thread_mailbox_await: (_thread) => undefined,

  // A page is not told that a worker was ended from outside; but the lock that it holds is free then. Messages
  // wait until it has it: the one that starts the thread is the last for which this returns to the event loop.
  $xlaHoldLock__postset: 'xlaHoldLock();',
  $xlaHoldLock: () => {
    const isWorker = typeof ENVIRONMENT_IS_PTHREAD === 'boolean' && ENVIRONMENT_IS_PTHREAD;
    if (!isWorker || ENVIRONMENT_IS_NODE || !globalThis.navigator?.locks) return;
    const held = new Promise((resolve) => {
      const name = `xla-wasm ${crypto.randomUUID()}`;
      navigator.locks.request(name, () => {
        postMessage({ cmd: 'xlaLock', name });
        resolve();
        return new Promise(() => {});
      }).catch(resolve); // in a page that may have none
      setTimeout(resolve, 1000);
    });
    const handle = self.onmessage;
    const wait = (event) => {
      held.then(() => (self.onmessage === wait ? handle : self.onmessage)(event));
    };
    self.onmessage = wait;
  },

  // Does not use the glue's queue, which takes a lock and allocates: see bindings/host/workers.mjs.
  xla_js_notify__deps: ['$xlaHoldLock'],
  xla_js_notify: () => {
    const isWorker = typeof ENVIRONMENT_IS_PTHREAD === 'boolean' && ENVIRONMENT_IS_PTHREAD;
    if (isWorker) postMessage({ cmd: 'xlaNotify' });
    else Module['onXlaNotify']?.();
  },
});
