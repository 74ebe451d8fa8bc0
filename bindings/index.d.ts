/**
 * xla-wasm: XLA computations in a browser or in Node, built or imported, compiled to WebAssembly,
 * run on one replica or on many.
 *
 * Every failure throws (or rejects with) an XlaError.
 */
import type { BuilderOperations, OpOperations } from './operations.js';

export type {
  ConvolutionDimensionNumbers, DotDimensionNumbers, GatherDimensionNumbers, RaggedDotDimensionNumbers,
  ScatterDimensionNumbers,
} from './operations.js';

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
  /** Bytes of an array in the core's memory: dense, and elements of 4 or 2 bits packed; of a tuple, of all its leaves. */
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
  /**
   * Of packed bytes, which are kept: elements of 4 or 2 bits, the first in the lowest bits of the first byte. Bits after the
   * last element must be 0.
   * @example
   * const weights = Literal.fromPacked(new Uint8Array([0x21, 0x03]), 'u4[3]'); // 1, 2, 3
   */
  static fromPacked<S extends string = string>(bytes: Uint8Array, shape: S | Shape): Literal<S>;

  readonly shape: Shape;
  /** The elements as they lie in memory: row-major, unless the shape has another layout. */
  readonly data: DataOf<S>;
  /** The bytes as the core's memory has them: elements of 4 or 2 bits packed, other ones as in `data`; null of a tuple. */
  readonly packed: Uint8Array | null;
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
 * An object of a client. dispose(), `using` or the client's dispose() frees it. The garbage collector frees an
 * unreachable one, but late: dispose() of large ones.
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
  /** The same: reading never waits. */
  toLiteralSync(): Literal<S>;
  /** The elements as numbers, bigints, booleans and [re, im], nested as the dimensions are. */
  toArray(): NestedOf<S>;
  /**
   * The elements in place, row-major, without a copy; writing changes the buffer. Of elements of 4 or 2 bits: the packed
   * bytes, a Uint8Array. Valid until the next call into this package.
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
  /**
   * Names of the results, as paths: "logits" or "features.0" of a JAX export that returns a dictionary. Empty where the
   * source names none. The order is that of the results: JAX sorts the keys of dictionaries.
   */
  readonly resultNames: readonly string[];
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
   * Numbers or names, or prefixes of names, of parameters whose Buffers are donated: they are disposed, and results
   * use their memory if the program allows it (`executable.memory.aliases`).
   */
  donate?: readonly (number | string)[];
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
  /**
   * As execute(), without a promise: it blocks until the results are there. Callbacks return values, not promises. No
   * event can abort an AbortSignal meanwhile; a signal of one's own can, whose `aborted` is a getter that reads shared
   * memory. A loop without promises gives the garbage collector no turn to free Buffers: dispose() them.
   */
  executeSync<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    args: Arguments | undefined,
    options: ExecuteOptions & { device: true; profile: true },
  ): Profiled<R>;
  executeSync<R extends readonly Literal[] = AtLeastOne<Literal>>(
    args: Arguments | undefined,
    options: ExecuteOptions & { device?: false; profile: true },
  ): Profiled<R>;
  executeSync<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    args: Arguments | undefined,
    options: ExecuteOptions & { device: true; profile?: false },
  ): R;
  executeSync<R extends readonly Literal[] = AtLeastOne<Literal>>(
    args?: Arguments,
    options?: ExecuteOptions & { device?: false; profile?: false },
  ): R;
  /** As executeReplicas(), without a promise: see executeSync(). */
  executeReplicasSync<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    argsPerReplica: readonly Arguments[],
    options: ExecuteOptions & { device: true; profile: true },
  ): Profiled<AtLeastOne<R>>;
  executeReplicasSync<R extends readonly Literal[] = AtLeastOne<Literal>>(
    argsPerReplica: readonly Arguments[],
    options: ExecuteOptions & { device?: false; profile: true },
  ): Profiled<AtLeastOne<R>>;
  executeReplicasSync<R extends readonly DeviceValue[] = AtLeastOne<Buffer>>(
    argsPerReplica: readonly Arguments[],
    options: ExecuteOptions & { device: true; profile?: false },
  ): AtLeastOne<R>;
  executeReplicasSync<R extends readonly Literal[] = AtLeastOne<Literal>>(
    argsPerReplica: readonly Arguments[],
    options?: ExecuteOptions & { device?: false; profile?: false },
  ): AtLeastOne<R>;
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
   * Whether dots, convolutions and functions of floats round a product and its sum together, which is faster.
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
  /** Of each leaf, whether it is a token, which is in neither list. */
  readonly tokens: { readonly operands: readonly boolean[]; readonly results: readonly boolean[] };
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
  /**
   * Shapes of the arguments, for StableHLO programs of unknown sizes: those of unknown sizes by name, or a list of them,
   * or a list of all.
   */
  arguments?: readonly (Shape | string)[] | { readonly [name: string]: Shape | string };
  /** Of StableHLO: the function that runs, instead of @main (or of the only public one). */
  entry?: string;
  /** Of exports for several platforms: the one whose code runs, by its name in the file's list; by default 'cpu'. */
  platform?: string;
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
   * For while loops whose number of iterations is not known before the run: an upper bound; without one, 65,536 if the
   * state is at most 256 kB. A loop that makes more iterations has gradients that are NaN.
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
  donate?: readonly (number | string)[];
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
  /**
   * As create(), without a promise. Import from 'xla-wasm/sync', or await prepareSync() before. On the main thread of a
   * page the client has no threads, and the page does nothing else while a program runs.
   */
  static createSync(options?: Omit<ClientOptions, 'assets'>): Client;
  /** Loads what the synchronous methods need: once, with the threads and assets of the clients to come. */
  static prepareSync(options?: Pick<ClientOptions, 'threads' | 'assets'>): Promise<void>;
  readonly replicas: number;
  /**
   * Number of threads. It is 0 in a page that is not cross-origin isolated: that is, one that was sent without the headers
   * Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp. The console says so once.
   */
  readonly threads: number;
  /** Whether the client is over: disposed of, or broken, so that every call fails with UNAVAILABLE or INTERNAL. */
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
  /** As load(), without a promise: of text and bytes; in Node of files, too. */
  loadSync(source: string | Uint8Array | ArrayBuffer | URL, options?: LoadOptions): HloModule;
  /** Reads HLO text, as XLA and JAX print it, or its UTF-8 bytes. An error has line and column. */
  parseHlo(text: string | Uint8Array, options?: { elided?: 'zeros' | 'random' }): HloModule;
  /** Reads StableHLO with CHLO: text, its UTF-8 bytes, or MLIR bytecode. Errors have a place. */
  parseStableHlo(source: string | Uint8Array, options?: LoadOptions): Promise<HloModule>;
  /** As parseStableHlo(), without a promise. */
  parseStableHloSync(source: string | Uint8Array, options?: LoadOptions): HloModule;
  /** Reads a serialized HloModuleProto, HloProto or HloSnapshot. */
  parseHloProto(bytes: Uint8Array): Promise<HloModule>;
  /** As parseHloProto(), without a promise. */
  parseHloProtoSync(bytes: Uint8Array): HloModule;
  /**
   * For replicas x partitions devices: by default as many as the module states, else 1 (the client's
   * replicas, where the module states no mesh).
   */
  compile(
    module: HloModule,
    options?: CompileOptions,
  ): Promise<Executable>;
  /** As compile(), without a promise: it blocks. A signal ends it only if it was aborted before. */
  compileSync(module: HloModule, options?: CompileOptions): Executable;
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
  /** As launch(), without a promise: see executeSync(). */
  launchSync(
    entries: readonly LaunchEntry[],
    options: Omit<ExecuteOptions, 'donate'> & { profile: true },
  ): Profiled<DeviceValue[][] | Literal[][]>;
  launchSync(
    entries: readonly LaunchEntry[],
    options: Omit<ExecuteOptions, 'donate'> & { device: true; profile?: false },
  ): DeviceValue[][];
  launchSync(
    entries: readonly LaunchEntry[],
    options?: Omit<ExecuteOptions, 'donate'> & { device?: false; profile?: false },
  ): AtLeastOne<Literal>[];
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
}
/** The operations. */
export interface XlaOp extends OpOperations {}

/** What operations call: a computation that was built, or a module's entry computation. */
export type XlaComputation = HloModule;

/** An operand, or a number: a constant of the other operand's type, which is broadcast. */
export type Operand = XlaOp | number | bigint | boolean;

export interface PaddingConfigDimension {
  edgePaddingLow?: number;
  edgePaddingHigh?: number;
  interiorPadding?: number;
}
/** One entry per dimension; or in short [low, high] or [low, high, interior]. */
export type PaddingConfig =
  | { dimensions: readonly (PaddingConfigDimension | readonly number[])[] }
  | readonly (PaddingConfigDimension | readonly number[])[];

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
}
/** The operations. */
export interface XlaBuilder extends BuilderOperations {}

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
 * An open GGUF file (llama.cpp's models): F32, F16, BF16, integers, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K.
 * @example
 * const file = await openGguf('model.gguf');
 * const w = await file.read('blk.0.attn_q.weight'); // f32, dequantised
 * const { quants, scales } = await file.readBlocks('blk.0.attn_q.weight');
 */
export interface GgufFile {
  /** The file's values by key, such as general.architecture; 64-bit integers are BigInts. */
  readonly metadata: Readonly<Record<string, GgufValue>>;
  /** type: an element type such as 'f16', or one of blocks such as 'Q4_K'. */
  readonly tensors: Readonly<Record<string, {
    name: string, type: string, shape: readonly number[], byteSize: number,
  }>>;
  /** A tensor as an array; of blocks f32, or the type that is asked for. */
  read(name: string, options?: { elementType?: string }): Promise<Literal>;
  /**
   * A tensor's blocks in parts: element i of a row is quants[i] * scales[i / blockSize] + mins[i / blockSize], in f32.
   * scales and mins have one entry for each block of a row.
   */
  readBlocks(name: string): Promise<{ quants: Literal, scales: Literal, mins?: Literal, blockSize: number }>;
  close(): Promise<void>;
}
export type GgufValue = number | bigint | boolean | string | readonly GgufValue[];
/** Opens a GGUF file; its tensors are read when they are asked for, from a URL by ranges. */
export function openGguf(source: FileSource): Promise<GgufFile>;
/**
 * A .npz, safetensors or GGUF file, whose arrays get other names or layouts on the way: null leaves one out.
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
