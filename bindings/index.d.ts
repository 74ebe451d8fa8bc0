/**
 * xla-wasm: XLA computations in a browser or in Node, built or imported, compiled to WebAssembly,
 * run on one replica or on many.
 *
 * Whatever fails throws (or rejects with) an XlaError.
 */

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
    details?: { operation?: string; line?: number; column?: number; cause?: unknown },
  );
  readonly name: 'XlaError';
  readonly code: StatusCode;
  /** HLO text name of the operation at fault: 'dot'. */
  readonly operation: string | undefined;
  /** 1-based place in HLO text, where there is text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
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
    /** What the padding is filled with; 'ZERO_PAD' by default. */
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

/** A value on the host: an array of elements, or a tuple of literals. */
export class Literal {
  /** Of an array, `data` is its typed array, which is kept; of a tuple, its elements. */
  constructor(shape: ShapeLike, data: ArrayData | readonly Literal[] | null);
  /**
   * Without a shape, it follows from the value: a typed array is a vector of its own type; other
   * arrays and scalars are pred, s64 or f32 as their first element is a boolean, bigint or number.
   */
  static from(value: LiteralLike, shape?: ShapeLike): Literal;
  static tuple(elements: readonly Literal[]): Literal;
  static zeros(shape: ShapeLike): Literal;

  readonly shape: Shape;
  /** The elements as they lie in memory: row-major, unless the shape has another layout. */
  readonly data: any;
  /** Of a tuple. */
  readonly elements: readonly Literal[] | null;
  /** The elements as numbers, bigints, booleans and [re, im], nested as the dimensions are. */
  toArray(): any;
  /** One element. */
  get(multiIndex?: readonly number[]): ElementValue;
  /** The same value in another layout: a Layout, its minorToMajor, or null for the default one. */
  inLayout(layout: Layout | readonly number[] | null): Literal;
  /** The arrays in it, depth first; null for tokens. */
  leaves(): (Literal | null)[];
  /** As XLA prints literals. */
  toString(): string;
}

/* ---- What lives in the core ---- */

/**
 * What is freed by dispose(), by `using`, or at the latest by the garbage collector; and with its
 * client.
 */
declare abstract class Handle {
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** An array on the device. */
export class Buffer extends Handle {
  private constructor();
  readonly shape: Shape;
  /** A copy on the host. */
  toLiteral(): Literal;
  /**
   * The elements where they are, row-major, without a copy; writing changes the buffer. Good until
   * the next call into this package.
   */
  view(): any;
}

export interface Parameter {
  readonly name: string;
  /** With the layout that the program asks for. */
  readonly shape: Shape;
}

/**
 * A program, or a computation that operations call (then its entry computation is meant). Comes
 * from a builder's build(), client.parseHlo() or client.parseHloProto(). Immutable.
 */
export class HloModule extends Handle {
  private constructor();
  readonly name: string;
  /** The number of replicas that the text states. */
  readonly replicaCount: number | undefined;
  readonly parameters: readonly Parameter[];
  readonly resultShape: Shape;
  /** HLO text. */
  toString(): string;
}

/** An argument of a program: anything that fits the parameter's shape, or a Buffer of it. */
export type Argument = LiteralLike | Buffer | readonly Argument[];

export interface ExecuteOptions {
  /** Results stay on the device, as Buffers instead of Literals. */
  device?: boolean;
  /**
   * Numbers of parameters whose Buffers are given away: they are disposed, and their memory can be
   * reused.
   */
  donate?: readonly number[];
  /** Resolve to { outputs, events }. */
  profile?: boolean;
  /** Cancels the run: it rejects with CANCELLED, and the signal's reason as the cause. */
  signal?: AbortSignal;
}

/** What a replica did when. */
export interface ProfileEvent {
  /** The instruction's. */
  readonly name: string;
  /** The kind of step: 'generated', 'kernel', 'eval', 'collective', ... */
  readonly category: string;
  /** Of a region, which is measured whole: the names of the instructions in it. */
  readonly holds?: readonly string[];
  readonly replica: number;
  /** The thread that did it. */
  readonly worker: number;
  /** Microseconds on a clock that only goes forward. */
  readonly startUs: number;
  readonly endUs: number;
}

/** A result on the device: a Buffer; of a tuple within a tuple, its elements; null for a token. */
export type DeviceValue = Buffer | null | DeviceValue[];

type Profiled<T> = { outputs: T; events: ProfileEvent[] };

/** A compiled program. */
export class Executable extends Handle {
  private constructor();
  readonly replicas: number;
  readonly parameters: readonly Parameter[];
  readonly resultShape: Shape;
  /**
   * Runs on all replicas with the same arguments, one per parameter. Resolves to the results on
   * replica 0: the elements of a tuple, or one array.
   */
  execute(
    args: readonly Argument[] | undefined,
    options: ExecuteOptions & { device: true; profile: true },
  ): Promise<Profiled<any[]>>;
  execute(
    args: readonly Argument[] | undefined,
    options: ExecuteOptions & { profile: true },
  ): Promise<Profiled<Literal[]>>;
  execute(
    args: readonly Argument[] | undefined,
    options: ExecuteOptions & { device: true },
  ): Promise<any[]>;
  execute(args?: readonly Argument[], options?: ExecuteOptions): Promise<Literal[]>;
  /** Runs with arguments of each replica's own. Resolves to the results of each replica. */
  executeReplicas(
    argsPerReplica: readonly (readonly Argument[])[],
    options: ExecuteOptions & { device: true; profile: true },
  ): Promise<Profiled<any[][]>>;
  executeReplicas(
    argsPerReplica: readonly (readonly Argument[])[],
    options: ExecuteOptions & { profile: true },
  ): Promise<Profiled<Literal[][]>>;
  executeReplicas(
    argsPerReplica: readonly (readonly Argument[])[],
    options: ExecuteOptions & { device: true },
  ): Promise<any[][]>;
  executeReplicas(
    argsPerReplica: readonly (readonly Argument[])[],
    options?: ExecuteOptions,
  ): Promise<Literal[][]>;
  /** The optimised module as HLO text. */
  toString(): string;
  /** The steps that a replica takes, one a line, for people. */
  thunks(): string;
}

export interface ClientOptions {
  /** On how many replicas programs run where neither compile() nor the module says so; 1. */
  replicas?: number;
  /**
   * How many threads share the work of all replicas: by default as many as the machine runs at
   * once. 0: none; the work is done in slices between other events. So it is too where there is no
   * shared memory, as in a page that is not cross-origin isolated.
   */
  threads?: number;
  /**
   * How many bytes of memory everything of the client may take together, at least 16 MB; by default
   * as many as WebAssembly can address, 4 GB. What does not fit fails with RESOURCE_EXHAUSTED.
   */
  maxMemory?: number;
}

/** A custom call on its way to the function that was registered for its target. */
export interface CustomCall {
  /** The leaves of all operands. */
  readonly operands: readonly Literal[];
  /** The leaves of the result. */
  readonly resultShapes: readonly Shape[];
  readonly replica: number;
  /** backend_config as the program's text has it; '' where it has none. */
  readonly backendConfig: string;
}

/** Where programs are built, compiled and run. */
export class Client {
  private constructor();
  static create(options?: ClientOptions): Promise<Client>;
  readonly replicas: number;
  /** Number of threads; 0 where there are none. */
  readonly threads: number;
  /** Whether the client is over: disposed of, or failed with UNAVAILABLE. */
  readonly disposed: boolean;
  /** Bytes that live device buffers and the memory of runs take. */
  readonly memoryInUse: number;
  /** Bytes that are allocated in the core's memory in all: programs and bookkeeping too. */
  readonly heapInUse: number;
  builder(name?: string): XlaBuilder;
  /** Reads HLO text, as XLA and JAX print it. An error has line and column. */
  parseHlo(text: string): HloModule;
  /** Reads a serialized HloModuleProto, HloProto or HloSnapshot. */
  parseHloProto(bytes: Uint8Array): HloModule;
  compile(module: HloModule, options?: { replicas?: number }): Promise<Executable>;
  /**
   * Gives a custom-call target its meaning. The callback returns, or promises, the result; an array
   * of values where it is a tuple. What it throws fails the run.
   */
  registerCustomCall(target: string, callback: (call: CustomCall) => unknown): void;
  /** Queues a value for the next infeed of a replica (default 0); tuples as arrays of leaves. */
  transferToInfeed(value: unknown, options?: { replica?: number }): void;
  /** What the next outfeed of a replica (default 0) puts out; tuples as arrays of leaves. */
  transferFromOutfeed(options?: { replica?: number }): Promise<Literal | Literal[]>;
  /** Puts an array on the device. */
  buffer(value: LiteralLike | Buffer, shape?: ShapeLike): Buffer;
  /**
   * Ends the threads and gives everything back. Pending runs reject with CANCELLED; later calls
   * throw FAILED_PRECONDITION.
   */
  dispose(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/* ---- Building ---- */

/** A value within a computation that is being built. */
export class XlaOp {
  private constructor();
  readonly builder: XlaBuilder;
  readonly handle: number;
  readonly shape: Shape;
}

/** What operations call: a computation that was built, or a module's entry computation. */
export type XlaComputation = HloModule;

type Integers = readonly number[] | readonly bigint[] | Int32Array | Uint32Array | BigInt64Array;
type Operands = XlaOp | readonly XlaOp[];
type Pairs = readonly (readonly [number, number])[];
type ReplicaGroups = readonly Integers[];
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

/** Or as HLO text labels them: 'b01f_01io->b01f'. */
export interface ConvolutionDimensionNumbers {
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

export type Precision = 'default' | 'high' | 'highest' | 'DEFAULT' | 'HIGH' | 'HIGHEST';

export interface DotOptions {
  /** For both operands, or for each. Has no effect on this backend: it is always the highest. */
  precision?: Precision | readonly [Precision, Precision];
  /** The element type of the result. */
  preferredElementType?: ElementType;
}

export interface ScanOptions {
  /** How many steps; needed where there are no inputs to say it. */
  scanDimensionSize?: number;
  /** From the last element to the first. */
  isReverse?: boolean;
  /** A hint. */
  isAssociative?: boolean;
}

export interface ConvolutionOptions extends DotOptions {
  featureGroupCount?: number;
  batchGroupCount?: number;
  /** Per spatial dimension: whether the kernel is reversed. */
  windowReversal?: readonly boolean[];
}

export interface CollectiveOptions {
  /** Which replicas do it together, in which order; none: all in one group. */
  replicaGroups?: ReplicaGroups;
  /** Relates the collectives of different modules. */
  channelId?: number;
}
export interface DeviceCollectiveOptions extends CollectiveOptions {
  useGlobalDeviceIds?: boolean;
}

export type ComparisonDirection = 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT';
export type ComparisonType = 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED';
export type FftType = 'FFT' | 'IFFT' | 'RFFT' | 'IRFFT';
export type RandomAlgorithm = 'RNG_DEFAULT' | 'RNG_THREE_FRY' | 'RNG_PHILOX';
export type Transpose = 'NO_TRANSPOSE' | 'TRANSPOSE' | 'ADJOINT';

type Unary = (operand: XlaOp) => XlaOp;
/**
 * Operands of the same shape; or a scalar and an array; or of different ranks, with the dimensions
 * of the higher-ranked that the dimensions of the lower-ranked are matched with. Dimensions of size
 * 1 are repeated.
 */
type Binary = (lhs: XlaOp, rhs: XlaOp, broadcastDimensions?: Integers) => XlaOp;

/**
 * Builds a computation. Operations are XlaBuilder's, with their documented arguments in the
 * documented order; optional arguments may also be given by name, in one object at the end. A
 * mistake is thrown by the call that makes it, and leaves the builder as it was.
 */
export class XlaBuilder extends Handle {
  private constructor();
  readonly name: string;
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

  /* Element-wise, one operand */
  abs: Unary;
  acos: Unary;
  acosh: Unary;
  asin: Unary;
  asinh: Unary;
  atanh: Unary;
  cbrt: Unary;
  ceil: Unary;
  /** Number of leading zero bits. */
  clz: Unary;
  conj: Unary;
  cos: Unary;
  cosh: Unary;
  erf: Unary;
  exp: Unary;
  expm1: Unary;
  floor: Unary;
  imag: Unary;
  isFinite: Unary;
  log: Unary;
  log1p: Unary;
  logistic: Unary;
  neg: Unary;
  not: Unary;
  populationCount: Unary;
  real: Unary;
  /** To the nearest integer, ties away from zero. */
  round: Unary;
  roundNearestEven: Unary;
  rsqrt: Unary;
  sign: Unary;
  sin: Unary;
  sinh: Unary;
  sqrt: Unary;
  tan: Unary;
  tanh: Unary;
  reducePrecision(operand: XlaOp, exponentBits: number, mantissaBits: number): XlaOp;

  /* Element-wise, two operands */
  add: Binary;
  sub: Binary;
  mul: Binary;
  /** The upper half of the product of integers. */
  mulhi: Binary;
  div: Binary;
  rem: Binary;
  max: Binary;
  min: Binary;
  pow: Binary;
  and: Binary;
  or: Binary;
  xor: Binary;
  shiftLeft: Binary;
  shiftRightArithmetic: Binary;
  shiftRightLogical: Binary;
  atan2: Binary;
  complex: Binary;
  eq: Binary;
  ne: Binary;
  ge: Binary;
  gt: Binary;
  le: Binary;
  lt: Binary;
  /** -NaN < -Inf < -Finite < -0 < +0 < +Finite < +Inf < +NaN */
  eqTotalOrder: Binary;
  neTotalOrder: Binary;
  geTotalOrder: Binary;
  gtTotalOrder: Binary;
  leTotalOrder: Binary;
  ltTotalOrder: Binary;
  compare(lhs: XlaOp, rhs: XlaOp, direction: ComparisonDirection): XlaOp;
  compare(
    lhs: XlaOp,
    rhs: XlaOp,
    broadcastDimensions: Integers,
    direction: ComparisonDirection,
    compareType?: ComparisonType,
  ): XlaOp;

  /* Element-wise, more operands */
  clamp(min: XlaOp, operand: XlaOp, max: XlaOp): XlaOp;
  select(pred: XlaOp, onTrue: XlaOp, onFalse: XlaOp): XlaOp;
  map(operands: Operands, computation: XlaComputation, dimensions?: Integers): XlaOp;

  /* Element types */
  convertElementType(operand: XlaOp, newElementType: ElementType): XlaOp;
  /** To a narrower type: the result has one more dimension; to a wider one: one less. */
  bitcastConvertType(operand: XlaOp, newElementType: ElementType): XlaOp;
  stochasticConvertType(operand: XlaOp, random: XlaOp, newElementType: ElementType): XlaOp;

  /* Data movement */
  /** The new dimensions come first. */
  broadcast(operand: XlaOp, broadcastSizes: Integers): XlaOp;
  broadcastInDim(operand: XlaOp, outDimSize: Integers, broadcastDimensions: Integers): XlaOp;
  collapse(operand: XlaOp, dimensions: Integers): XlaOp;
  concatInDim(operands: readonly XlaOp[], dimension: number): XlaOp;
  copy: Unary;
  dynamicReshape(
    operand: XlaOp,
    dimSizes: readonly XlaOp[],
    newSizeBounds: Integers,
    dimsAreDynamic: readonly boolean[],
  ): XlaOp;
  /** Start indices: scalars, or one vector of them. */
  dynamicSlice(operand: XlaOp, startIndices: Operands, sizeIndices: Integers): XlaOp;
  dynamicUpdateSlice(operand: XlaOp, update: XlaOp, startIndices: Operands): XlaOp;
  gather(
    operand: XlaOp,
    startIndices: XlaOp,
    dimensionNumbers: GatherDimensionNumbers,
    sliceSizes: Integers,
    indicesAreSorted?: boolean,
  ): XlaOp;
  getDimensionSize(operand: XlaOp, dimension: number): XlaOp;
  setDimensionSize(operand: XlaOp, size: XlaOp, dimension: number): XlaOp;
  /** Static again, of its bound; what is past the size is of no particular value. */
  removeDynamicDimension(operand: XlaOp, dimension: number): XlaOp;
  pad(operand: XlaOp, paddingValue: XlaOp, paddingConfig: PaddingConfig): XlaOp;
  padInDim(
    operand: XlaOp,
    paddingValue: XlaOp,
    dimno: number,
    padLo: number,
    padHi: number,
  ): XlaOp;
  reshape(operand: XlaOp, newSizes: Integers): XlaOp;
  /** `dimensions`: the order in which they are collapsed first, the slowest varying first. */
  reshape(operand: XlaOp, dimensions: Integers, newSizes: Integers): XlaOp;
  rev(operand: XlaOp, dimensions: Integers): XlaOp;
  scatter(
    operands: Operands,
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: XlaComputation,
    dimensionNumbers: ScatterDimensionNumbers,
    indicesAreSorted?: boolean,
    uniqueIndices?: boolean,
  ): XlaOp;
  slice(
    operand: XlaOp,
    startIndices: Integers,
    limitIndices: Integers,
    strides?: Integers,
  ): XlaOp;
  sliceInDim(
    operand: XlaOp,
    startIndex: number,
    limitIndex: number,
    stride: number,
    dimno: number,
  ): XlaOp;
  transpose(operand: XlaOp, permutation: Integers): XlaOp;

  /* Contractions and reductions */
  dot(lhs: XlaOp, rhs: XlaOp, options?: DotOptions): XlaOp;
  dotGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options?: DotOptions,
  ): XlaOp;
  /** A dot in which each group of rows of one operand meets a part of its own of the other. */
  raggedDot(
    lhs: XlaOp,
    rhs: XlaOp,
    groupSizes: XlaOp,
    dimensionNumbers: RaggedDotDimensionNumbers,
    precision?: DotOptions['precision'],
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
    options?: DotOptions,
  ): XlaOp;
  /** Several operands: the result is a tuple. */
  reduce(
    operands: Operands,
    initValues: Operands,
    computation: XlaComputation,
    dimensions: Integers,
  ): XlaOp;
  reduceAll(operand: XlaOp, initValue: XlaOp, computation: XlaComputation): XlaOp;
  /** Several operands: the result is a tuple. Dimension -1 is the last. */
  sort(
    operands: Operands,
    comparator: XlaComputation,
    dimension?: number,
    isStable?: boolean,
  ): XlaOp;
  /** A tuple: the values and, as s32, their indices in the last dimension. */
  topK(operand: XlaOp, k: number, largest?: boolean): XlaOp;

  /* Windows */
  conv(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    options?: ConvolutionOptions,
  ): XlaOp;
  convWithGeneralPadding(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    options?: ConvolutionOptions & { lhsDilation?: Integers; rhsDilation?: Integers },
  ): XlaOp;
  convWithGeneralDimensions(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: ConvolutionDimensionNumbers | string,
    options?: ConvolutionOptions,
  ): XlaOp;
  convGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: ConvolutionDimensionNumbers | string,
    options?: ConvolutionOptions,
  ): XlaOp;
  convGeneralDilated(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: ConvolutionDimensionNumbers | string,
    options?: ConvolutionOptions,
  ): XlaOp;
  /** Several operands: the result is a tuple. */
  reduceWindow(
    operands: Operands,
    initValues: Operands,
    computation: XlaComputation,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    options?: { baseDilations?: Integers; windowDilations?: Integers },
  ): XlaOp;
  reduceWindowWithGeneralPadding(
    operands: Operands,
    initValues: Operands,
    computation: XlaComputation,
    windowDimensions: Integers,
    windowStrides: Integers,
    baseDilations: Integers,
    windowDilations: Integers,
    padding: Pairs,
  ): XlaOp;
  selectAndScatter(
    operand: XlaOp,
    select: XlaComputation,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    source: XlaOp,
    initValue: XlaOp,
    scatter: XlaComputation,
  ): XlaOp;
  selectAndScatterWithGeneralPadding(
    operand: XlaOp,
    select: XlaComputation,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Pairs,
    source: XlaOp,
    initValue: XlaOp,
    scatter: XlaComputation,
  ): XlaOp;

  /* Library operations */
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
  batchNormInference(
    operand: XlaOp,
    scale: XlaOp,
    offset: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** A tuple: output, batch mean and batch variance. */
  batchNormTraining(
    operand: XlaOp,
    scale: XlaOp,
    offset: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  cholesky(a: XlaOp, lower?: boolean): XlaOp;
  fft(operand: XlaOp, fftType: FftType, fftLength: Integers): XlaOp;
  /** A tuple: the next state and the bits. */
  rngBitGenerator(algorithm: RandomAlgorithm, initialState: XlaOp, shape: ShapeLike): XlaOp;
  rngNormal(mu: XlaOp, sigma: XlaOp, shape: ShapeLike): XlaOp;
  rngUniform(a: XlaOp, b: XlaOp, shape: ShapeLike): XlaOp;
  triangularSolve(
    a: XlaOp,
    b: XlaOp,
    leftSide: boolean,
    lower: boolean,
    unitDiagonal: boolean,
    transposeA: Transpose,
  ): XlaOp;

  /* Sources, tuples, control flow */
  afterAll(operands: readonly XlaOp[]): XlaOp;
  call(computation: XlaComputation, args: readonly XlaOp[]): XlaOp;
  conditional(
    pred: XlaOp,
    trueOperand: XlaOp,
    trueComputation: XlaComputation,
    falseOperand: XlaOp,
    falseComputation: XlaComputation,
  ): XlaOp;
  /** An index out of range takes the last branch. */
  conditional(
    branchIndex: XlaOp,
    branchComputations: readonly XlaComputation[],
    branchOperands: readonly XlaOp[],
  ): XlaOp;
  createToken(): XlaOp;
  customCall(
    targetName: string,
    args: readonly XlaOp[],
    shape: ShapeLike,
    options?: {
      opaque?: string;
      hasSideEffect?: boolean;
      operandShapesWithLayout?: readonly ShapeLike[];
      computation?: XlaComputation;
      apiVersion?: string;
    },
  ): XlaOp;
  getTupleElement(tupleData: XlaOp, index: number): XlaOp;
  iota(shape: ShapeLike, iotaDimension: number): XlaOp;
  iota(type: ElementType, size: number): XlaOp;
  optimizationBarrier: Unary;
  /**
   * Calls the computation once per element of the inputs along a dimension, with the elements and
   * the carries; it returns the elements of the outputs and the next carries. So the result is: the
   * outputs, then the last carries.
   */
  scan(
    inputs: Operands,
    inits: Operands,
    computation: XlaComputation,
    scanDimension: number,
    options?: ScanOptions,
  ): XlaOp;
  tuple(elements: readonly XlaOp[]): XlaOp;
  while(condition: XlaComputation, body: XlaComputation, init: XlaOp): XlaOp;

  /* Collectives. Of a tuple, each element. */
  allGather(
    operand: XlaOp,
    allGatherDim: number,
    shardCount: number,
    options?: DeviceCollectiveOptions,
  ): XlaOp;
  allGather(
    operand: XlaOp,
    allGatherDim: number,
    shardCount: number,
    replicaGroups?: ReplicaGroups,
    channelId?: number,
  ): XlaOp;
  allReduce(
    operand: XlaOp,
    computation: XlaComputation,
    options?: DeviceCollectiveOptions,
  ): XlaOp;
  allReduce(
    operand: XlaOp,
    computation: XlaComputation,
    replicaGroups?: ReplicaGroups,
    channelId?: number,
  ): XlaOp;
  allToAll(
    operand: XlaOp,
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    options?: CollectiveOptions,
  ): XlaOp;
  allToAll(
    operand: XlaOp,
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    replicaGroups?: ReplicaGroups,
    channelId?: number,
  ): XlaOp;
  /** Operand i goes to the i-th replica of the group; element i of the result came from there. */
  allToAllTuple(operands: Operands, options?: CollectiveOptions): XlaOp;
  allToAllTuple(operands: Operands, replicaGroups?: ReplicaGroups, channelId?: number): XlaOp;
  collectiveBroadcast(operand: XlaOp, replicaGroups?: ReplicaGroups, channelId?: number): XlaOp;
  /** Replicas that are no target get zeros. */
  collectivePermute(operand: XlaOp, sourceTargetPairs: Pairs, channelId?: number): XlaOp;
  /** allReduce with addition; of predicates, or. */
  crossReplicaSum(operand: XlaOp, replicaGroups?: ReplicaGroups): XlaOp;
  partitionId(): XlaOp;
  raggedAllToAll(
    input: XlaOp,
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    replicaGroups?: ReplicaGroups,
    channelId?: number,
  ): XlaOp;
  reduceScatter(
    operand: XlaOp,
    computation: XlaComputation,
    scatterDimension: number,
    shardCount: number,
    options?: DeviceCollectiveOptions,
  ): XlaOp;
  reduceScatter(
    operand: XlaOp,
    computation: XlaComputation,
    scatterDimension: number,
    shardCount: number,
    replicaGroups?: ReplicaGroups,
    channelId?: number,
  ): XlaOp;
  replicaId(): XlaOp;

  /* The host and other programs. Without tokens, in the order in which they are added. */
  infeed(shape: ShapeLike, config?: string): XlaOp;
  /** A tuple: the data and a token. */
  infeedWithToken(token: XlaOp, shape: ShapeLike, config?: string): XlaOp;
  /** A token. */
  outfeed(operand: XlaOp, shapeWithLayout?: ShapeLike, outfeedConfig?: string): XlaOp;
  outfeedWithToken(
    operand: XlaOp,
    token: XlaOp,
    shapeWithLayout?: ShapeLike,
    outfeedConfig?: string,
  ): XlaOp;
  /** A token. */
  send(operand: XlaOp, channelHandle: number): XlaOp;
  sendWithToken(operand: XlaOp, token: XlaOp, channelHandle: number): XlaOp;
  sendToHost(operand: XlaOp, token: XlaOp, channelHandle: number): XlaOp;
  recv(shape: ShapeLike, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvWithToken(token: XlaOp, shape: ShapeLike, channelHandle: number): XlaOp;
  recvFromHost(token: XlaOp, shape: ShapeLike, channelHandle: number): XlaOp;
}
