/** The client: makes, compiles and runs programs on an instance of the core. */
import { atBoundary, notConstructed } from '../base/boundary.mjs';
import { COMPILE_AS_WRITTEN, COMPILE_NOT_IN_PLACE, ELIDED_REFUSED, MAX_DEVICES } from '../base/constants.mjs';
import { describe, got, invalidArgument, withPosition, XlaError } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';
import { boolean, checkOptions, copyList, count, kind, unknownName } from '../base/options.mjs';
import { loadParts, part } from '../base/part.mjs';
import { oneOf } from '../builder/arguments.mjs';
import { XlaBuilder } from '../builder/builder.mjs';
import { isOp } from '../builder/op.mjs';
import { batch, vmapOptions } from '../derive/batches.mjs';
import { addRules, rulesOf } from '../derive/gradient_rules.mjs';
import { differentiate } from '../derive/gradients.mjs';
import { hessianModule, jacobianModule } from '../derive/jacobians.mjs';
import { isBytecode, isText, kindOfText } from '../formats/program_text.mjs';
import {
  xla_compile_begin, xla_compile_end, xla_compile_run, xla_compile_passes, xla_compile_step,
  xla_executable_partitions, xla_executable_replicas, xla_heap_in_use, xla_memory_in_use, xla_module_parse,
  xla_module_parse_with_data, xla_optional_passes,
} from '../base/calls.mjs';
import { Core } from '../host/core.mjs';
import { assets, MIN_MEMORY } from '../host/loader.mjs';
import { nextTurn } from '../host/runs.mjs';
import { Buffer, upload } from '../objects/buffer.mjs';
import { Executable } from '../objects/executable.mjs';
import { EXECUTION_OPTIONS, throwIfAborted } from '../objects/execution.mjs';
import { coreOf, pointerOf } from '../objects/handle.mjs';
import { launch, launchNow } from '../objects/launch.mjs';
import { ELIDED, HLO_OPTIONS, LOAD_OPTIONS } from '../objects/load_options.mjs';
import { HloModule } from '../objects/module.mjs';
import { Literal } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { protoReader, stablehlo } from './parts.mjs';

const loading = part(() => import('./loading.mjs'));
const compileAdvice = part(() => import('../objects/advice.mjs'));

const MAX_THREADS = 256;

/**
 * The error for a fault of the compiler: it holds the program and a workaround.
 * @param {string} step the rewrite or stage that trapped, or kernel-NAME
 * @param {boolean} isOptional whether it can be left out
 */
function ownFault(operation, { message, cause }, module, step, isOptional) {
  const workaround = isOptional ? `Without this step the program may compile: { disable: ['${step}'] }`
    : 'Without some rewrites the program may compile: { disable: client.optionalPasses }';
  const error = new XlaError('INTERNAL', `${operation}: ${message}, in the step ${step}. This is a fault of xla-wasm, and ` +
    'other programs of this client are not affected. Please report it with the text of the program (error.module). ' +
    workaround, { operation, cause });
  error.step = step;
  return Object.defineProperty(error, 'module', { value: module.toString() }); // not shown when the error is printed
}

const notModule = (operation, shown) =>
  invalidArgument(operation, `module must be an HloModule, of build(), load() or parseHlo(); ${shown}`);

const replicas = count(1, MAX_DEVICES);
const CREATE_OPTIONS = {
  replicas,
  threads: count(0, MAX_THREADS),
  maxMemory: count(MIN_MEMORY, 2 ** 32),
  assets,
  fusedMultiplyAdd: oneOf('auto', 'never'),
};
const { assets: ASSETS, ...CREATE_NOW_OPTIONS } = CREATE_OPTIONS;
const READ_OPTIONS = { ...LOAD_OPTIONS, maxBytes: count(1, Number.MAX_SAFE_INTEGER) };
/** The time after which a compilation yields to other events. A frame of a page has 16 ms. */
const TURN_MS = 8;
const PASSES_OPTIONS = {
  replicas, partitions: count(1, MAX_DEVICES), optimize: boolean, inPlace: boolean,
  disable: kind('an array of names', (value) =>
    (Array.isArray(value) && value.every((name) => typeof name === 'string') ? copyList(value) : undefined)),
};
const COMPILE_OPTIONS = { ...PASSES_OPTIONS, signal: EXECUTION_OPTIONS.signal, timeoutMs: EXECUTION_OPTIONS.timeoutMs };
const TRANSFER_OPTIONS = {
  replica: count(0, MAX_DEVICES - 1), partition: count(0, MAX_DEVICES - 1),
};

/**
 * Builds, compiles and runs programs: an instance of the core with memory and threads of its own. All
 * objects that a client makes belong to it and are freed with it.
 */
export class Client {
  #core;
  #replicas;
  #builders = 1;

  /** Not for callers: see Client.create(). */
  constructor(core, replicas) {
    if (!(core instanceof Core)) throw notConstructed('Client', 'await Client.create()');
    this.#core = core;
    addRules(core, (name) => new XlaBuilder(core, name), isOp);
    this.#replicas = replicas;
  }

  /**
   * @param {object} [options]
   * @param {number} [options.replicas] the number of replicas of a program, if neither compile() nor the module
   *   states one (default 1)
   * @param {number} [options.threads] the number of worker threads, which all replicas share; by default as many as
   *   the machine runs at once. In Node they start in the background. Without threads (0), runs are cut into slices
   *   between other events. Pages that are not cross-origin isolated have no shared memory, so no threads.
   * @param {number} [options.maxMemory] the max number of bytes of all objects and runs of this client; by default
   *   4 GB, the most that WebAssembly addresses. A call that needs more fails with RESOURCE_EXHAUSTED; the client
   *   stays usable.
   * @param {string | URL | ((name: string) => string | URL)} [options.assets] the address of the package's folder
   *   build/dist, or a function from a file's name to its address; for bundlers that do not copy these files
   * @param {'auto' | 'never'} [options.fusedMultiplyAdd] 'auto' (the default): dots, convolutions and functions of
   *   floats use fused multiply-add where the engine has it (relaxed SIMD), which is faster. 'never': results have the
   *   same bits on every machine. Results never depend on the number of threads.
   */
  static async create(options) {
    const { replicas = 1, ...rest } = checkOptions('client', options, CREATE_OPTIONS);
    const { threads, maxMemory, assets, fusedMultiplyAdd } = rest;
    return new Client(await Core.create(threads, maxMemory, assets, fusedMultiplyAdd), replicas);
  }

  /**
   * Loads what the synchronous methods need; `xla-wasm/sync` does so itself.
   * @param {object} [options] threads, assets: as in create()
   */
  static async prepareSync(options) {
    const { threads, assets } = checkOptions('prepareSync', options, { threads: CREATE_OPTIONS.threads, assets: ASSETS });
    await Promise.all([loadParts(), Core.prepare(threads, assets)]);
  }

  /**
   * As create(), without a promise. Needs `xla-wasm/sync`, or prepareSync() before.
   * @param {object} [options] as in create(), without assets. On the main thread of a page there are no threads
   * @returns {Client}
   */
  static createSync(options) {
    const { replicas = 1, threads, maxMemory, fusedMultiplyAdd } = checkOptions('createSync', options, CREATE_NOW_OPTIONS);
    return new Client(Core.createSync(threads, maxMemory, fusedMultiplyAdd), replicas);
  }

  /** Number of worker threads; 0 where there are none, as in pages without cross-origin isolation: see create(). */
  get threads() {
    return this.#core.threads;
  }

  get replicas() {
    return this.#replicas;
  }

  get disposed() {
    return this.#core.disposed;
  }

  /** Bytes that live device buffers and the memory of runs take. */
  get memoryInUse() {
    return this.#core.call(xla_memory_in_use);
  }

  /** Bytes that are allocated in the core's memory in all: programs and bookkeeping too. */
  get heapInUse() {
    return this.#core.call(xla_heap_in_use);
  }

  [INSPECT]() {
    if (this.disposed) return 'Client { disposed }';
    return `Client { replicas: ${this.replicas}, threads: ${this.threads} }`;
  }

  /**
   * @param {string} [name] by default a number tells builders apart
   * @param {object} [options]
   * @param {boolean} [options.locations] each instruction gets the file and line of the call that made it, which errors of
   *   runs, profiles and traces then name (metadata={op_name source_file source_line}; Node, Chromium)
   * @returns {XlaBuilder}
   */
  builder(name = `computation.${this.#builders++}`, options = undefined) {
    return new XlaBuilder(this.#core, name, options);
  }

  /**
   * Reads a program in any of these forms: HLO text, a serialized HloModuleProto, HloProto or
   * HloSnapshot, StableHLO as text or as MLIR bytecode (portable artifacts), the file of JAX's
   * `jax.export`; each also compressed by gzip.
   * @param {any} source text, bytes, a File or Blob, a Response, a URL; in Node also a path
   * @param {object} [options]
   * @param {(Shape | string)[]} [options.arguments] shapes of the arguments: for StableHLO programs
   *   of unknown sizes, which are read for these
   * @param {string} [options.entry] of StableHLO: the function that runs, instead of @main
   * @param {string} [options.platform] of exports for several platforms: which one; by default 'cpu'
   * @param {'zeros' | 'random'} [options.elided] values for the constants that a dump leaves out, as {...} or
   *   dense_resource<__elided__>, to measure its speed; without it, such a program is refused
   * @param {number} [options.maxBytes] the max size of decompressed data; by default 200 times the compressed size,
   *   at least 1 MB and at most 4 GiB
   * @returns {Promise<HloModule>}
   */
  async load(source, options) {
    const checked = checkOptions('load', options, READ_OPTIONS);
    const { load } = await loading.later();
    return load(this, source, checked);
  }

  /**
   * As load(), without a promise.
   * @param {any} source text or bytes; in Node also a path or the URL of a file
   * @param {object} [options] as in load()
   * @returns {HloModule}
   */
  loadSync(source, options) {
    const checked = checkOptions('loadSync', options, READ_OPTIONS);
    return loading.now('loadSync').loadNow(this, source, checked);
  }

  /**
   * Reads a module from HLO text, as XLA and JAX print it.
   * @param {string | Uint8Array} text or its UTF-8 bytes
   * @param {object} [options]
   * @param {'zeros' | 'random'} [options.elided] as in load()
   * @returns {HloModule}
   */
  parseHlo(text, options) {
    const { elided } = checkOptions('parseHlo', options, HLO_OPTIONS);
    const bytes = typeof text === 'string'
      ? new TextEncoder().encode(text) : bytesOf('parseHlo', text);
    const head = new TextDecoder().decode(bytes.subarray(0, 2000));
    if (kindOfText(head) === 'stablehlo') {
      throw invalidArgument(
        'parseHlo', 'this is StableHLO, not HLO text: use parseStableHlo() or load()');
    }
    if (bytes.length && !isText(bytes) && typeof text !== 'string') {
      throw invalidArgument(
        'parseHlo', 'these bytes are no text: use parseHloProto(), parseStableHlo() or load()');
    }
    try {
      return new HloModule(this.#core, this.#core.scoped((copy) =>
        // The text may hold NULs, so its length is given; and it may be empty.
        this.#core.need(xla_module_parse, copy(bytes), bytes.length, ELIDED[elided] ?? ELIDED_REFUSED)));
    } catch (error) {
      throw withPosition(error);
    }
  }

  /**
   * Reads a module from StableHLO (with CHLO), as text or as MLIR bytecode.
   * @param {string | Uint8Array} source text, its UTF-8 bytes, or bytecode
   * @param {object} [options] as in load()
   * @returns {Promise<HloModule>}
   */
  async parseStableHlo(source, options) {
    await stablehlo.later();
    return this.parseStableHloSync(source, options);
  }

  /** As parseStableHlo(), without a promise. @returns {HloModule} */
  parseStableHloSync(source, options) {
    const checked = checkOptions('parseStableHlo', options, LOAD_OPTIONS);
    const given = typeof source === 'string' ? source : bytesOf('parseStableHlo', source);
    if (typeof given !== 'string' && !isBytecode(given) && !isText(given)) {
      throw invalidArgument(
        'parseStableHlo', 'these bytes are no MLIR bytecode: use parseHloProto() or load()');
    }
    try {
      return stablehlo.now('parseStableHloSync').parseStableHlo(this, given, checked);
    } catch (error) {
      throw withPosition(error);
    }
  }

  /**
   * Reads a module from a serialized HloModuleProto (JAX's `as_serialized_hlo_module_proto()`), or
   * an HloProto or HloSnapshot, as XLA dumps them to files.
   * @param {Uint8Array} bytes
   * @returns {Promise<HloModule>}
   */
  async parseHloProto(bytes) {
    await protoReader.later();
    return this.parseHloProtoSync(bytes);
  }

  /** As parseHloProto(), without a promise. @returns {HloModule} */
  parseHloProtoSync(bytes) {
    const given = bytesOf('parseHloProto', bytes);
    if (given.length && isText(given)) {
      throw invalidArgument(
        'parseHloProto', 'these bytes are text: use parseHlo(), parseStableHlo() or load()');
    }
    const { hloTextOfProto } = protoReader.now('parseHloProtoSync');
    const { text, data } = hloTextOfProto(given);
    try {
      const core = this.#core;
      const bytes = new TextEncoder().encode(text);
      return core.giving(data, (pointers) => core.scoped((copy) => {
        const [list, sizes] = [pointers, data.map((view) => view.byteLength)];
        return new HloModule(core, core.need(
          xla_module_parse_with_data, copy(bytes), bytes.length,
          copy(Uint32Array.from(list)), copy(Uint32Array.from(sizes)), list.length));
      }));
    } catch (error) {
      // The line and column are of the generated text, which the caller has not seen.
      const { code, message, operation } = error;
      throw error.line ? new XlaError(code, message, { operation }) : error;
    }
  }

  /**
   * @param {HloModule} module from a builder's build(), parseHlo() or parseHloProto()
   * @param {object} [options]
   * @param {number} [options.replicas] by default the module's replica_count, or 1 if it states only partitions. If the
   *   module states neither: the client's number of replicas
   * @param {number} [options.partitions] by default what the module needs, or else 1
   * @param {boolean} [options.optimize] false: each operation by itself, as it is written; slow
   * @param {boolean} [options.inPlace] false: no result takes the memory of its operand
   * @param {string[]} [options.disable] rewrites, stages and kernels to leave out, of `optionalPasses`, for
   *   finding faults
   * @param {AbortSignal} [options.signal] ends the compilation, which fails with CANCELLED
   * @param {number} [options.timeoutMs] after this time it fails with DEADLINE_EXCEEDED
   * @returns {Promise<Executable>} for replicas x partitions devices
   */
  async compile(module, options) {
    if (!(module instanceof HloModule)) {
      throw (await compileAdvice.later()).compileAdvice(notModule('compile', `got ${describe(module)}`), module);
    }
    const turns = this.#compile('compile', module, options);
    let turn;
    while (!(turn = turns.next()).done) await nextTurn();
    return turn.value;
  }

  /** As compile(), without a promise: it blocks. @returns {Executable} */
  compileSync(module, options) {
    const turns = this.#compile('compileSync', module, options);
    let turn;
    do turn = turns.next(); while (!turn.done);
    return turn.value;
  }

  /** Compiles; yields after each turn, so that other events can be handled. Returns the executable. */
  * #compile(operation, module, options) {
    const { parameters, resultShape } = this.#checkedModule(operation, module);
    const asked = checkOptions(operation, options, COMPILE_OPTIONS);
    const { signal, timeoutMs = Infinity } = asked;
    throwIfAborted(signal, 'the compilation');
    const compilation = this.#compileBy(xla_compile_begin, operation, module, asked);
    const core = this.#core;
    const end = performance.now() + timeoutMs;
    let open = true, pointer;
    try {
      while (core.call(xla_compile_run, compilation, TURN_MS)) {
        yield;
        throwIfAborted(signal, 'the compilation');
        if (performance.now() >= end) {
          throw new XlaError('DEADLINE_EXCEEDED', `${operation}: it takes longer than timeoutMs = ${timeoutMs} ms`);
        }
      }
      open = false;
      pointer = core.need(xla_compile_end, compilation);
    } catch (error) {
      if (open && !core.disposed) core.call(xla_compile_end, compilation);
      throw this.#explained(operation, error, module);
    }
    return new Executable(core, pointer, {
      replicas: core.call(xla_executable_replicas, pointer),
      partitions: core.call(xla_executable_partitions, pointer),
      parameters,
      resultShape,
    });
  }

  /**
   * Returns a module's text after each pass of the compiler.
   * @param {HloModule} module
   * @param {object} [options] as in compile()
   * @returns {{ pass: string, text: string }[]} for each pass that changed the module, in order, the HLO text after
   *   it. The first entry is always 'dynamic-dimensions'
   */
  passes(module, options) {
    this.#checkedModule('passes', module);
    const asked = checkOptions('passes', options, PASSES_OPTIONS);
    const pointer = this.#compileBy(xla_compile_passes, 'passes', module, asked);
    return this.#core.takeString(pointer).split('\f').slice(1).map((snapshot) => {
      const end = snapshot.indexOf('\n');
      return { pass: snapshot.slice(0, end), text: snapshot.slice(end + 1) };
    });
  }

  /**
   * Differentiates a program whose result is a number: the new program's results are its gradient.
   * @param {HloModule} module
   * @param {object} [options]
   * @param {number | string | readonly (number | string)[]} [options.wrt] by which parameters: numbers, names, or
   *   prefixes of names ('params' means params.w and params.b); by default all that hold floating-point or complex
   *   numbers
   * @param {number} [options.of] which result is differentiated, where there are several; by default the first. It
   *   must be a real floating-point scalar
   * @param {boolean} [options.value] true: all results of the program come first, then the gradient
   * @param {number} [options.maxTrips] for while loops whose number of iterations is not known before the run: an upper
   *   bound; without one, 65,536 if the state is at most 256 kB. A loop that makes more has gradients that are NaN
   * @param {'none' | 'sqrt' | 'all'} [options.checkpoint] the values that while loops save for the backward pass:
   *   those that the derivative needs ('none'), the state of each iteration ('all'), or that of every sqrt(n)-th
   *   iteration ('sqrt'). Other values are computed again
   * @returns {HloModule} it can be compiled, printed, and differentiated again
   */
  gradient(module, options) {
    return differentiate(this.#checkedModule('gradient', module), 'gradient', options);
  }

  /**
   * The vector-Jacobian product: as gradient(), for results of any shape. The new program has one more parameter for
   * each floating-point result, at the end: its cotangent.
   * @param {HloModule} module
   * @param {object} [options] wrt, value, maxTrips, checkpoint: as in gradient()
   * @returns {HloModule}
   */
  vjp(module, options) {
    return differentiate(this.#checkedModule('vjp', module), 'vjp', options);
  }

  /**
   * The Jacobian-vector product. The new program has one more parameter for each of `wrt`, at the end: its tangent. Its
   * results are those of the program, then the tangents of the floating-point ones.
   * @param {HloModule} module
   * @param {object} [options] wrt: as in gradient()
   * @returns {HloModule}
   */
  jvp(module, options) {
    return differentiate(this.#checkedModule('jvp', module), 'jvp', options);
  }

  /**
   * The same program for a batch, as jax.vmap: from HLO to HLO.
   * @param {HloModule} module
   * @param {object} options
   * @param {any} [options.in] the dimension of the batch in the parameters: a number for all (default 0), or a list with
   *   an entry for each: a number, null if it is the same for the whole batch, or a list for a tuple's elements; or an
   *   object with such entries by name (or prefix of names), and null for the others
   * @param {any} [options.out] the dimension of the batch in the results: a number for all (default 0), or a list
   * @param {number} [options.size] the number of elements in the batch
   * @returns {HloModule} it can be compiled, printed, differentiated, and mapped again
   */
  vmap(module, options) {
    return batch(this.#checkedModule('vmap', module), vmapOptions(options));
  }

  /**
   * The Jacobian, as jax.jacrev or jax.jacfwd: the new program has the same parameters. Its results are, for each
   * floating-point result and for each of wrt, an array with the dimensions of the result, then of the parameter.
   * @param {HloModule} module
   * @param {object} [options] wrt, maxTrips: as in gradient()
   * @param {'reverse' | 'forward'} [options.mode] by rows (the default: for few results) or by columns (for few parameters)
   * @returns {HloModule}
   */
  jacobian(module, options) {
    return jacobianModule((name) => this.builder(name), this.#checkedModule('jacobian', module), options);
  }

  /**
   * The Hessian of a real scalar, as jax.hessian: the Jacobian of the gradient. Its results are, for each pair of wrt,
   * an array with the dimensions of both.
   * @param {HloModule} module
   * @param {object} [options] wrt, of, maxTrips: as in gradient()
   * @returns {HloModule}
   */
  hessian(module, options) {
    return hessianModule((name) => this.builder(name), this.#checkedModule('hessian', module), options);
  }

  /** Returns the module if it is one of this client; throws otherwise. */
  #checkedModule(operation, module) {
    if (!(module instanceof HloModule)) throw notModule(operation, got(module));
    if (coreOf(module) !== this.#core) {
      throw invalidArgument(operation, 'the module belongs to another client; load it by this one');
    }
    return module;
  }

  /**
   * The names that compile() can disable, in the order in which they run: rewrites, later stages, and kernels
   * as kernel-NAME.
   */
  get optionalPasses() {
    return this.#core.takeString(this.#core.call(xla_optional_passes)).split(',');
  }

  /** Calls the core with a module, the numbers of replicas and partitions (0: the module's), flags and names. */
  #compileBy(call, operation, module, asked) {
    const isOpen = !module.replicaCount && !module.partitionCount;
    const replicas = asked.replicas ?? (isOpen ? this.#replicas : 0);
    const how = (asked.optimize === false ? COMPILE_AS_WRITTEN : 0) + (asked.inPlace === false ? COMPILE_NOT_IN_PLACE : 0);
    const disable = this.#disabled(operation, asked.disable ?? []).join();
    try {
      return this.#core.scoped((copy) => this.#core.need(
        call, pointerOf(module), replicas, asked.partitions ?? 0, how, disable ? copy(disable) : 0));
    } catch (error) {
      throw this.#explained(operation, error, module);
    }
  }

  /** Returns the error of a failed compilation; that of a trap names the step. */
  #explained(operation, error, module) {
    if (error.code !== 'INTERNAL' || module.disposed || this.disposed) return error;
    const step = this.#core.string(this.#core.call(xla_compile_step));
    return ownFault(operation, error, module, step, this.optionalPasses.includes(step));
  }

  #disabled(operation, names) {
    const known = names.length ? this.optionalPasses : [];
    const other = names.find((name) => !known.includes(name));
    if (other !== undefined) throw unknownName(operation, other, known, 'disable: ');
    return names;
  }

  /**
   * Runs several programs at once, one per device of a mesh. Collectives and channels of the same channel_id
   * connect them. Each program is compiled for the whole mesh.
   * @param {readonly object[]} entries one for each device, in any order: { executable, replica,
   *   partition, arguments }; by default the entry's number is the replica, the partition 0
   * @param {object} [options] device, profile, seed, signal, timeoutMs: as in executeReplicas
   * @returns {Promise<any[][]>} the results of each entry
   */
  async launch(entries, options) {
    return launch(this.#core, entries, options);
  }

  /** As launch(), without a promise: it blocks. @returns {any[][]} */
  launchSync(entries, options) {
    return launchNow(this.#core, entries, options);
  }

  /**
   * Puts an array on the device.
   * @param {any} value whatever Literal.from() takes
   * @param {Shape | string} [shape]
   * @returns {Buffer}
   */
  buffer(value, shape) {
    const source = value instanceof Buffer ? value.toLiteral() : value;
    if (shape !== undefined) return upload(this.#core, source, Shape.of(shape));
    const literal = Literal.from(source);
    return upload(this.#core, literal, literal.shape);
  }

  /**
   * Registers the callback that runs for a custom-call target. A second registration of a name replaces
   * the first.
   * @param {string} target the custom_call_target
   * @param {(call: object) => any} callback gets { operands: Literal[], resultShapes: Shape[],
   *   replica: number, partition: number, backendConfig: string, backendConfigBytes: Uint8Array } and returns, or
   *   promises, the result: whatever Literal.from() takes, or an array of these where the result is a tuple. An error
   *   that it throws fails the run.
   */
  registerCustomCall(target, callback) {
    this.#core.hostCalls.register(target, callback);
  }

  /**
   * Registers the derivative of a custom-call target, or of a computation by its name: "clip" for `jax.jit(clip)`.
   * A number at the end of a computation's name is ignored. gradient(), vjp(), jvp() and b.gradient() use it. A second
   * registration of a name replaces the first. Register before reading StableHLO: short functions are inlined then.
   * @param {string} target the custom_call_target, or the computation's name
   * @param {object} rules functions that add the derivative to a builder. They get lists of XlaOps, the leaves of
   *   operands and of results, then the seeds, with null for values that have no derivative; and
   *   { target, backendConfig }. They return a list, in which null is zero
   * @param {Function} [rules.vjp] (b, operands, results, cotangents) => cotangents of the operands
   * @param {Function} [rules.jvp] (b, operands, results, tangents) => tangents of the results. Reverse mode transposes it
   *   if there is no vjp
   * @param {boolean} [rules.recompute] instead of vjp and jvp: reverse mode saves the operands only, and computes other
   *   values again, as jax.checkpoint does
   */
  registerGradient(target, rules) {
    this.#core.check();
    rulesOf(this.#core).register(target, rules);
  }

  /**
   * Queues a value for an infeed. Tuples are arrays of their leaves.
   * @param {any} value whatever Literal.from() takes
   * @param {object} [options]
   * @param {number} [options.replica] whose infeed (default 0)
   * @param {number} [options.partition] (default 0)
   */
  transferToInfeed(value, options) {
    const device = checkOptions('transferToInfeed', options, TRANSFER_OPTIONS);
    if (value === undefined || value === null) {
      throw invalidArgument('transferToInfeed', `value must be one that Literal.from() takes; got ${describe(value)}`);
    }
    this.#core.hostCalls.pushInfeed(device, value);
  }

  /**
   * Returns the value of a device's next outfeed, in order.
   * @param {object} [options]
   * @param {number} [options.replica] whose outfeed (default 0)
   * @param {number} [options.partition] (default 0)
   * @returns {Promise<Literal | Literal[]>} an array of the leaves of tuples
   */
  async transferFromOutfeed(options) {
    const device = checkOptions('transferFromOutfeed', options, TRANSFER_OPTIONS);
    return this.#core.hostCalls.takeOutfeed(device);
  }

  /**
   * Iterates over the values of a device's outfeeds, without end: for `for await`.
   * @param {object} [options] as in transferFromOutfeed
   * @returns {AsyncIterableIterator<Literal | Literal[]>}
   */
  outfeed(options) {
    const device = checkOptions('outfeed', options, TRANSFER_OPTIONS);
    const { hostCalls } = this.#core;
    return {
      next: async () => ({ value: await hostCalls.takeOutfeed(device), done: false }),
      return: async (value) => ({ value, done: true }),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /**
   * Queues a source of values for a device's infeeds, after values and sources that were queued before.
   * Each value is read when an infeed asks for it.
   * @param {Iterable<any> | AsyncIterable<any>} source of values as in transferToInfeed; its errors
   *   fail the run that asked
   * @param {object} [options] as in transferToInfeed
   */
  infeed(source, options) {
    const device = checkOptions('infeed', options, TRANSFER_OPTIONS);
    this.#core.hostCalls.addInfeedSource(device, source);
  }

  /**
   * Ends the threads and frees all memory. Pending runs reject with CANCELLED; later calls throw
   * FAILED_PRECONDITION.
   */
  dispose() {
    this.#core.dispose();
  }
}

if (Symbol.dispose) {
  Object.defineProperty(Client.prototype, Symbol.dispose, {
    value() {
      this.dispose();
    },
  });
  Object.defineProperty(Client.prototype, Symbol.asyncDispose, {
    async value() {
      this.dispose();
    },
  });
}

/** Returns a Uint8Array over a view of bytes, such as a Node Buffer. */
function bytesOf(operation, value) {
  if (ArrayBuffer.isView(value) && value.BYTES_PER_ELEMENT === 1) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  const [name, what] = {
    parseHloProto: ['bytes', 'a Uint8Array'], parseHlo: ['text', 'HLO text or its bytes'],
  }[operation] ?? ['source', 'text or a Uint8Array'];
  throw invalidArgument(operation, `${name} must be ${what}; got ${describe(value)}`);
}

atBoundary(Client, {
  create: { members: ['builder', 'load', 'parseHlo', 'compile', 'buffer'] },
  load: { members: ['toProto'] },
  compile: { members: ['execute', 'executeReplicas', 'thunks'] },
  launch: { isFast: true },
});
