/**
 * xla-wasm: XLA computations in a browser or in Node, built or imported, compiled to WebAssembly,
 * run on one replica or on many.
 *
 * Every failure throws (or rejects with) an XlaError.
 */

declare global {
  /** These merge with the library's own declarations, if there are any. */
  interface SymbolConstructor {
    readonly dispose: unique symbol;
    readonly asyncDispose: unique symbol;
  }
}

/* ---- Errors ---- */

/** XLA's status codes. */
export type StatusCode =
  | 'CANCELLED'
  | 'UNKNOWN'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'OUT_OF_RANGE'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DATA_LOSS'
  | 'UNAUTHENTICATED';

export class XlaError extends Error {
  constructor(
    code: StatusCode,
    message: string,
    details?: {
      operation?: string;
      line?: number;
      column?: number;
      waiting?: readonly WaitingDevice[];
      cause?: unknown;
    },
  );
  readonly name: 'XlaError';
  readonly code: StatusCode;
  /** The section of the documentation for errors of this kind: 'xla-wasm/docs/errors.md#invalid_argument'. */
  readonly docs: string;
  /** HLO text name of the operation at fault: 'dot'. */
  readonly operation: string | undefined;
  /** 1-based position in HLO text, if there is text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** For a deadlock, or a run that timed out: the devices that wait. */
  readonly waiting?: readonly WaitingDevice[];
  /** For a fault of the compiler (INTERNAL): the program as HLO text, for a report. */
  readonly module?: string;
  /** And the step of the compilation that trapped: a rewrite, a stage, or kernel-NAME. */
  readonly step?: string;
}

/** A device, in an error. */
export interface DevicePlace {
  readonly replica: number;
  readonly partition: number;
}

/** A device that waits, when a run cannot go on or takes too long. */
export interface WaitingDevice extends DevicePlace {
  /** The instruction that waits: its name, its operation, and its line if the program has text. */
  readonly instruction: string;
  readonly operation: string;
  readonly line?: number;
  /** Where the instruction comes from, if the program says it: "jit(f)/psum", "model.py", 12. */
  readonly opName?: string;
  readonly sourceFile?: string;
  readonly sourceLine?: number;
  /** For members of a collective's group, for a message of a send's, or for the host. */
  readonly waitsFor: 'members' | 'message' | 'host';
  readonly channel?: number;
  /** Of a custom-call. */
  readonly target?: string;
  /** Members of the group that have arrived, and those that have not: at most the first 32 of each. */
  readonly arrived?: readonly DevicePlace[];
  /** A missing device has finished, or waits at an instruction itself, or still computes. */
  readonly missing?: readonly (DevicePlace & { finished: boolean; waitsAt?: string })[];
  /** How many there are in all. */
  readonly arrivedCount?: number;
  readonly missingCount?: number;
}

/* ---- Shapes ---- */

/** Element types of arrays, as HLO text names them. */
export type ElementType =
  | 'pred'
  | 's2'
  | 's4'
  | 's8'
  | 's16'
  | 's32'
  | 's64'
  | 'u2'
  | 'u4'
  | 'u8'
  | 'u16'
  | 'u32'
  | 'u64'
  | 'f16'
  | 'bf16'
  | 'f32'
  | 'f64'
  | 'f8e5m2'
  | 'f8e4m3'
  | 'f8e3m4'
  | 'f8e4m3fn'
  | 'f8e4m3b11fnuz'
  | 'f8e5m2fnuz'
  | 'f8e4m3fnuz'
  | 'f8e8m0fnu'
  | 'f4e2m1fn'
  | 'c64'
  | 'c128';

export type PaddingValue = 'ZERO_PAD' | 'ONE_PAD' | 'LOWEST_PAD' | 'HIGHEST_PAD' | 'UNKNOWN_PAD';

/** How an array lies in linear memory. Immutable. */
export class Layout {
  constructor(fields: {
    /** The dimension numbers, fastest varying first. */
    minorToMajor: readonly number[];
    /** The widths to which dimensions are padded, one per dimension. */
    paddedDimensions?: readonly number[];
    /** The value that fills the padding; 'ZERO_PAD' by default. */
    paddingValue?: PaddingValue;
  });
  /** The default layout of a rank, dimension 0 most major: {rank-1, ..., 0}. */
  static rowMajor(rank: number): Layout;
  readonly minorToMajor: readonly number[];
  readonly paddedDimensions: readonly number[] | null;
  readonly paddingValue: PaddingValue;
  /** Whether it is row-major without padding. */
  readonly isDefault: boolean;
  equals(other: Layout): boolean;
  /** '{0,1}' */
  toString(): string;
}

/** A shape, or its text: 'f32[2,3]', 'f32[2,3]{0,1}', '(f32[2], s32[])'. */
export type ShapeLike = Shape | string;

/** The typed array of each element type: see ArrayData. */
export interface DataByType {
  pred: Uint8Array; s2: Int8Array; s4: Int8Array; s8: Int8Array; s16: Int16Array; s32: Int32Array;
  s64: BigInt64Array; u2: Uint8Array; u4: Uint8Array; u8: Uint8Array; u16: Uint16Array;
  u32: Uint32Array; u64: BigUint64Array; f16: Uint16Array; bf16: Uint16Array; f32: Float32Array;
  f64: Float64Array; c64: Float32Array; c128: Float64Array;
}
type ValueOf<T> = T extends 'pred' ? boolean
  : T extends 's64' | 'u64' ? bigint
  : T extends 'c64' | 'c128' ? [number, number]
  : number;
type Nested<V, Dimensions extends string> = Dimensions extends '' ? V
  : Dimensions extends `${string},${infer Rest}` ? Nested<V, Rest>[]
  : V[];

/** The data of a literal whose shape is known as text: Float32Array for 'f32[2,3]'. */
export type DataOf<S extends string> = string extends S ? any
  : S extends `(${string}` ? null
  : S extends `${infer T}[${string}` ? T extends keyof DataByType ? DataByType[T] : Uint8Array
  : any;
/** Its elements in nested arrays: number[][] for 'f32[2,3]'. */
export type NestedOf<S extends string> = string extends S ? any
  : S extends `(${string}` ? any
  : S extends `${infer T}[${infer Dimensions}]${string}` ? Nested<ValueOf<T>, Dimensions>
  : any;

/** Element type, dimensions and layout of an array; or a tuple of shapes; or a token. Immutable. */
export class Shape {
  private constructor();
  static array(
    elementType: ElementType,
    dimensions?: readonly number[],
    options?: {
      layout?: Layout | readonly number[];
      /** Which sizes are upper bounds: 'f32[<=5]'. */
      dynamicDimensions?: readonly boolean[];
    },
  ): Shape;
  static tuple(shapes: readonly ShapeLike[]): Shape;
  static token(): Shape;
  /**
   * Reads a shape as HLO text has it. Of a layout, minor-to-major is kept; tiling, memory space and
   * other suffixes are dropped.
   */
  static parse(text: string): Shape;
  /** A Shape as it is, a string parsed. */
  static of(shape: ShapeLike): Shape;

  readonly elementType: ElementType | 'tuple' | 'token' | 'opaque';
  readonly dimensions: readonly number[];
  /** Which dimensions are dynamic: their sizes are upper bounds. */
  readonly dynamicDimensions: readonly boolean[];
  /** null where it is the default one. */
  readonly layout: Layout | null;
  /** Of a tuple. */
  readonly tupleShapes: readonly Shape[] | null;

  readonly isTuple: boolean;
  readonly isToken: boolean;
  readonly isArray: boolean;
  readonly isScalar: boolean;
  readonly isDynamic: boolean;
  /** Number of dimensions. */
  readonly rank: number;
  /** Number of elements of an array, without padding. */
  readonly elementCount: number;
  /** Bytes of an array, dense; of a tuple, of all its leaves. */
  readonly byteSize: number;
  /** Elements that an array takes in memory, padding included. */
  readonly linearSize: number;
  /** The layout, spelled out where it is the default one. */
  readonly effectiveLayout: Layout;

  /** The arrays and tokens in it, depth first. */
  leaves(): Shape[];
  withElementType(elementType: ElementType): Shape;
  /** The same array in another layout: a Layout, its minorToMajor, or null for the default one. */
  withLayout(layout: Layout | readonly number[] | null): Shape;
  /** The same shape, tuples too, with default layouts. */
  withoutLayout(): Shape;
  /** Whether all but layouts and dynamic dimensions agree. */
  compatible(other: Shape): boolean;
  /** Whether such an array can be an argument: dynamic dimensions may be shorter than bounds. */
  accepts(other: Shape): boolean;
  equals(other: Shape): boolean;
  /** Where an element lies in linear memory, in the shape's layout with its padding. */
  linearIndex(multiIndex: readonly number[]): number;
  /** The other way: the index, one entry per dimension, of a place in linear memory. */
  multiIndex(linearIndex: number): number[];
  /** Distance in elements between neighbours along each dimension, in the shape's layout. */
  strides(): number[];
  /** As HLO text has it; a layout is printed where it is not the default one. */
  toString(): string;
  toJSON(): string;
}

/* ---- Values ---- */

/**
 * What holds the elements of an array: Int8Array for s2, s4 and s8; Uint8Array for pred, u2, u4, u8
 * and the f8 types (bits); Int16Array, Uint16Array, Int32Array, Uint32Array; BigInt64Array for s64,
 * BigUint64Array for u64; Uint16Array of bits for f16 and bf16; Float32Array, Float64Array; and
 * these with real and imaginary parts in turns for c64 and c128.
 */
export type ArrayData =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** An element: bigint for s64 and u64, boolean for pred, [re, im] for c64 and c128. */
export type ElementValue = number | bigint | boolean | [number, number];

/** Elements in nested arrays; of a tuple, its elements. */
export type NestedArray = ElementValue | null | NestedArray[];

/**
 * What a literal can be made from, given its shape:
 *
 *   - a number, bigint, boolean or [re, im], for a scalar;
 *   - nested arrays, one level per dimension; a typed array may stand for any number of inner ones;
 *   - a typed array: all elements as they lie in memory, in the order of the shape's layout. One of
 *     the element type's own kind (see ArrayData) is taken as it is, so Uint16Array is bits for
 *     f16; others are converted by value;
 *   - a Literal, in any layout;
 *   - for a tuple, an array of such values.
 *
 * Integers must be in the type's range.
 */
export type LiteralLike =
  | number
  | bigint
  | boolean
  | null
  | ArrayBufferView
  | Literal
  | readonly LiteralLike[];

/**
 * A value on the host: an array of elements, or a tuple of literals. Where its shape is known as
 * text, `Literal<'f32[2,3]'>`, so are the types of `data` and `toArray()`.
 */
export class Literal<S extends string = string> {
  /** Of an array, `data` is its typed array, which is kept; of a tuple, its elements. */
  constructor(shape: S | Shape, data: ArrayData | LiteralLike | readonly Literal[] | null);
  /**
   * Without a shape, it follows from the value: a typed array is a vector of its own type; other
   * arrays and scalars are pred, s64 or f32 as their first element is a boolean, bigint or number.
   */
  static from<S extends string = string>(value: LiteralLike, shape?: S | Shape): Literal<S>;
  static tuple(elements: readonly Literal[]): Literal;
  static zeros<S extends string = string>(shape: S | Shape): Literal<S>;

  readonly shape: Shape;
  /** The elements as they lie in memory: row-major, unless the shape has another layout. */
  readonly data: DataOf<S>;
  /** Of a tuple. */
  readonly elements: readonly Literal[] | null;
  /** The elements as numbers, bigints, booleans and [re, im], nested as the dimensions are. */
  toArray(): NestedOf<S>;
  /** One element. */
  get(multiIndex?: readonly number[]): ElementValue;
  /** The same value in another layout: a Layout, its minorToMajor, or null for the default one. */
  inLayout(layout: Layout | readonly number[] | null): Literal<S>;
  /**
   * The same values in another element type, rounded to the nearest where it is narrower. Integers must be whole and in
   * range.
   * @example
   * const half = literal.convert('bf16');
   */
  convert(elementType: ElementType): Literal;
  /**
   * Dimension i of the result is dimension permutation[i] of this; by default in reverse order.
   * @example
   * const hwio = oihw.transpose([2, 3, 1, 0]); // a convolution's weights of PyTorch, for JAX
   */
  transpose(permutation?: readonly number[]): Literal;
  /** The arrays in it, depth first; null for tokens. */
  leaves(): (Literal | null)[];
  /** As XLA prints literals. */
  toString(): string;
}

/* ---- What lives in the core ---- */

/**
 * An object of a client. dispose(), `using` or the client's dispose() frees it, or at the latest the
 * garbage collector.
 */
declare abstract class Handle {
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** An array on the device. `Buffer<'f32[2,3]'>`: as Literal. */
export class Buffer<S extends string = string> extends Handle {
  private constructor();
  readonly shape: Shape;
  /** A copy on the host. */
  toLiteral(): Literal<S>;
  /** The elements as numbers, bigints, booleans and [re, im], nested as the dimensions are. */
  toArray(): NestedOf<S>;
  /**
   * The elements in place, row-major, without a copy; writing changes the buffer. Valid until the
   * next call into this package.
   */
  view(): DataOf<S>;
}

export interface Parameter {
  readonly name: string;
  /** With the layout that the program asks for. */
  readonly shape: Shape;
}

/**
 * A program, or a computation that operations call (then its entry computation is meant). Comes
 * from a builder's build(), client.load() or its parse methods. Immutable.
 */
export class HloModule extends Handle {
  private constructor();
  readonly name: string;
  /** The number of replicas that the text states. */
  readonly replicaCount: number | undefined;
  /** The number of partitions that the text states, or that its shard_maps are for. */
  readonly partitionCount: number | undefined;
  readonly parameters: readonly Parameter[];
  readonly resultShape: Shape;
  /**
   * The vector-Jacobian product that a file of jax.export holds (`serialize(vjp_order=1)`); null without one. Its
   * parameters are the program's, then a cotangent of each result; its results are cotangents of the parameters.
   * @throws {XlaError} if the file holds one that cannot be read
   */
  readonly vjp: HloModule | null;
  /** HLO text. */
  toString(): string;
  /** A serialized HloModuleProto, which real XLA loads. Shardings are left out. */
  toProto(): Promise<Uint8Array>;
}

/** An argument of a program: anything that fits the parameter's shape, or a Buffer of it. */
export type Argument = LiteralLike | Buffer | readonly Argument[];

/**
 * One argument per parameter; or by the parameters' names, in an object or a tree of them:
 * { x, params: { w1 } } or { x, 'params.w1': w1 } for JAX's x and params['w1'].
 */
export type Arguments = readonly Argument[] | { readonly [name: string]: unknown };

export interface ExecuteOptions {
  /** Results stay on the device, as Buffers instead of Literals. */
  device?: boolean;
  /**
   * Numbers of parameters whose Buffers are donated: they are disposed, and results use their memory
   * if the program allows it (`executable.memory.aliases`).
   */
  donate?: readonly number[];
  /** Resolve to { outputs, events }. */
  profile?: boolean;
  /**
   * Of `rngUniform` and `rngNormal`, from 0 (the default) to 2^53 - 1. Their numbers repeat from run
   * to run with the same seed; each replica has others.
   */
  seed?: number;
  /** Cancels the run: it rejects with CANCELLED, and the signal's reason as the cause. */
  signal?: AbortSignal;
  /** Rejects with DEADLINE_EXCEEDED if it is not done by then; its `waiting` lists the waiting devices. */
  timeoutMs?: number;
}

/** A step of a device, with its time. */
export interface ProfileEvent {
  /** The instruction's. */
  readonly name: string;
  /** The kind of step: 'generated', 'kernel', 'eval', 'collective', ... */
  readonly category: string;
  /** The instructions in a region, or in loops over the same rows, which are measured as a whole. */
  readonly holds?: readonly string[];
  /** Where its instruction comes from, if the program says it: "jit(f)/add", "model.py:12". */
  readonly opName?: string;
  readonly source?: string;
  readonly replica: number;
  readonly partition: number;
  /** The thread that ran it. */
  readonly worker: number;
  /** Microseconds on a clock that only goes forward. */
  readonly startUs: number;
  readonly endUs: number;
  /** For collectives, receives and calls of the host: the wait from startUs on, and the device that came
   * last or sent the value, or the host. */
  readonly waitedUs?: number;
  readonly waitedFor?: 'host' | { readonly replica: number; readonly partition: number };
}

/**
 * A profile's events in Chrome's trace format, for chrome://tracing and ui.perfetto.dev: write it as
 * JSON.
 */
export function toChromeTrace(events: readonly ProfileEvent[]): { traceEvents: object[] };

/**
 * How each device spent the time of a profile, in microseconds: busy, waiting for others or the host,
 * or idle. Of the busy time, during overlapUs others were busy, too.
 */
export function profileTimes(events: readonly ProfileEvent[]): {
  replica: number;
  partition: number;
  busyUs: number;
  waitedUs: number;
  idleUs: number;
  overlapUs: number;
}[];

/** A result on the device: a Buffer; of a tuple within a tuple, its elements; null for a token. */
export type DeviceValue = Buffer | null | DeviceValue[];

/** An array with at least one element, so that `const [y] = ...` is defined. */
export type AtLeastOne<T> = [T, ...T[]];

type Profiled<T> = { outputs: T; events: ProfileEvent[] };

/** A compiled program. */
export class Executable extends Handle {
  private constructor();
  readonly replicas: number;
  /** Of each replica. */
  readonly partitions: number;
  readonly parameters: readonly Parameter[];
  readonly resultShape: Shape;
  /**
   * Runs on all devices with the same arguments, one per parameter. Resolves to the results on the
   * first device: the elements of a tuple, or one array. Their types may be stated:
   * `execute<[Literal<'f32[2,3]'>]>(args)`; otherwise there is at least one.
   */
  execute<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    args: Arguments | undefined,
    options: ExecuteOptions & { device: true; profile: true },
  ): Promise<Profiled<R>>;
  execute<R extends readonly Literal[] = AtLeastOne<Literal>>(
    args: Arguments | undefined,
    options: ExecuteOptions & { device?: false; profile: true },
  ): Promise<Profiled<R>>;
  execute<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    args: Arguments | undefined,
    options: ExecuteOptions & { device: true; profile?: false },
  ): Promise<R>;
  execute<R extends readonly Literal[] = AtLeastOne<Literal>>(
    args?: Arguments,
    options?: ExecuteOptions & { device?: false; profile?: false },
  ): Promise<R>;
  /**
   * Runs with arguments of each device's own, replica-major: those of replica 0's partitions, then
   * those of replica 1's. Resolves to the results of each device, in the same order.
   */
  executeReplicas<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    argsPerReplica: readonly Arguments[],
    options: ExecuteOptions & { device: true; profile: true },
  ): Promise<Profiled<AtLeastOne<R>>>;
  executeReplicas<R extends readonly Literal[] = AtLeastOne<Literal>>(
    argsPerReplica: readonly Arguments[],
    options: ExecuteOptions & { device?: false; profile: true },
  ): Promise<Profiled<AtLeastOne<R>>>;
  executeReplicas<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    argsPerReplica: readonly Arguments[],
    options: ExecuteOptions & { device: true; profile?: false },
  ): Promise<AtLeastOne<R>>;
  executeReplicas<R extends readonly Literal[] = AtLeastOne<Literal>>(
    argsPerReplica: readonly Arguments[],
    options?: ExecuteOptions & { device?: false; profile?: false },
  ): Promise<AtLeastOne<R>>;
  /** The optimised module as HLO text. */
  toString(): string;
  /** The steps that a replica takes, one a line, for people. */
  thunks(): string;
  /** The WebAssembly module that was generated for it; null if none was. */
  generatedCode(): Uint8Array | null;
  /** The memory that a run takes. */
  readonly memory: ExecutableMemory;
  /** The plan of a device's memory: where each buffer is, and when. */
  memoryPlan(): { arenaBytes: number; buffers: PlannedBuffer[] };
}

/** In bytes, on each device. */
export interface ExecutableMemory {
  readonly arguments: number;
  readonly results: number;
  /**
   * The part of `results` that may take the memory of arguments: of those that are donated, or that
   * were uploaded for the call. The pairs of the module's input_output_alias come first.
   */
  readonly aliases: number;
  /** Intermediate values and the kernels' working memory, in a run without donated arguments. */
  readonly temporaries: number;
  /**
   * The same if all arguments are donated or uploaded for the call. It is less if temporaries use the memory of
   * arguments, or more if results use it, because then no temporary can use the results' memory.
   */
  readonly temporariesGiven: number;
  /** Shared by all runs and devices. */
  readonly constants: number;
  /** Shared by all runs and devices. */
  readonly generatedCode: number;
}

/** A value that has a place in memory from one step of a program to another. */
export interface PlannedBuffer {
  /** The name of the instruction that defines it; '' if the program has none. */
  readonly name: string;
  /** Whether it is working memory of the instruction's kernel, not a value. */
  readonly works: boolean;
  /** 'arena', or 'parameter0', 'result0', 'constant0', ... */
  readonly place: string;
  /** In bytes, in the arena or in a result's memory, which temporaries may use before the result. */
  readonly offset: number;
  readonly bytes: number;
  /** The first and the last step that use it. */
  readonly first: number;
  readonly last: number;
}

export interface ClientOptions {
  /** The number of replicas if neither compile() nor the module states one; 1. */
  replicas?: number;
  /**
   * The number of threads that share the work of all replicas: by default as many as the machine runs
   * at once. 0: none; the work is done in slices between other events, as it is without shared memory
   * (in a page that is not cross-origin isolated).
   */
  threads?: number;
  /**
   * The max bytes of all memory of the client, at least 16 MB; by default the 4 GB that WebAssembly
   * can address. A call that needs more fails with RESOURCE_EXHAUSTED.
   */
  maxMemory?: number;
  /**
   * The address of the package's folder build/dist, for bundlers that do not copy its files: the
   * folder, or a function from a file's name to its address.
   */
  assets?: string | URL | ((name: string) => string | URL);
  /**
   * Whether dots and convolutions of floats round a product and its sum together, which is faster.
   * 'auto', the default: if the engine can (relaxed SIMD). 'never': results are the same bits on every
   * machine. With either they are the same for any number of threads.
   */
  fusedMultiplyAdd?: 'auto' | 'never';
}

/** A custom call on its way to the function that was registered for its target. */
export interface CustomCall {
  /** The leaves of all operands. */
  readonly operands: readonly Literal[];
  /** The leaves of the result. */
  readonly resultShapes: readonly Shape[];
  readonly replica: number;
  readonly partition: number;
  /** backend_config as the program's text has it; '' if it has none. */
  readonly backendConfig: string;
  /** The same as bytes, which need not be UTF-8: a packed struct, a pointer. */
  readonly backendConfigBytes: Uint8Array;
}

/** A source for client.load(): text, bytes, a File or Blob, a Response, a URL; in Node also a path. */
export type ProgramSource = string | Uint8Array | ArrayBuffer | Blob | Response | URL;

export interface LoadOptions {
  /** Shapes of the arguments, for StableHLO programs of unknown sizes: they are read for these. */
  arguments?: readonly (Shape | string)[];
  /** Values for the constants that a dump leaves out ({...}); without it, such a program is refused. */
  elided?: 'zeros' | 'random';
  /** Of load(): bytes that compressed data may become; by default 200 times as many, 4 GiB at most. */
  maxBytes?: number;
}

export interface JvpOptions {
  /**
   * By which parameters: numbers, names, or prefixes of names ('params' means params.w and params.b); by default all
   * that hold floating-point or complex numbers.
   */
  wrt?: number | string | readonly (number | string)[];
}

export interface VjpOptions extends JvpOptions {
  /** true: all results of the program come first, then the gradients. */
  value?: boolean;
  /**
   * For while loops whose number of iterations is not known before the run: an upper bound. A loop that makes more
   * iterations has gradients that are NaN.
   */
  maxTrips?: number;
  /**
   * What while loops save for the way back: the values that the derivative needs ('none', the default), the state of
   * each iteration ('all'), or that of every sqrt(n)-th one ('sqrt'). Values that are not saved are computed again.
   */
  checkpoint?: 'none' | 'sqrt' | 'all';
}

/** An XlaOp for each value; null for those that have no derivative. */
export type Derivatives = readonly (XlaOp | null)[];

/**
 * Adds a derivative to a builder: gets the leaves of a call's operands and results, and the cotangents of the results
 * (vjp) or the tangents of the operands (jvp). Returns one derivative for each operand (vjp) or result (jvp); null is zero.
 */
export type GradientRule = (
  b: XlaBuilder,
  operands: readonly XlaOp[],
  results: readonly XlaOp[],
  seeds: readonly XlaOp[],
  call: { target: string; backendConfig: string },
) => XlaOp | Derivatives;

export interface GradientRules {
  vjp?: GradientRule;
  /** In reverse mode it serves where there is no vjp, and must be linear in the tangents. */
  jvp?: GradientRule;
  /**
   * Instead of these, true for a function that the program calls by name: reverse mode saves its operands only, and
   * computes its values again, as `jax.checkpoint` does.
   */
  recompute?: boolean;
}

export interface GradientOptions extends VjpOptions {
  /** Which result is differentiated, where there are several: by default the first. */
  of?: number;
}

/** A dimension of the batch, negative: counted from the end; null: none; a list: for the elements of a tuple. */
export type BatchDimensions = number | null | readonly BatchDimensions[];

export interface VmapOptions {
  /**
   * The dimension of the batch in the parameters or arguments, by default 0. One for all; or a list with an entry for
   * each; or an object by their names (or prefixes of names), where the others have none.
   */
  in?: BatchDimensions | { readonly [name: string]: BatchDimensions };
  /** The dimension of the batch in the results, by default 0: one for all, or a list. */
  out?: BatchDimensions;
  /** The number of elements in the batch. */
  size?: number;
}

export interface HessianOptions extends JvpOptions {
  /** As of VjpOptions. */
  maxTrips?: number;
}

export interface JacobianOptions extends HessianOptions {
  /** By rows ('reverse', the default; for few results), or by columns ('forward'; for few parameters). */
  mode?: 'reverse' | 'forward';
}

export interface CompileOptions {
  replicas?: number;
  partitions?: number;
  /** For finding faults. False: each operation runs by itself, as it is written; slow. */
  optimize?: boolean;
  /** For finding faults. False: no result takes the memory of its operand. */
  inPlace?: boolean;
  /** For finding faults: rewrites, stages and kernels to leave out, of `client.optionalPasses`. The results are the same. */
  disable?: readonly string[];
  /** Ends the compilation, which then fails with CANCELLED. */
  signal?: AbortSignal;
  /** A limit in milliseconds. A compilation that takes longer fails with DEADLINE_EXCEEDED. */
  timeoutMs?: number;
}

/** One device of a launch. */
export interface LaunchEntry {
  /** Compiled for the mesh of the whole launch. */
  executable: Executable;
  /** By default the entry's number. */
  replica?: number;
  partition?: number;
  arguments?: readonly Argument[];
  /** As of execute(). */
  donate?: readonly number[];
}

/** Which device: by default the first. */
export interface DeviceOptions {
  replica?: number;
  partition?: number;
}

/** Builds, compiles and runs programs. */
export class Client {
  private constructor();
  static create(options?: ClientOptions): Promise<Client>;
  readonly replicas: number;
  /** Number of threads; 0 if there are none. */
  readonly threads: number;
  /** Whether the client is over: disposed of, or failed with UNAVAILABLE. */
  readonly disposed: boolean;
  /** Bytes that live device buffers and the memory of runs take. */
  readonly memoryInUse: number;
  /** Bytes that are allocated in the core's memory in all: programs and bookkeeping too. */
  readonly heapInUse: number;
  /**
   * locations: each instruction gets the file and line of the call that made it, which errors of runs, profiles and
   * traces then name.
   * @example
   * const b = client.builder('step', { locations: true });
   */
  builder(name?: string, options?: { locations?: boolean }): XlaBuilder;
  /**
   * Reads a program in any of these forms: HLO text, HLO protos, StableHLO as text or bytecode, the
   * file of `jax.export`; each also compressed by gzip. A string without a line break is a URL, in
   * Node also a path.
   */
  load(source: ProgramSource | Promise<ProgramSource>, options?: LoadOptions): Promise<HloModule>;
  /** Reads HLO text, as XLA and JAX print it, or its UTF-8 bytes. An error has line and column. */
  parseHlo(text: string | Uint8Array, options?: { elided?: 'zeros' | 'random' }): HloModule;
  /** Reads StableHLO with CHLO: text, its UTF-8 bytes, or MLIR bytecode. Errors have a place. */
  parseStableHlo(source: string | Uint8Array, options?: LoadOptions): Promise<HloModule>;
  /** Reads a serialized HloModuleProto, HloProto or HloSnapshot. */
  parseHloProto(bytes: Uint8Array): Promise<HloModule>;
  /**
   * For replicas x partitions devices: by default as many as the module states, else 1 (the client's
   * replicas, where the module states no mesh).
   */
  compile(
    module: HloModule,
    options?: CompileOptions,
  ): Promise<Executable>;
  /** The names of what compile() can leave out, in order: rewrites, later stages, and kernels as kernel-NAME. */
  readonly optionalPasses: string[];
  /**
   * The module as HLO text after each pass that changed it, in order. The list always begins with
   * 'dynamic-dimensions', even if that changed nothing.
   */
  passes(
    module: HloModule,
    options?: Omit<CompileOptions, 'signal' | 'timeoutMs'>,
  ): { pass: string; text: string }[];
  /**
   * Differentiates a program whose result (or result `of`) is a real floating-point scalar. The new program has the
   * same parameters; its results are the gradients by the parameters `wrt`.
   * @throws XlaError UNIMPLEMENTED, with the operation, if one on the way has no derivative
   */
  gradient(module: HloModule, options?: GradientOptions): HloModule;
  /**
   * The vector-Jacobian product, for results of any shape. The new program has one more parameter for each
   * floating-point result, at the end: its cotangent. Its results are the cotangents of the parameters `wrt`.
   */
  vjp(module: HloModule, options?: VjpOptions): HloModule;
  /**
   * The Jacobian-vector product. The new program has one more parameter for each of `wrt`, at the end: its tangent. Its
   * results are those of the program, then the tangents of the floating-point ones.
   */
  jvp(module: HloModule, options?: JvpOptions): HloModule;
  /**
   * The same program for a batch, as `jax.vmap`: parameters and results have one dimension more. It needs the batch's
   * size. Values that do not depend on the batch are computed once.
   * @throws XlaError UNIMPLEMENTED, with the operation, if one that depends on the batch has no form for batches
   */
  vmap(module: HloModule, options: VmapOptions): HloModule;
  /**
   * The Jacobian, as `jax.jacrev` or `jax.jacfwd`. The new program has the same parameters; its results are, for each
   * floating-point result and for each of wrt, an array with the dimensions of the result, then of the parameter.
   */
  jacobian(module: HloModule, options?: JacobianOptions): HloModule;
  /**
   * The Hessian of a real scalar, as `jax.hessian`. The results are, for each pair of wrt, an array with the dimensions
   * of both.
   */
  hessian(module: HloModule, options?: HessianOptions & Pick<GradientOptions, 'of'>): HloModule;
  /**
   * Registers the callback of a custom-call target. It returns, or promises, the result: an array of
   * values for a tuple. An error of the callback fails the run.
   */
  registerCustomCall(target: string, callback: (call: CustomCall) => unknown): void;
  /**
   * Registers the derivative of a custom-call target, or of a computation that is called by name. gradient(), vjp(),
   * jvp() and the builder's gradient() use it.
   */
  registerGradient(target: string, rules: GradientRules): void;
  /** Queues a value for the next infeed of a device (default 0); tuples as arrays of leaves. */
  transferToInfeed(value: unknown, options?: DeviceOptions): void;
  /** Returns the value of a device's (default 0) next outfeed; tuples as arrays of leaves. */
  transferFromOutfeed(options?: DeviceOptions): Promise<Literal | Literal[]>;
  /** Iterates over the values of a device's outfeeds, without end: for `for await`. */
  outfeed(options?: DeviceOptions): AsyncIterableIterator<Literal | Literal[]>;
  /** Queues a source of values for a device's infeeds; each is read when an infeed asks for it. */
  infeed(source: Iterable<unknown> | AsyncIterable<unknown>, options?: DeviceOptions): void;
  /**
   * Runs several programs at once, as the devices of one mesh; they meet in collectives and channels
   * of the same channel_id. Resolves to the results of each entry.
   */
  launch(
    entries: readonly LaunchEntry[],
    options: Omit<ExecuteOptions, 'donate'> & { profile: true },
  ): Promise<Profiled<DeviceValue[][] | Literal[][]>>;
  launch(
    entries: readonly LaunchEntry[],
    options: Omit<ExecuteOptions, 'donate'> & { device: true; profile?: false },
  ): Promise<DeviceValue[][]>;
  launch(
    entries: readonly LaunchEntry[],
    options?: Omit<ExecuteOptions, 'donate'> & { device?: false; profile?: false },
  ): Promise<AtLeastOne<Literal>[]>;
  /** Puts an array on the device. */
  buffer<S extends string = string>(value: LiteralLike | Buffer, shape?: S | Shape): Buffer<S>;
  /**
   * Ends the threads and frees all memory. Pending runs reject with CANCELLED; later calls throw
   * FAILED_PRECONDITION.
   */
  dispose(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/* ---- Building ---- */

/**
 * A value within a computation that is being built. Operations are methods of their first operand
 * too: `x.add(y).mul(2)`.
 */
export class XlaOp {
  private constructor();
  readonly builder: XlaBuilder;
  readonly handle: number;
  readonly shape: Shape;
  /** The instruction's: 'add.3'. */
  readonly name: string;
  /** The elements of a tuple. */
  [Symbol.iterator](): IterableIterator<XlaOp>;
  /** 'f32[2] add.3' */
  toString(): string;

  /* begin: operations of an operand */
  /** The absolute value; of complex numbers, the modulus. */
  abs(): XlaOp;
  /** The arc cosine. */
  acos(): XlaOp;
  /** The inverse hyperbolic cosine. */
  acosh(): XlaOp;
  /** The arc sine. */
  asin(): XlaOp;
  /** The inverse hyperbolic sine. */
  asinh(): XlaOp;
  /** The inverse hyperbolic tangent. */
  atanh(): XlaOp;
  /** The cube root. */
  cbrt(): XlaOp;
  /** To the next integer up. */
  ceil(): XlaOp;
  /** Number of leading zero bits. */
  clz(): XlaOp;
  /** The cosine. */
  cos(): XlaOp;
  /** The hyperbolic cosine. */
  cosh(): XlaOp;
  /** The error function. */
  erf(): XlaOp;
  /** e to the power of the operand. */
  exp(): XlaOp;
  /** exp(x) - 1, exact near zero. */
  expm1(): XlaOp;
  /** To the next integer down. */
  floor(): XlaOp;
  /** The imaginary part. */
  imag(): XlaOp;
  /** Whether it is neither infinite nor NaN: pred. */
  isFinite(): XlaOp;
  /** The natural logarithm. */
  log(): XlaOp;
  /** log(1 + x), exact near zero. */
  log1p(): XlaOp;
  /** 1 / (1 + exp(-x)). */
  logistic(): XlaOp;
  /** The negative. */
  neg(): XlaOp;
  /** Of integers, each bit the other way; of predicates, the negation. */
  not(): XlaOp;
  /** Number of bits that are set. */
  populationCount(): XlaOp;
  /** The real part. */
  real(): XlaOp;
  /** To the nearest integer, ties away from zero. */
  round(): XlaOp;
  /** To the nearest integer, ties to even ones. */
  roundNearestEven(): XlaOp;
  /** 1 / sqrt(x). */
  rsqrt(): XlaOp;
  /** -1, 0 or 1; of complex numbers, x / |x|; -0 and NaN stay. */
  sign(): XlaOp;
  /** The sine. */
  sin(): XlaOp;
  /** The hyperbolic sine. */
  sinh(): XlaOp;
  /** The square root. */
  sqrt(): XlaOp;
  /** The tangent. */
  tan(): XlaOp;
  /** The hyperbolic tangent. */
  tanh(): XlaOp;
  /** The complex conjugate. */
  conj(): XlaOp;
  /** The sum; of predicates, or. */
  add(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** The difference. */
  sub(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** The product; of predicates, and. */
  mul(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** The upper half of the product of integers. */
  mulhi(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** The quotient; of integers, towards zero. x / 0 is -1 (all bits), the lowest / -1 itself. */
  div(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** What is left of the division, with the sign of lhs. */
  rem(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * The larger; NaN if one of them is. Of one operand: its largest element, along one axis or
   * several.
   */
  max(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  max(axis?: number | Integers, keepDims?: boolean): XlaOp;
  max(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The smaller; NaN if one of them is. Of one operand: its smallest element, along one axis or
   * several.
   */
  min(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  min(axis?: number | Integers, keepDims?: boolean): XlaOp;
  min(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /** lhs to the power of rhs. */
  pow(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Bit by bit, or of predicates. */
  and(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Bit by bit, or of predicates. */
  or(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Bit by bit, or of predicates. */
  xor(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** lhs shifted by rhs bits; 0 where that is all of them. */
  shiftLeft(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with the sign. */
  shiftRightArithmetic(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with zeros. */
  shiftRightLogical(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The angle of the point (rhs, lhs). */
  atan2(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** The complex number lhs + i * rhs. */
  complex(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs equals rhs, element by element: pred. */
  eq(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs does not equal rhs, element by element: pred. */
  ne(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs is at least rhs, element by element: pred. */
  ge(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs is more than rhs, element by element: pred. */
  gt(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs is at most rhs, element by element: pred. */
  le(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs is less than rhs, element by element: pred. */
  lt(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * Whether lhs equals rhs, element by element: pred. In total order: -NaN < -Inf < -Finite < -0 <
   * +0 < +Finite < +Inf < +NaN.
   */
  eqTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs does not equal rhs, element by element: pred. In total order: -NaN < -Inf < -Finite
   * < -0 < +0 < +Finite < +Inf < +NaN.
   */
  neTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at least rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  geTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is more than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  gtTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at most rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  leTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is less than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  ltTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** A comparison whose direction is an argument: pred. */
  compare(rhs: Operand, direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT'): XlaOp;
  compare(
    rhs: Operand,
    broadcastDimensions: Integers,
    direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT',
    compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' | { compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' },
  ): XlaOp;
  /** min(max(min, operand), max); the limits may be scalars. */
  clamp(operand: XlaOp, max: Operand): XlaOp;
  /** Of each element, onTrue where pred is true, and onFalse elsewhere. */
  select(onTrue: Operand, onFalse: Operand): XlaOp;
  /** Rounded as a float of fewer bits would be, in the same type. */
  reducePrecision(exponentBits: number, mantissaBits: number): XlaOp;
  /** Applies a computation of scalars to the elements. A function may use scalars from outside. */
  map(computation: XlaComputation | Body, dimensions?: Integers | { dimensions?: Integers }): XlaOp;
  /** The values in another type: floats become integers towards zero. */
  convertElementType(newElementType: ElementType): XlaOp;
  /** The bits in another type. Narrower: the result has one more dimension; wider: one less. */
  bitcastConvertType(newElementType: ElementType): XlaOp;
  /** To a narrower float or an integer, up or down as the random bits say. */
  stochasticConvertType(random: XlaOp, newElementType: ElementType): XlaOp;
  /** Repeats the operand; the new dimensions come first. */
  broadcast(broadcastSizes: Integers): XlaOp;
  /** Repeats the operand: its dimension i is dimension broadcastDimensions[i] of the result. */
  broadcastInDim(outDimSize: Integers, broadcastDimensions: Integers): XlaOp;
  /** Makes consecutive dimensions one. */
  collapse(dimensions: Integers): XlaOp;
  /** The same array. */
  copy(): XlaOp;
  /** A reshape whose sizes are operands, with bounds. */
  dynamicReshape(
    dimSizes: readonly XlaOp[],
    newSizeBounds: Integers,
    dimsAreDynamic: readonly boolean[],
  ): XlaOp;
  /** A slice that starts where operands say: scalars, or one vector of them. It is moved inside. */
  dynamicSlice(startIndices: XlaOp | readonly Operand[], sizeIndices: Integers): XlaOp;
  /** The operand with `update` in the place where operands say. */
  dynamicUpdateSlice(update: XlaOp, startIndices: XlaOp | readonly Operand[]): XlaOp;
  /** Slices from where the indices say, put together. */
  gather(
    startIndices: XlaOp,
    dimensionNumbers: GatherDimensionNumbers,
    sliceSizes: Integers,
    indicesAreSorted?: boolean | { indicesAreSorted?: boolean },
  ): XlaOp;
  /** The size of a dimension: s32. */
  getDimensionSize(dimension: number): XlaOp;
  /** Static again, of its bound; elements past the size have unspecified values. */
  removeDynamicDimension(dimension: number): XlaOp;
  /** Makes a dimension dynamic, of the size that an operand says. */
  setDimensionSize(size: Operand, dimension: number): XlaOp;
  /** Padding around and between the elements; negative: elements are cut off. */
  pad(paddingValue: Operand, paddingConfig: PaddingConfig): XlaOp;
  /** Padding before and after, in one dimension. */
  padInDim(paddingValue: Operand, dimno: number, padLo: number, padHi: number): XlaOp;
  /**
   * The same elements with other dimensions. `dimensions`: the order in which they are collapsed
   * first, the slowest varying first.
   */
  reshape(newSizes: Integers): XlaOp;
  reshape(dimensions: Integers, newSizes: Integers): XlaOp;
  /** The elements in reverse order along dimensions. */
  rev(dimensions: Integers): XlaOp;
  /** The operand with updates combined in where the indices say. Several operands: a tuple. */
  scatter(
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    indicesAreSorted?: boolean,
    uniqueIndices?: boolean,
  ): XlaOp;
  scatter(
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    options: { indicesAreSorted?: boolean; uniqueIndices?: boolean },
  ): XlaOp;
  /** From start to limit, which is not in it, in steps. */
  slice(
    startIndices: Integers,
    limitIndices: Integers,
    strides?: Integers | { strides?: Integers },
  ): XlaOp;
  /** A slice of one dimension. */
  sliceInDim(startIndex: number, limitIndex: number, stride: number, dimno: number): XlaOp;
  /** Dimension i of the result is dimension permutation[i] of the operand. */
  transpose(permutation: Integers): XlaOp;
  /** The product of vectors and matrices. */
  dot(
    rhs: XlaOp,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dot(
    rhs: XlaOp,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** The product over contracting dimensions, batch by batch. */
  dotGeneral(
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dotGeneral(
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** A dot in which each group of rows of one operand meets a part of its own of the other. */
  raggedDot(
    rhs: XlaOp,
    groupSizes: XlaOp,
    dimensionNumbers: RaggedDotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision] | { precision?: Precision | readonly [Precision, Precision] },
  ): XlaOp;
  /**
   * A dot of scaled operands: a scale has its operand's rank, and each of its elements is for a
   * block of the operand's. Exactly one dimension is contracted.
   */
  scaledDot(
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  scaledDot(
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /**
   * Combines the elements along dimensions, in no particular order. Several operands: the result is
   * a tuple.
   */
  reduce(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    dimensions: Integers,
  ): XlaOp;
  /** Combines all elements. */
  reduceAll(initValue: Operand, computation: Combiner): XlaOp;
  /**
   * Sorts along a dimension; -1 is the last. Several operands: the result is a tuple. The
   * comparator gets two elements of each.
   */
  sort(comparator: Combiner, dimension?: number, isStable?: boolean): XlaOp;
  sort(comparator: Combiner, options: { dimension?: number; isStable?: boolean }): XlaOp;
  /** A tuple: the values and, as s32, their indices in the last dimension. */
  topK(k: number, largest?: boolean | { largest?: boolean }): XlaOp;
  /** A convolution: batch, feature, spatial dimensions; the kernel: output, input, spatial. */
  conv(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  conv(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers. */
  convWithGeneralPadding(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    lhsDilation?: Integers,
    rhsDilation?: Integers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralPadding(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    options: { lhsDilation?: Integers; rhsDilation?: Integers; featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution whose dimensions are in another order. */
  convWithGeneralDimensions(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralDimensions(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers and dimensions in any order. */
  convGeneral(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneral(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with holes between elements of the operand or the kernel. */
  convGeneralDilated(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneralDilated(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /**
   * Combines the elements in each position of a window. Several operands: the result is a tuple.
   */
  reduceWindow(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    baseDilations?: Integers,
    windowDilations?: Integers,
  ): XlaOp;
  reduceWindow(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    options: { baseDilations?: Integers; windowDilations?: Integers },
  ): XlaOp;
  /**
   * reduceWindow with padding in numbers and dilations. Several operands: the result is a tuple.
   */
  reduceWindowWithGeneralPadding(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    baseDilations: Integers,
    windowDilations: Integers,
    padding: Pairs,
  ): XlaOp;
  /** Combines each element of source into the one that `select` chooses in its window. */
  selectAndScatter(
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** selectAndScatter with padding in numbers. */
  selectAndScatterWithGeneralPadding(
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Pairs,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** A tuple: output, batch mean and batch variance. */
  batchNormTraining(scale: XlaOp, offset: XlaOp, epsilon: number, featureIndex: number): XlaOp;
  /** Normalises by a given mean and variance. */
  batchNormInference(
    scale: XlaOp,
    offset: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** A tuple: the gradients of operand, scale and offset. */
  batchNormGrad(
    scale: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    gradOutput: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** The triangular factor of a positive definite matrix. */
  cholesky(lower?: boolean | { lower?: boolean }): XlaOp;
  /** Fourier transforms of the last dimensions, as many as fftLength has. */
  fft(fftType: 'FFT' | 'IFFT' | 'RFFT' | 'IRFFT', fftLength: Integers): XlaOp;
  /** Normally distributed; see execute's seed. */
  rngNormal(sigma: Operand, shape: ShapeLike): XlaOp;
  /** Uniformly distributed in [a, b); see execute's seed. */
  rngUniform(b: Operand, shape: ShapeLike): XlaOp;
  /** x of a x = b (or x a = b), for a triangular a. */
  triangularSolve(
    b: XlaOp,
    leftSide: boolean,
    lower: boolean,
    unitDiagonal: boolean,
    transposeA: 'NO_TRANSPOSE' | 'TRANSPOSE' | 'ADJOINT',
  ): XlaOp;
  /**
   * Calls one of several computations; an index out of range takes the last. Functions may use
   * values from outside, and then need no operands.
   */
  conditional(
    trueOperand: XlaOp,
    trueComputation: XlaComputation | Body,
    falseOperand: XlaOp,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    trueComputation: XlaComputation | Body,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    branchComputations: readonly (XlaComputation | Body)[],
    branchOperands?: readonly XlaOp[] | { branchOperands?: readonly XlaOp[] },
  ): XlaOp;
  /** An element of a tuple; or iterate it: `const [a, b] = op`. */
  getTupleElement(index: number): XlaOp;
  /** The same value, across which no pass moves anything. */
  optimizationBarrier(): XlaOp;
  /**
   * Calls the computation once per element of the inputs along a dimension, with the elements and
   * the carries; it returns the elements of the outputs and the next carries. So the result is: the
   * outputs, then the last carries.
   */
  scan(
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    scanDimensionSize?: number,
    isReverse?: boolean,
    isAssociative?: boolean,
  ): XlaOp;
  scan(
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    options: { scanDimensionSize?: number; isReverse?: boolean; isAssociative?: boolean },
  ): XlaOp;
  /** All replicas' operands, one after the other along a dimension. */
  allGather(
    allGatherDim: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allGather(
    allGatherDim: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** All replicas' operands combined, the same on all of them. */
  allReduce(
    computation: Combiner,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allReduce(
    computation: Combiner,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** Replica i gets part i of each operand, in the order of the replicas. */
  allToAll(
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  allToAll(
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** The operand of the first replica of the group. */
  collectiveBroadcast(replicaGroups?: readonly Integers[], channelId?: number): XlaOp;
  collectiveBroadcast(options: { replicaGroups?: readonly Integers[]; channelId?: number }): XlaOp;
  /** Each source sends to its target; replicas that are no target get zeros. */
  collectivePermute(sourceTargetPairs: Pairs, channelId?: number | { channelId?: number }): XlaOp;
  /** allReduce with addition; of predicates, or. */
  crossReplicaSum(
    replicaGroups?: readonly Integers[] | { replicaGroups?: readonly Integers[] },
  ): XlaOp;
  /** allToAll of parts whose sizes are operands. */
  raggedAllToAll(
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  raggedAllToAll(
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** A part of all replicas' operands combined, another one for each replica. */
  reduceScatter(
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  reduceScatter(
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** A tuple: the data and a token. */
  infeedWithToken(shape: ShapeLike, config?: string | { config?: string }): XlaOp;
  /** A token; client.transferFromOutfeed() gets the operand. */
  outfeed(shapeWithLayout?: ShapeLike, outfeedConfig?: string): XlaOp;
  outfeed(options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string }): XlaOp;
  /** A token. */
  outfeedWithToken(token: XlaOp, shapeWithLayout?: ShapeLike, outfeedConfig?: string): XlaOp;
  outfeedWithToken(
    token: XlaOp,
    options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string },
  ): XlaOp;
  /** A token; the recv of the same channel gets the operand. */
  send(channelHandle: number): XlaOp;
  /** A token. */
  sendWithToken(token: XlaOp, channelHandle: number): XlaOp;
  /** A token; the host gets the operand. */
  sendToHost(token: XlaOp, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvWithToken(shape: ShapeLike, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvFromHost(shape: ShapeLike, channelHandle: number): XlaOp;
  /** The sum along one axis or several; without axis, of all elements. Predicates count as s32. */
  sum(axis?: number | Integers, keepDims?: boolean): XlaOp;
  sum(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /** The mean along one axis or several; without axis, of all elements. Of integers, f32. */
  mean(axis?: number | Integers, keepDims?: boolean): XlaOp;
  mean(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /** The mean of |x - mean|^2 along one axis or several; without axis, of all elements. */
  variance(axis?: number | Integers, keepDims?: boolean): XlaOp;
  variance(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * log(sum(exp(x))) along one axis or several, without overflow; without axis, of all elements.
   */
  logsumexp(axis?: number | Integers, keepDims?: boolean): XlaOp;
  logsumexp(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first largest element along an axis, or in the flattened array; NaN
   * counts as the largest.
   */
  argmax(axis?: number, keepDims?: boolean): XlaOp;
  argmax(options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first smallest element along an axis, or in the flattened array; NaN
   * counts as the smallest.
   */
  argmin(axis?: number, keepDims?: boolean): XlaOp;
  argmin(options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * Sums of all elements up to each one along an axis, or in the flattened array; in reverse, from
   * each one on.
   */
  cumsum(axis?: number, reverse?: boolean): XlaOp;
  cumsum(options: { axis?: number; reverse?: boolean }): XlaOp;
  /** max(x, 0) */
  relu(): XlaOp;
  /**
   * x times the normal distribution function of x, approximated by a tanh unless approximate is
   * false.
   */
  gelu(approximate?: boolean | { approximate?: boolean }): XlaOp;
  /** x logistic(x) */
  silu(): XlaOp;
  /** log(1 + exp(x)), without overflow. */
  softplus(): XlaOp;
  /** exp(x) / sum(exp(x)) along one axis or several: by default the last. */
  softmax(axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /** log(softmax(x)) along one axis or several: by default the last. */
  logSoftmax(axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /**
   * A new dimension of `classes` elements, by default the last: 1 at the index and 0 elsewhere; all
   * 0 for an index outside.
   */
  oneHot(classes: number, axis?: number, dtype?: ElementType): XlaOp;
  oneHot(classes: number, options: { axis?: number; dtype?: ElementType }): XlaOp;
  /**
   * (x - mean) rsqrt(variance + epsilon) along one axis or several, by default the last; times
   * scale, plus bias, which have the axes' dimensions.
   */
  layerNorm(axis?: number | Integers, scale?: XlaOp, bias?: XlaOp, epsilon?: number): XlaOp;
  layerNorm(
    options: { axis?: number | Integers; scale?: XlaOp; bias?: XlaOp; epsilon?: number },
  ): XlaOp;
  /**
   * A loss for each row of logits. Labels are integers, or floats that give each class its weight.
   */
  crossEntropy(labels: XlaOp, axis?: number | { axis?: number }): XlaOp;
  /** onTrue or onFalse, element by element; shapes are broadcast as NumPy's are. */
  where(onTrue: Operand, onFalse: Operand): XlaOp;
  /**
   * Elements of an axis, or of the flattened array, at these indices. Beyond the ends: NaN (or the
   * lowest integer), the nearest, or counted modulo the size. Except for "clip", negative indices
   * count from the end.
   */
  take(indices: XlaOp, axis?: number, mode?: 'fill' | 'clip' | 'wrap'): XlaOp;
  take(indices: XlaOp, options: { axis?: number; mode?: 'fill' | 'clip' | 'wrap' }): XlaOp;
  /** A tuple of equal parts of an axis, or of the parts between these indices. */
  split(parts: number | Integers, axis?: number | { axis?: number }): XlaOp;
  /** `count` values at equal distances from start to stop; without endpoint, stop is left out. */
  linspace(stop: Operand, count: number, endpoint?: boolean | { endpoint?: boolean }): XlaOp;
  /**
   * NumPy's product: the last two dimensions are matrices, those before them batches, which are
   * broadcast; a vector is a row on the left and a column on the right.
   */
  matmul(rhs: XlaOp): XlaOp;
  /** Keys that are independent of each other, u32[count,2]: jax.random.split(). */
  splitKey(count?: number | { count?: number }): XlaOp;
  /** Another key, made of a key and an integer: jax.random.fold_in(). */
  foldIn(data: XlaOp | number): XlaOp;
  /**
   * Random numbers from low (included) to high (excluded), with the bits of jax.random.uniform().
   */
  uniform(shape: ShapeLike, low?: number, high?: number): XlaOp;
  uniform(shape: ShapeLike, options: { low?: number; high?: number }): XlaOp;
  /** Random numbers of the standard normal distribution, from the bits of jax.random.normal(). */
  normal(shape: ShapeLike): XlaOp;
  /** Keeps each element with probability 1 - rate, divided by that; the others become 0. */
  dropout(key: XlaOp, rate: number): XlaOp;
  /* end: operations of an operand */
}

/** What operations call: a computation that was built, or a module's entry computation. */
export type XlaComputation = HloModule;

type Integers = readonly number[] | readonly bigint[] | Int32Array | Uint32Array | BigInt64Array;
type Operands = XlaOp | readonly XlaOp[];
/** An operand, or a number: a constant of the other operand's type, which is broadcast. */
export type Operand = XlaOp | number | bigint | boolean;
type Pairs = readonly (readonly [number, number])[];
type Padding = 'SAME' | 'VALID' | 'same' | 'valid' | Pairs;

export interface PaddingConfigDimension {
  edgePaddingLow?: number;
  edgePaddingHigh?: number;
  interiorPadding?: number;
}
/** One entry per dimension; or in short [low, high] or [low, high, interior]. */
export type PaddingConfig =
  | { dimensions: readonly (PaddingConfigDimension | readonly number[])[] }
  | readonly (PaddingConfigDimension | readonly number[])[];

/* begin: dimension numbers */
export interface GatherDimensionNumbers {
  offsetDims: Integers;
  collapsedSliceDims?: Integers;
  startIndexMap: Integers;
  indexVectorDim: number;
  operandBatchingDims?: Integers;
  startIndicesBatchingDims?: Integers;
}
export interface ScatterDimensionNumbers {
  updateWindowDims: Integers;
  insertedWindowDims?: Integers;
  scatterDimsToOperandDims: Integers;
  indexVectorDim: number;
  inputBatchingDims?: Integers;
  scatterIndicesBatchingDims?: Integers;
}
export interface DotDimensionNumbers {
  lhsContractingDimensions?: Integers;
  rhsContractingDimensions?: Integers;
  lhsBatchDimensions?: Integers;
  rhsBatchDimensions?: Integers;
}
export interface RaggedDotDimensionNumbers {
  dotDimensionNumbers: DotDimensionNumbers;
  /** The dimension of the left operand that the groups divide. */
  lhsRaggedDimensions: Integers;
  /** The dimension of the right operand that is the number of the group. */
  rhsGroupDimensions?: Integers;
}
export interface ConvolutionDimensionNumbers {
  /** Or in short, as HLO text has them all: 'b01f_01io->b01f'. */
  inputBatchDimension: number;
  inputFeatureDimension: number;
  inputSpatialDimensions: Integers;
  kernelInputFeatureDimension: number;
  kernelOutputFeatureDimension: number;
  kernelSpatialDimensions: Integers;
  outputBatchDimension: number;
  outputFeatureDimension: number;
  outputSpatialDimensions: Integers;
}
/* end: dimension numbers */

export type Precision = 'default' | 'high' | 'highest' | 'DEFAULT' | 'HIGH' | 'HIGHEST';

/** What combines two scalars, or orders them, by the name of an operation. */
export type CombinerName = 
  'add' | 'sub' | 'mul' | 'div' | 'rem' | 'max' | 'min' | 'pow' | 'and' | 'or' | 'xor' | 'atan2'
  | 'eq' | 'ne' | 'ge' | 'gt' | 'le' | 'lt'
  | 'eqTotalOrder' | 'neTotalOrder' | 'geTotalOrder' | 'gtTotalOrder' | 'leTotalOrder'
  | 'ltTotalOrder';

/**
 * A function that builds a computation: gets a builder and the computation's parameters, and returns
 * its result, or an array of results.
 */
export type Body = (
  b: XlaBuilder,
  ...parameters: XlaOp[]
) => XlaOp | number | bigint | boolean | readonly (XlaOp | number | bigint | boolean)[];

/** A computation of scalars: built, by the name of an operation ('add'), or a function. */
export type Combiner = XlaComputation | CombinerName | Body;

/**
 * Builds a computation. Operations are XlaBuilder's, with their documented arguments in the
 * documented order; optional arguments may also be given by name, in one object at the end. A
 * mistake is thrown by the call that makes it, and leaves the builder as it was.
 */
export class XlaBuilder extends Handle {
  private constructor();
  readonly name: string;
  /**
   * Names a computation: the function that is returned adds a call of it. `fn` is traced once for each list of operands'
   * shapes. It may use values of this builder; several results are a tuple's elements.
   */
  function(
    fn: (b: XlaBuilder, ...operands: XlaOp[]) => XlaOp | readonly XlaOp[],
    name?: string,
  ): (...operands: XlaOp[]) => XlaOp;
  /** The gradient of a real scalar by other values of this builder, from which it was computed; each of its value's shape. */
  gradient(loss: XlaOp, wrt: XlaOp, options?: Pick<VjpOptions, 'maxTrips' | 'checkpoint'>): XlaOp;
  gradient(loss: XlaOp, wrt: readonly XlaOp[], options?: Pick<VjpOptions, 'maxTrips' | 'checkpoint'>): XlaOp[];
  /**
   * A function for batches, as `jax.vmap`. It calls `fn` with values of one element's shape; `fn` may use values of this
   * builder, which are the same for all elements. `size` is needed only if no argument has the batch.
   */
  vmap<Result extends XlaOp | XlaOp[]>(
    fn: (b: XlaBuilder, ...args: XlaOp[]) => Result, options?: VmapOptions): (...args: XlaOp[]) => Result;
  /**
   * The function that computes a Jacobian, as `jax.jacrev` or `jax.jacfwd`: an array with the dimensions of the result,
   * then of argument `wrt` (by default 0); a list if wrt is one; a list of these if `fn` returns one.
   */
  jacobian(
    fn: (b: XlaBuilder, ...args: XlaOp[]) => XlaOp | XlaOp[], options?: JacobianOptions): (...args: XlaOp[]) => any;
  /** The function that computes a Hessian, as `jax.hessian`; `fn` returns a real scalar. */
  hessian(fn: (b: XlaBuilder, ...args: XlaOp[]) => XlaOp, options?: HessianOptions): (...args: XlaOp[]) => any;
  /** Ends building; the result is `root`, by default what was added last. */
  build(root?: XlaOp): HloModule;
  /** A builder for a computation that this one is going to call. */
  createSubBuilder(name: string): XlaBuilder;

  /** Numbers are 0, 1, ... without gaps. */
  parameter(number: number, shape: ShapeLike, name?: string): XlaOp;
  /** Of what Literal.from() takes. */
  constant(value: LiteralLike, shape?: ShapeLike): XlaOp;
  constantLiteral(literal: Literal): XlaOp;
  constantR0(value: LiteralLike, elementType?: ElementType): XlaOp;
  constantR1(values: LiteralLike, elementType?: ElementType): XlaOp;
  /** A vector of `length` times the value. */
  constantR1(length: number, value: LiteralLike, elementType?: ElementType): XlaOp;
  constantR2(values: LiteralLike, elementType?: ElementType): XlaOp;
  constantR3(values: LiteralLike, elementType?: ElementType): XlaOp;
  constantR4(values: LiteralLike, elementType?: ElementType): XlaOp;

  /* begin: operations of a builder */
  /** The absolute value; of complex numbers, the modulus. */
  abs(operand: XlaOp): XlaOp;
  /** The arc cosine. */
  acos(operand: XlaOp): XlaOp;
  /** The inverse hyperbolic cosine. */
  acosh(operand: XlaOp): XlaOp;
  /** The arc sine. */
  asin(operand: XlaOp): XlaOp;
  /** The inverse hyperbolic sine. */
  asinh(operand: XlaOp): XlaOp;
  /** The inverse hyperbolic tangent. */
  atanh(operand: XlaOp): XlaOp;
  /** The cube root. */
  cbrt(operand: XlaOp): XlaOp;
  /** To the next integer up. */
  ceil(operand: XlaOp): XlaOp;
  /** Number of leading zero bits. */
  clz(operand: XlaOp): XlaOp;
  /** The cosine. */
  cos(operand: XlaOp): XlaOp;
  /** The hyperbolic cosine. */
  cosh(operand: XlaOp): XlaOp;
  /** The error function. */
  erf(operand: XlaOp): XlaOp;
  /** e to the power of the operand. */
  exp(operand: XlaOp): XlaOp;
  /** exp(x) - 1, exact near zero. */
  expm1(operand: XlaOp): XlaOp;
  /** To the next integer down. */
  floor(operand: XlaOp): XlaOp;
  /** The imaginary part. */
  imag(operand: XlaOp): XlaOp;
  /** Whether it is neither infinite nor NaN: pred. */
  isFinite(operand: XlaOp): XlaOp;
  /** The natural logarithm. */
  log(operand: XlaOp): XlaOp;
  /** log(1 + x), exact near zero. */
  log1p(operand: XlaOp): XlaOp;
  /** 1 / (1 + exp(-x)). */
  logistic(operand: XlaOp): XlaOp;
  /** The negative. */
  neg(operand: XlaOp): XlaOp;
  /** Of integers, each bit the other way; of predicates, the negation. */
  not(operand: XlaOp): XlaOp;
  /** Number of bits that are set. */
  populationCount(operand: XlaOp): XlaOp;
  /** The real part. */
  real(operand: XlaOp): XlaOp;
  /** To the nearest integer, ties away from zero. */
  round(operand: XlaOp): XlaOp;
  /** To the nearest integer, ties to even ones. */
  roundNearestEven(operand: XlaOp): XlaOp;
  /** 1 / sqrt(x). */
  rsqrt(operand: XlaOp): XlaOp;
  /** -1, 0 or 1; of complex numbers, x / |x|; -0 and NaN stay. */
  sign(operand: XlaOp): XlaOp;
  /** The sine. */
  sin(operand: XlaOp): XlaOp;
  /** The hyperbolic sine. */
  sinh(operand: XlaOp): XlaOp;
  /** The square root. */
  sqrt(operand: XlaOp): XlaOp;
  /** The tangent. */
  tan(operand: XlaOp): XlaOp;
  /** The hyperbolic tangent. */
  tanh(operand: XlaOp): XlaOp;
  /** The complex conjugate. */
  conj(operand: XlaOp): XlaOp;
  /** The sum; of predicates, or. */
  add(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The difference. */
  sub(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The product; of predicates, and. */
  mul(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The upper half of the product of integers. */
  mulhi(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The quotient; of integers, towards zero. x / 0 is -1 (all bits), the lowest / -1 itself. */
  div(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** What is left of the division, with the sign of lhs. */
  rem(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * The larger; NaN if one of them is. Of one operand: its largest element, along one axis or
   * several.
   */
  max(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  max(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  max(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The smaller; NaN if one of them is. Of one operand: its smallest element, along one axis or
   * several.
   */
  min(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  min(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  min(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /** lhs to the power of rhs. */
  pow(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Bit by bit, or of predicates. */
  and(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Bit by bit, or of predicates. */
  or(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Bit by bit, or of predicates. */
  xor(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits; 0 where that is all of them. */
  shiftLeft(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with the sign. */
  shiftRightArithmetic(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with zeros. */
  shiftRightLogical(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The angle of the point (rhs, lhs). */
  atan2(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The complex number lhs + i * rhs. */
  complex(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs equals rhs, element by element: pred. */
  eq(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs does not equal rhs, element by element: pred. */
  ne(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs is at least rhs, element by element: pred. */
  ge(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs is more than rhs, element by element: pred. */
  gt(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs is at most rhs, element by element: pred. */
  le(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs is less than rhs, element by element: pred. */
  lt(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs equals rhs, element by element: pred. In total order: -NaN < -Inf < -Finite < -0 <
   * +0 < +Finite < +Inf < +NaN.
   */
  eqTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs does not equal rhs, element by element: pred. In total order: -NaN < -Inf < -Finite
   * < -0 < +0 < +Finite < +Inf < +NaN.
   */
  neTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at least rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  geTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is more than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  gtTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at most rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  leTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is less than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  ltTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** A comparison whose direction is an argument: pred. */
  compare(lhs: Operand, rhs: Operand, direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT'): XlaOp;
  compare(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions: Integers,
    direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT',
    compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' | { compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' },
  ): XlaOp;
  /** min(max(min, operand), max); the limits may be scalars. */
  clamp(min: Operand, operand: XlaOp, max: Operand): XlaOp;
  /** Of each element, onTrue where pred is true, and onFalse elsewhere. */
  select(pred: XlaOp, onTrue: Operand, onFalse: Operand): XlaOp;
  /** Rounded as a float of fewer bits would be, in the same type. */
  reducePrecision(operand: XlaOp, exponentBits: number, mantissaBits: number): XlaOp;
  /** Applies a computation of scalars to the elements. A function may use scalars from outside. */
  map(
    operands: Operands,
    computation: XlaComputation | Body,
    dimensions?: Integers | { dimensions?: Integers },
  ): XlaOp;
  /** The values in another type: floats become integers towards zero. */
  convertElementType(operand: XlaOp, newElementType: ElementType): XlaOp;
  /** The bits in another type. Narrower: the result has one more dimension; wider: one less. */
  bitcastConvertType(operand: XlaOp, newElementType: ElementType): XlaOp;
  /** To a narrower float or an integer, up or down as the random bits say. */
  stochasticConvertType(operand: XlaOp, random: XlaOp, newElementType: ElementType): XlaOp;
  /** Repeats the operand; the new dimensions come first. */
  broadcast(operand: XlaOp, broadcastSizes: Integers): XlaOp;
  /** Repeats the operand: its dimension i is dimension broadcastDimensions[i] of the result. */
  broadcastInDim(operand: XlaOp, outDimSize: Integers, broadcastDimensions: Integers): XlaOp;
  /** Makes consecutive dimensions one. */
  collapse(operand: XlaOp, dimensions: Integers): XlaOp;
  /** Puts the operands one after the other along a dimension. */
  concatInDim(operands: readonly XlaOp[], dimension: number): XlaOp;
  /** The same array. */
  copy(operand: XlaOp): XlaOp;
  /** A reshape whose sizes are operands, with bounds. */
  dynamicReshape(
    operand: XlaOp,
    dimSizes: readonly XlaOp[],
    newSizeBounds: Integers,
    dimsAreDynamic: readonly boolean[],
  ): XlaOp;
  /** A slice that starts where operands say: scalars, or one vector of them. It is moved inside. */
  dynamicSlice(
    operand: XlaOp,
    startIndices: XlaOp | readonly Operand[],
    sizeIndices: Integers,
  ): XlaOp;
  /** The operand with `update` in the place where operands say. */
  dynamicUpdateSlice(
    operand: XlaOp,
    update: XlaOp,
    startIndices: XlaOp | readonly Operand[],
  ): XlaOp;
  /** Slices from where the indices say, put together. */
  gather(
    operand: XlaOp,
    startIndices: XlaOp,
    dimensionNumbers: GatherDimensionNumbers,
    sliceSizes: Integers,
    indicesAreSorted?: boolean | { indicesAreSorted?: boolean },
  ): XlaOp;
  /** The size of a dimension: s32. */
  getDimensionSize(operand: XlaOp, dimension: number): XlaOp;
  /** Static again, of its bound; elements past the size have unspecified values. */
  removeDynamicDimension(operand: XlaOp, dimension: number): XlaOp;
  /** Makes a dimension dynamic, of the size that an operand says. */
  setDimensionSize(operand: XlaOp, size: Operand, dimension: number): XlaOp;
  /** Padding around and between the elements; negative: elements are cut off. */
  pad(operand: XlaOp, paddingValue: Operand, paddingConfig: PaddingConfig): XlaOp;
  /** Padding before and after, in one dimension. */
  padInDim(
    operand: XlaOp,
    paddingValue: Operand,
    dimno: number,
    padLo: number,
    padHi: number,
  ): XlaOp;
  /**
   * The same elements with other dimensions. `dimensions`: the order in which they are collapsed
   * first, the slowest varying first.
   */
  reshape(operand: XlaOp, newSizes: Integers): XlaOp;
  reshape(operand: XlaOp, dimensions: Integers, newSizes: Integers): XlaOp;
  /** The elements in reverse order along dimensions. */
  rev(operand: XlaOp, dimensions: Integers): XlaOp;
  /** The operand with updates combined in where the indices say. Several operands: a tuple. */
  scatter(
    operands: Operands,
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    indicesAreSorted?: boolean,
    uniqueIndices?: boolean,
  ): XlaOp;
  scatter(
    operands: Operands,
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    options: { indicesAreSorted?: boolean; uniqueIndices?: boolean },
  ): XlaOp;
  /** From start to limit, which is not in it, in steps. */
  slice(
    operand: XlaOp,
    startIndices: Integers,
    limitIndices: Integers,
    strides?: Integers | { strides?: Integers },
  ): XlaOp;
  /** A slice of one dimension. */
  sliceInDim(
    operand: XlaOp,
    startIndex: number,
    limitIndex: number,
    stride: number,
    dimno: number,
  ): XlaOp;
  /** Dimension i of the result is dimension permutation[i] of the operand. */
  transpose(operand: XlaOp, permutation: Integers): XlaOp;
  /** The product of vectors and matrices. */
  dot(
    lhs: XlaOp,
    rhs: XlaOp,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dot(
    lhs: XlaOp,
    rhs: XlaOp,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** The product over contracting dimensions, batch by batch. */
  dotGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dotGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** A dot in which each group of rows of one operand meets a part of its own of the other. */
  raggedDot(
    lhs: XlaOp,
    rhs: XlaOp,
    groupSizes: XlaOp,
    dimensionNumbers: RaggedDotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision] | { precision?: Precision | readonly [Precision, Precision] },
  ): XlaOp;
  /**
   * A dot of scaled operands: a scale has its operand's rank, and each of its elements is for a
   * block of the operand's. Exactly one dimension is contracted.
   */
  scaledDot(
    lhs: XlaOp,
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  scaledDot(
    lhs: XlaOp,
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /**
   * Combines the elements along dimensions, in no particular order. Several operands: the result is
   * a tuple.
   */
  reduce(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    dimensions: Integers,
  ): XlaOp;
  /** Combines all elements. */
  reduceAll(operand: XlaOp, initValue: Operand, computation: Combiner): XlaOp;
  /**
   * Sorts along a dimension; -1 is the last. Several operands: the result is a tuple. The
   * comparator gets two elements of each.
   */
  sort(operands: Operands, comparator: Combiner, dimension?: number, isStable?: boolean): XlaOp;
  sort(
    operands: Operands,
    comparator: Combiner,
    options: { dimension?: number; isStable?: boolean },
  ): XlaOp;
  /** A tuple: the values and, as s32, their indices in the last dimension. */
  topK(operand: XlaOp, k: number, largest?: boolean | { largest?: boolean }): XlaOp;
  /** A convolution: batch, feature, spatial dimensions; the kernel: output, input, spatial. */
  conv(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  conv(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers. */
  convWithGeneralPadding(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    lhsDilation?: Integers,
    rhsDilation?: Integers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralPadding(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    options: { lhsDilation?: Integers; rhsDilation?: Integers; featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution whose dimensions are in another order. */
  convWithGeneralDimensions(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralDimensions(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers and dimensions in any order. */
  convGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with holes between elements of the operand or the kernel. */
  convGeneralDilated(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneralDilated(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /**
   * Combines the elements in each position of a window. Several operands: the result is a tuple.
   */
  reduceWindow(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    baseDilations?: Integers,
    windowDilations?: Integers,
  ): XlaOp;
  reduceWindow(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    options: { baseDilations?: Integers; windowDilations?: Integers },
  ): XlaOp;
  /**
   * reduceWindow with padding in numbers and dilations. Several operands: the result is a tuple.
   */
  reduceWindowWithGeneralPadding(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    baseDilations: Integers,
    windowDilations: Integers,
    padding: Pairs,
  ): XlaOp;
  /** Combines each element of source into the one that `select` chooses in its window. */
  selectAndScatter(
    operand: XlaOp,
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** selectAndScatter with padding in numbers. */
  selectAndScatterWithGeneralPadding(
    operand: XlaOp,
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Pairs,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** A tuple: output, batch mean and batch variance. */
  batchNormTraining(
    operand: XlaOp,
    scale: XlaOp,
    offset: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** Normalises by a given mean and variance. */
  batchNormInference(
    operand: XlaOp,
    scale: XlaOp,
    offset: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** A tuple: the gradients of operand, scale and offset. */
  batchNormGrad(
    operand: XlaOp,
    scale: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    gradOutput: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** The triangular factor of a positive definite matrix. */
  cholesky(a: XlaOp, lower?: boolean | { lower?: boolean }): XlaOp;
  /** Fourier transforms of the last dimensions, as many as fftLength has. */
  fft(operand: XlaOp, fftType: 'FFT' | 'IFFT' | 'RFFT' | 'IRFFT', fftLength: Integers): XlaOp;
  /** A tuple: the next state and the bits. */
  rngBitGenerator(
    algorithm: 'RNG_DEFAULT' | 'RNG_THREE_FRY' | 'RNG_PHILOX',
    initialState: XlaOp,
    shape: ShapeLike,
  ): XlaOp;
  /** Normally distributed; see execute's seed. */
  rngNormal(mu: Operand, sigma: Operand, shape: ShapeLike): XlaOp;
  /** Uniformly distributed in [a, b); see execute's seed. */
  rngUniform(a: Operand, b: Operand, shape: ShapeLike): XlaOp;
  /** x of a x = b (or x a = b), for a triangular a. */
  triangularSolve(
    a: XlaOp,
    b: XlaOp,
    leftSide: boolean,
    lower: boolean,
    unitDiagonal: boolean,
    transposeA: 'NO_TRANSPOSE' | 'TRANSPOSE' | 'ADJOINT',
  ): XlaOp;
  /** A token that comes after other tokens. */
  afterAll(operands: readonly XlaOp[]): XlaOp;
  /** Calls a computation. A function may use values from outside. */
  call(computation: XlaComputation | Body, args: readonly XlaOp[]): XlaOp;
  /**
   * Calls one of several computations; an index out of range takes the last. Functions may use
   * values from outside, and then need no operands.
   */
  conditional(
    pred: XlaOp,
    trueOperand: XlaOp,
    trueComputation: XlaComputation | Body,
    falseOperand: XlaOp,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    pred: XlaOp,
    trueComputation: XlaComputation | Body,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    branchIndex: XlaOp,
    branchComputations: readonly (XlaComputation | Body)[],
    branchOperands?: readonly XlaOp[] | { branchOperands?: readonly XlaOp[] },
  ): XlaOp;
  /** A token that comes after nothing. */
  createToken(): XlaOp;
  /** Calls the function given to client.registerCustomCall(). */
  customCall(
    targetName: string,
    args: readonly XlaOp[],
    shape: ShapeLike,
    opaque?: string,
    hasSideEffect?: boolean,
    operandShapesWithLayout?: readonly ShapeLike[],
    computation?: XlaComputation,
    apiVersion?: 'API_VERSION_ORIGINAL' | 'API_VERSION_STATUS_RETURNING' | 'API_VERSION_STATUS_RETURNING_UNIFIED' | 'API_VERSION_TYPED_FFI',
  ): XlaOp;
  customCall(
    targetName: string,
    args: readonly XlaOp[],
    shape: ShapeLike,
    options: { opaque?: string; hasSideEffect?: boolean; operandShapesWithLayout?: readonly ShapeLike[]; computation?: XlaComputation; apiVersion?: 'API_VERSION_ORIGINAL' | 'API_VERSION_STATUS_RETURNING' | 'API_VERSION_STATUS_RETURNING_UNIFIED' | 'API_VERSION_TYPED_FFI' },
  ): XlaOp;
  /** An element of a tuple; or iterate it: `const [a, b] = op`. */
  getTupleElement(tupleData: XlaOp, index: number): XlaOp;
  /** 0, 1, 2, ... along a dimension. */
  iota(shape: ShapeLike, iotaDimension: number): XlaOp;
  iota(type: ElementType, size: number): XlaOp;
  /** The same value, across which no pass moves anything. */
  optimizationBarrier(operand: XlaOp): XlaOp;
  /**
   * Calls the computation once per element of the inputs along a dimension, with the elements and
   * the carries; it returns the elements of the outputs and the next carries. So the result is: the
   * outputs, then the last carries.
   */
  scan(
    inputs: Operands,
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    scanDimensionSize?: number,
    isReverse?: boolean,
    isAssociative?: boolean,
  ): XlaOp;
  scan(
    inputs: Operands,
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    options: { scanDimensionSize?: number; isReverse?: boolean; isAssociative?: boolean },
  ): XlaOp;
  /** Puts values together. */
  tuple(elements: readonly XlaOp[]): XlaOp;
  /**
   * Calls the body as long as the condition is true. Functions get the elements of the state one by
   * one, return the next ones in an array, and may use values from outside.
   */
  while(
    condition: XlaComputation | Body,
    body: XlaComputation | Body,
    init: XlaOp | readonly XlaOp[],
  ): XlaOp;
  /** All replicas' operands, one after the other along a dimension. */
  allGather(
    operand: XlaOp,
    allGatherDim: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allGather(
    operand: XlaOp,
    allGatherDim: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** All replicas' operands combined, the same on all of them. */
  allReduce(
    operand: XlaOp,
    computation: Combiner,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allReduce(
    operand: XlaOp,
    computation: Combiner,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** Replica i gets part i of each operand, in the order of the replicas. */
  allToAll(
    operand: XlaOp,
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  allToAll(
    operand: XlaOp,
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** Operand i goes to the i-th replica of the group; element i of the result came from there. */
  allToAllTuple(
    operands: readonly XlaOp[],
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  allToAllTuple(
    operands: readonly XlaOp[],
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** The operand of the first replica of the group. */
  collectiveBroadcast(
    operand: XlaOp,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  collectiveBroadcast(
    operand: XlaOp,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** Each source sends to its target; replicas that are no target get zeros. */
  collectivePermute(
    operand: XlaOp,
    sourceTargetPairs: Pairs,
    channelId?: number | { channelId?: number },
  ): XlaOp;
  /** allReduce with addition; of predicates, or. */
  crossReplicaSum(
    operand: XlaOp,
    replicaGroups?: readonly Integers[] | { replicaGroups?: readonly Integers[] },
  ): XlaOp;
  /** The number of the partition: u32. */
  partitionId(): XlaOp;
  /** allToAll of parts whose sizes are operands. */
  raggedAllToAll(
    input: XlaOp,
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  raggedAllToAll(
    input: XlaOp,
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** A part of all replicas' operands combined, another one for each replica. */
  reduceScatter(
    operand: XlaOp,
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  reduceScatter(
    operand: XlaOp,
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** The number of the replica: u32. */
  replicaId(): XlaOp;
  /** What client.transferToInfeed() queued. */
  infeed(shape: ShapeLike, config?: string | { config?: string }): XlaOp;
  /** A tuple: the data and a token. */
  infeedWithToken(token: XlaOp, shape: ShapeLike, config?: string | { config?: string }): XlaOp;
  /** A token; client.transferFromOutfeed() gets the operand. */
  outfeed(operand: XlaOp, shapeWithLayout?: ShapeLike, outfeedConfig?: string): XlaOp;
  outfeed(operand: XlaOp, options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string }): XlaOp;
  /** A token. */
  outfeedWithToken(
    operand: XlaOp,
    token: XlaOp,
    shapeWithLayout?: ShapeLike,
    outfeedConfig?: string,
  ): XlaOp;
  outfeedWithToken(
    operand: XlaOp,
    token: XlaOp,
    options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string },
  ): XlaOp;
  /** A token; the recv of the same channel gets the operand. */
  send(operand: XlaOp, channelHandle: number): XlaOp;
  /** A token. */
  sendWithToken(operand: XlaOp, token: XlaOp, channelHandle: number): XlaOp;
  /** A token; the host gets the operand. */
  sendToHost(operand: XlaOp, token: XlaOp, channelHandle: number): XlaOp;
  /** What the send of the same channel sent. */
  recv(shape: ShapeLike, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvWithToken(token: XlaOp, shape: ShapeLike, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvFromHost(token: XlaOp, shape: ShapeLike, channelHandle: number): XlaOp;
  /** The sum along one axis or several; without axis, of all elements. Predicates count as s32. */
  sum(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  sum(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /** The mean along one axis or several; without axis, of all elements. Of integers, f32. */
  mean(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  mean(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /** The mean of |x - mean|^2 along one axis or several; without axis, of all elements. */
  variance(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  variance(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * log(sum(exp(x))) along one axis or several, without overflow; without axis, of all elements.
   */
  logsumexp(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  logsumexp(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first largest element along an axis, or in the flattened array; NaN
   * counts as the largest.
   */
  argmax(operand: XlaOp, axis?: number, keepDims?: boolean): XlaOp;
  argmax(operand: XlaOp, options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first smallest element along an axis, or in the flattened array; NaN
   * counts as the smallest.
   */
  argmin(operand: XlaOp, axis?: number, keepDims?: boolean): XlaOp;
  argmin(operand: XlaOp, options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * Sums of all elements up to each one along an axis, or in the flattened array; in reverse, from
   * each one on.
   */
  cumsum(operand: XlaOp, axis?: number, reverse?: boolean): XlaOp;
  cumsum(operand: XlaOp, options: { axis?: number; reverse?: boolean }): XlaOp;
  /** max(x, 0) */
  relu(operand: XlaOp): XlaOp;
  /**
   * x times the normal distribution function of x, approximated by a tanh unless approximate is
   * false.
   */
  gelu(operand: XlaOp, approximate?: boolean | { approximate?: boolean }): XlaOp;
  /** x logistic(x) */
  silu(operand: XlaOp): XlaOp;
  /** log(1 + exp(x)), without overflow. */
  softplus(operand: XlaOp): XlaOp;
  /** exp(x) / sum(exp(x)) along one axis or several: by default the last. */
  softmax(operand: XlaOp, axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /** log(softmax(x)) along one axis or several: by default the last. */
  logSoftmax(operand: XlaOp, axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /**
   * A new dimension of `classes` elements, by default the last: 1 at the index and 0 elsewhere; all
   * 0 for an index outside.
   */
  oneHot(indices: XlaOp, classes: number, axis?: number, dtype?: ElementType): XlaOp;
  oneHot(indices: XlaOp, classes: number, options: { axis?: number; dtype?: ElementType }): XlaOp;
  /**
   * (x - mean) rsqrt(variance + epsilon) along one axis or several, by default the last; times
   * scale, plus bias, which have the axes' dimensions.
   */
  layerNorm(
    operand: XlaOp,
    axis?: number | Integers,
    scale?: XlaOp,
    bias?: XlaOp,
    epsilon?: number,
  ): XlaOp;
  layerNorm(
    operand: XlaOp,
    options: { axis?: number | Integers; scale?: XlaOp; bias?: XlaOp; epsilon?: number },
  ): XlaOp;
  /**
   * A loss for each row of logits. Labels are integers, or floats that give each class its weight.
   */
  crossEntropy(logits: XlaOp, labels: XlaOp, axis?: number | { axis?: number }): XlaOp;
  /** onTrue or onFalse, element by element; shapes are broadcast as NumPy's are. */
  where(pred: XlaOp, onTrue: Operand, onFalse: Operand): XlaOp;
  /**
   * Elements of an axis, or of the flattened array, at these indices. Beyond the ends: NaN (or the
   * lowest integer), the nearest, or counted modulo the size. Except for "clip", negative indices
   * count from the end.
   */
  take(operand: XlaOp, indices: XlaOp, axis?: number, mode?: 'fill' | 'clip' | 'wrap'): XlaOp;
  take(
    operand: XlaOp,
    indices: XlaOp,
    options: { axis?: number; mode?: 'fill' | 'clip' | 'wrap' },
  ): XlaOp;
  /** Joins arrays of one shape along a new axis. */
  stack(arrays: readonly XlaOp[], axis?: number | { axis?: number }): XlaOp;
  /** A tuple of equal parts of an axis, or of the parts between these indices. */
  split(operand: XlaOp, parts: number | Integers, axis?: number | { axis?: number }): XlaOp;
  /** `count` values at equal distances from start to stop; without endpoint, stop is left out. */
  linspace(
    start: Operand,
    stop: Operand,
    count: number,
    endpoint?: boolean | { endpoint?: boolean },
  ): XlaOp;
  /**
   * NumPy's product: the last two dimensions are matrices, those before them batches, which are
   * broadcast; a vector is a row on the left and a column on the right.
   */
  matmul(lhs: XlaOp, rhs: XlaOp): XlaOp;
  /** The sum of products that the subscripts describe, as NumPy's: 'bij,bjk->bik'. */
  einsum(subscripts: string, operands: readonly XlaOp[]): XlaOp;
  /** The key u32[2] of jax.random.key(seed), for uniform() and the others. */
  key(seed: number): XlaOp;
  /** Keys that are independent of each other, u32[count,2]: jax.random.split(). */
  splitKey(key: XlaOp, count?: number | { count?: number }): XlaOp;
  /** Another key, made of a key and an integer: jax.random.fold_in(). */
  foldIn(key: XlaOp, data: XlaOp | number): XlaOp;
  /**
   * Random numbers from low (included) to high (excluded), with the bits of jax.random.uniform().
   */
  uniform(key: XlaOp, shape: ShapeLike, low?: number, high?: number): XlaOp;
  uniform(key: XlaOp, shape: ShapeLike, options: { low?: number; high?: number }): XlaOp;
  /** Random numbers of the standard normal distribution, from the bits of jax.random.normal(). */
  normal(key: XlaOp, shape: ShapeLike): XlaOp;
  /** Keeps each element with probability 1 - rate, divided by that; the others become 0. */
  dropout(operand: XlaOp, key: XlaOp, rate: number): XlaOp;
  /* end: operations of a builder */
}

/* ---- Weights ---- */

/** Bytes, a Blob, a Response, a URL; in Node also a path. */
export type FileSource = Exclude<ProgramSource, string> | string | Promise<Response>;

export interface ReadOptions {
  /** Bytes that have come so far, of how many, if that is known. */
  onProgress?: (loaded: number, total: number | undefined) => void;
}

/** Reads a .npy file. elementType: the type that NumPy keeps as raw bytes, such as 'bf16'. */
export function readNpy(
  source: FileSource, options?: ReadOptions & { elementType?: string },
): Promise<Literal>;
/** A .npz file: literals by name, without ".npy". */
export function readNpz(source: FileSource, options?: ReadOptions & { maxBytes?: number }): Promise<Record<string, Literal>>;
/** A safetensors file: literals by name. */
export function readSafetensors(
  source: FileSource, options?: ReadOptions,
): Promise<Record<string, Literal>>;
/**
 * A .npz or safetensors file, whose arrays get other names or layouts on the way: null leaves one out.
 * @example
 * const weights = await loadWeights('model.safetensors', {
 *   map: (name, literal) => [name.replace('weight', 'kernel'), literal.transpose()],
 * });
 */
export function loadWeights(source: FileSource, options?: ReadOptions & {
  maxBytes?: number, map?: (name: string, literal: Literal) => readonly [string, Literal] | null | undefined,
}): Promise<Record<string, Literal>>;
export function writeNpy(literal: Literal): Uint8Array;
/** Not compressed. */
export function writeNpz(arrays: Readonly<Record<string, Literal>>): Uint8Array;
export function writeSafetensors(
  tensors: Readonly<Record<string, Literal>>, metadata?: Readonly<Record<string, string>>,
): Uint8Array;
