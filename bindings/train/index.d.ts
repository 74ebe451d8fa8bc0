/** Training of a loss: optimisers, and a step that keeps its state on the device. */
import type {
  Arguments, Client, ExecuteOptions, GradientOptions, HloModule, Literal, LiteralLike, XlaBuilder, XlaOp,
} from '../index.js';

/** Makes new weights. Its state is `slots` arrays of each weight's shape, zeros at first. */
export interface Optimiser {
  readonly slots: number;
  /** Adds to a builder what makes [weight, ...state]. `step` is the number of the step, f32[], from 1 on. */
  update(
    b: XlaBuilder, values: { weight: XlaOp; gradient: XlaOp; state: XlaOp[]; step: XlaOp },
  ): XlaOp[];
}

/** A number, or a schedule: a function of a builder and the number of the step, f32[], from 1 on, that returns an f32[]. */
export type LearningRate = number | ((b: XlaBuilder, step: XlaOp) => XlaOp);

/** v = momentum v + g, w = w - learningRate v. Defaults: learningRate 0.01, no momentum, not nesterov. */
export function sgd(options?: { learningRate?: LearningRate; momentum?: number; nesterov?: boolean }): Optimiser;

export interface AdamOptions {
  /** By default 0.001. */
  learningRate?: LearningRate;
  /** By default 0.9 and 0.999. */
  b1?: number;
  b2?: number;
  /** By default 1e-8. */
  epsilon?: number;
}
/** Adam (Kingma and Ba, 2015). */
export function adam(options?: AdamOptions): Optimiser;
/** Adam with decoupled weight decay (Loshchilov and Hutter, 2019). Defaults: adam's, and weightDecay 1e-4, as in Optax. */
export function adamw(options?: AdamOptions & { weightDecay?: number }): Optimiser;

/** Scales gradients so that the norm of all of them together is at most `norm`. */
export function clipByNorm(b: XlaBuilder, gradients: readonly XlaOp[], norm: number): XlaOp[];

export interface TrainStepOptions extends Pick<GradientOptions, 'of' | 'maxTrips'> {
  /** The weights, named as for client.gradient(). */
  wrt: NonNullable<GradientOptions['wrt']>;
  /** By default adam(). */
  optimiser?: Optimiser;
  /** The largest norm of all gradients together; see clipByNorm(). */
  maxNorm?: number;
  /** Gradients are averaged over the replicas, whose weights stay the same therefore. By default false. */
  average?: boolean;
  /** As of client.compile(): by default the loss program's, or else the client's. */
  replicas?: number;
}

/** Compiles one step of training: the loss, its gradient, and the optimiser's update, as one program. */
export function trainStep(client: Client, loss: HloModule, options: TrainStepOptions): Promise<TrainStep>;

export interface TrainStep {
  /**
   * Sets the weights: a list in the order in which wrt names them, or an object with their names, as execute() takes it.
   * The optimiser's state is zeros, unless `values` is what state() returned.
   */
  start(values: readonly LiteralLike[] | { readonly [name: string]: unknown }): Promise<void>;
  /**
   * One step, with the arguments of the other parameters, in their order or by name, the same on all devices; the loss program's
   * results on the first one. Await it before the next call. The weights of a step that was cancelled are lost.
   */
  run(args: Arguments, options?: Omit<ExecuteOptions, 'device' | 'donate' | 'profile'>): Promise<Literal[]>;
  /**
   * One step with arguments of each device's own; the results of each. The weights are each device's own, too, unless
   * `average` is set.
   */
  runReplicas(argsPerReplica: readonly Arguments[], options?: Omit<ExecuteOptions, 'device' | 'donate' | 'profile'>): Promise<Literal[][]>;
  /** The weights on the first device, by the paths of their parameters, such as params.Dense_0.kernel. */
  weights(): Record<string, Literal>;
  /** The weights and the optimiser's state, for a later start(): save it by writeSafetensors(). */
  state(): Record<string, Literal>;
  dispose(): void;
  [Symbol.dispose](): void;
}
