/**
 * What Python asks of the core: programs, arrays and runs, by numbers that Python gives them. It is the same beside a
 * Python process (host.mjs) and in a page with Pyodide. All calls are synchronous.
 */

/** ORDER TYPE: element types by the number that Python sends; dtypes.py has the same order. */
export const TYPES = [
  'pred', 's2', 's4', 's8', 's16', 's32', 's64', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64', 'f16', 'bf16', 'f32', 'f64',
  'c64', 'c128', 'f8e5m2', 'f8e4m3', 'f8e3m4', 'f8e4m3fn', 'f8e4m3b11fnuz', 'f8e5m2fnuz', 'f8e4m3fnuz', 'f8e8m0fnu',
  'f4e2m1fn',
];
const numbersEach = (name) => (name[0] === 'c' ? 2 : 1);

/** Types whose Buffers hold several elements in a byte. NumPy has a byte for each. */
const isPacked = (name) => /^[suf][24](?!\d)/.test(name);

/** An array of such a type that the caller fills in before it becomes a Buffer. */
class Filled {
  constructor(elements, text) {
    this.elements = elements;
    this.text = text;
  }

  dispose() {}
}

const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
const shapeOf = (type, dims) => `${TYPES[type]}[${dims.join()}]`;

export class Session {
  #xla;
  #client;
  #callback;
  #programs = new Map(); // number -> Executable
  #arrays = new Map(); // number -> Buffer, or the error of the run that should have made it
  #running = []; // numbers of programs whose runs are on the stack
  #signal;

  /**
   * @param {object} xla the package's module
   * @param {object} client of Client.createSync()
   * @param {(target: string, program: number, call: object) => Uint8Array[]} callback calls Python from a run
   * @param {() => boolean} [isInterrupted] asked during runs: whether they should end
   */
  constructor(xla, client, callback, isInterrupted) {
    this.#xla = xla;
    if (isInterrupted) {
      this.#signal = { get aborted() { return isInterrupted(); }, addEventListener() {}, removeEventListener() {} };
    }
    this.#client = client;
    this.#callback = callback;
  }

  /** Sends calls of a target to Python. */
  registerTarget(target) {
    this.#client.registerCustomCall(target, (call) => this.#call(target, call));
  }

  #call(target, { operands, resultShapes, tokens, replica, partition, backendConfig }) {
    const program = this.#running.at(-1);
    const results = this.#callback(target, program, {
      config: backendConfig, device: replica + partition,
      operands: operands.map((literal) => ({
        type: TYPES.indexOf(literal.shape.elementType), dims: literal.shape.dimensions, bytes: bytesOf(literal.data) })),
      tokens,
      results: resultShapes.map((shape) => ({ type: TYPES.indexOf(shape.elementType), dims: shape.dimensions })),
    });
    const literals = resultShapes.map((shape, i) => {
      const Natural = this.#typedArray(shape.elementType);
      const own = results[i].slice(); // aligned, and the caller's bytes may change
      return this.#xla.Literal.from(new Natural(own.buffer), shape);
    });
    return literals.length === 1 ? literals[0] : literals;
  }

  #classes = new Map();

  /** The class of typed arrays that hold elements of a type. */
  #typedArray(elementType) {
    if (!this.#classes.has(elementType)) {
      this.#classes.set(elementType, this.#xla.Literal.from([], `${elementType}[0]`).data.constructor);
    }
    return this.#classes.get(elementType);
  }

  /**
   * Compiles StableHLO for as many partitions as it needs: one if each would compute the same.
   * @param {number} number of the program
   * @param {Uint8Array} source
   * @returns {object} what Python wants to know of it
   */
  compile(number, source) {
    const module = this.#client.parseStableHloSync(source);
    try {
      const executable = this.#client.compileSync(module, { replicas: 1 });
      this.#programs.set(number, executable);
      const { resultShape, parameters } = executable;
      const leaves = resultShape.isTuple ? resultShape.tupleShapes : [resultShape];
      const plain = (shape) => ({ type: TYPES.indexOf(shape.elementType), dims: [...shape.dimensions ?? []] });
      return {
        parameters: parameters.map(({ shape }) => plain(shape)), results: leaves.map(plain),
        memory: executable.memory, partitions: executable.partitions,
      };
    } finally {
      module.dispose();
    }
  }

  /** The optimised program as HLO text. */
  text(number) {
    return this.#program(number).toString();
  }

  /** A program as HLO text, not optimised. */
  hloOf(source) {
    const module = this.#client.parseStableHloSync(source);
    try {
      return module.toString();
    } finally {
      module.dispose();
    }
  }

  freeProgram(number) {
    this.#programs.get(number)?.dispose();
    this.#programs.delete(number);
  }

  #program(number) {
    const program = this.#programs.get(number);
    if (!program) throw new Error(`program ${number} is not there`);
    return program;
  }

  #array(number) {
    const array = this.#arrays.get(number);
    if (array === undefined) throw new Error(`array ${number} is not there`);
    if (array instanceof Error) throw array;
    if (!(array instanceof Filled)) return array;
    const buffer = this.#client.buffer(array.elements, array.text);
    this.#arrays.set(number, buffer);
    return buffer;
  }

  /** The bytes of an array, one or more for each element, valid until the next call. */
  #bytes(number) {
    const array = this.#array(number);
    return bytesOf(isPacked(array.shape.elementType) ? array.toLiteral().data : array.view());
  }

  /** A new array whose elements the caller fills in: its bytes, valid until the next call. */
  make(number, type, dims) {
    const zeros = this.#zerosOf(type, dims), text = shapeOf(type, dims);
    if (isPacked(TYPES[type])) {
      this.#arrays.set(number, new Filled(zeros, text));
      return bytesOf(zeros);
    }
    const buffer = this.#client.buffer(zeros, text);
    this.#arrays.set(number, buffer);
    return bytesOf(buffer.view());
  }

  /** Notes why an array is not there: reading it tells. */
  failed(number, error) {
    this.#arrays.set(number, error);
  }

  put(number, type, dims, bytes) {
    this.make(number, type, dims).set(bytes);
  }

  #zerosOf(type, dims) {
    const Natural = this.#typedArray(TYPES[type]), size = dims.reduce((product, dim) => product * dim, 1);
    return new Natural(size * numbersEach(TYPES[type]));
  }

  /** The bytes of an array, valid until the next call. */
  read(number) {
    return this.#bytes(number);
  }

  /** Throws the error of the run that should have made an array. */
  wait(number) {
    this.#array(number);
  }

  /**
   * Runs a program. Its results get the numbers `results`; if it fails they hold its error, which reading them tells.
   * @param {number[]} donated those of `args` that the run may overwrite; they are freed in any case
   */
  execute(program, args, donated, results) {
    let outputs;
    this.#running.push(program);
    try {
      const executable = this.#program(program);
      const buffers = args.map((number) => this.#array(number));
      const given = executable.partitions > 1 ? [] : donated.map((number) => args.indexOf(number));
      outputs = executable.executeSync(buffers, { device: true, donate: given, signal: this.#signal });
      return null;
    } catch (error) {
      outputs = results.map(() => error);
      return error;
    } finally {
      this.#running.pop();
      this.free(donated);
      results.forEach((number, i) => {
        if (outputs) this.#arrays.set(number, outputs[i]);
      });
    }
  }

  /**
   * As execute(), for Pyodide, which makes a call for each element of a list that Python passes. So the four lists come one
   * after the other in `numbers`: those to free, arguments, donated arguments, results. The counts are of the first three.
   */
  executeRow(program, frees, args, donated, ...numbers) {
    const take = (count) => numbers.splice(0, count);
    this.free(take(frees));
    return this.execute(program, take(args), take(donated), numbers);
  }

  free(numbers) {
    for (const number of numbers) {
      const array = this.#arrays.get(number);
      if (array && !(array instanceof Error) && !array.disposed) array.dispose();
      this.#arrays.delete(number);
    }
  }

  /**
   * Copies boxes between arrays: row by row.
   * @param {number} number of the new array
   * @param {{ from: number, at: number[], sizes: number[], to: number[] }[]} boxes `at` in `from`, `to` in the new one
   */
  assemble(number, type, dims, boxes) {
    const element = this.#typedArray(TYPES[type]).BYTES_PER_ELEMENT * numbersEach(TYPES[type]);
    try {
      const made = this.make(number, type, dims);
      for (const { from, at, sizes, to } of boxes) {
        const { dimensions } = this.#array(from).shape, source = this.#bytes(from);
        const target = isPacked(TYPES[type]) ? made : this.#bytes(number);
        copyBox(source, dimensions, at, target, dims, to, sizes, element);
      }
    } catch (error) {
      this.free([number]);
      this.#arrays.set(number, error);
    }
  }

  get memoryInUse() {
    return this.#client.memoryInUse;
  }

  dispose() {
    this.#client.dispose();
  }
}

/** Copies a box of an array into another one. */
function copyBox(source, sourceDims, at, target, targetDims, to, sizes, element) {
  if (sizes.includes(0)) return;
  // Dimensions that both have whole are copied at once.
  let inner = sizes.length, run = element;
  while (inner > 0) {
    inner--;
    run *= sizes[inner];
    if (sizes[inner] !== sourceDims[inner] || sizes[inner] !== targetDims[inner]) break;
  }
  const strides = (dims) => {
    const list = new Array(dims.length);
    for (let i = dims.length - 1, stride = element; i >= 0; stride *= dims[i--]) list[i] = stride;
    return list;
  };
  const sourceStrides = strides(sourceDims), targetStrides = strides(targetDims);
  const offset = (strides, starts) => starts.reduce((sum, start, i) => sum + start * strides[i], 0);
  const copy = (dimension, from, into) => {
    if (dimension >= inner) {
      target.set(source.subarray(from, from + run), into);
      return;
    }
    for (let i = 0; i < sizes[dimension]; i++) {
      copy(dimension + 1, from + i * sourceStrides[dimension], into + i * targetStrides[dimension]);
    }
  };
  copy(0, offset(sourceStrides, at), offset(targetStrides, to));
}

/** An error as Python gets it. */
export const plainError = (error) => ({
  code: error?.code && /^[A-Z_]+$/.test(error.code) && error.name === 'XlaError' ? error.code : 'INTERNAL',
  message: String(error?.message ?? error),
});
