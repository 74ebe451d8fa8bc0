/** Modules of HLO: their parameters, text and passes. */
import { atBoundary, lacks } from '../base/boundary.mjs';
import { XlaError } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';
import {
  xla_module_free, xla_module_name, xla_module_parameter_count, xla_module_parameter_name, xla_module_parameter_shape,
  xla_module_partition_count, xla_module_print, xla_module_print_with_data, xla_module_replica_count,
  xla_module_result_shape,
} from '../base/calls.mjs';
import { Shape } from '../values/shape.mjs';
import { coreOf, Handle, pointerOf } from './handle.mjs';

/** annotate(module, { vjp, resultNames }) sets properties that a file states beside the program; for load(). */
let annotate;
export { annotate };

/** Constants of at least this many bytes are copied into a proto from memory; shorter ones pass through text. */
const APART = 4096;

/**
 * A program: a list of computations. The entry computation takes the parameters and returns the result. A
 * module is immutable. A builder's build(), client.load() and client.parse...() return one. Operations that call a
 * computation (XLA's XlaComputation) accept a module, and call its entry computation.
 */
export class HloModule extends Handle {
  #notes = { vjp: null, resultNames: [] }; // vjp: an HloModule, or the error of reading it

  /** Not for callers. */
  constructor(core, pointer) {
    super(core, pointer, xla_module_free);
  }

  static {
    annotate = (module, notes) => Object.assign(module.#notes, notes);
  }

  get name() {
    return coreOf(this).string(coreOf(this).call(xla_module_name, pointerOf(this)));
  }

  /** The number of replicas that the text states, or undefined. */
  get replicaCount() {
    return coreOf(this).call(xla_module_replica_count, pointerOf(this)) || undefined;
  }

  /** The number of partitions that the text states or that its shard_maps need, or undefined. */
  get partitionCount() {
    return coreOf(this).call(xla_module_partition_count, pointerOf(this)) || undefined;
  }

  /** Names and shapes of the entry computation's parameters, with the layouts that it states. */
  get parameters() {
    const core = coreOf(this);
    const pointer = pointerOf(this);
    const count = core.call(xla_module_parameter_count, pointer);
    return Array.from({ length: count }, (_, number) => ({
      name: core.string(core.call(xla_module_parameter_name, pointer, number)),
      shape: takeShape(core, core.call(xla_module_parameter_shape, pointer, number)),
    }));
  }

  /** Shape of the result, with the layout that the entry computation states. */
  get resultShape() {
    return takeShape(coreOf(this), coreOf(this).call(xla_module_result_shape, pointerOf(this)));
  }

  /**
   * The program's vector-Jacobian product, if its file of jax.export holds one (`exported.serialize(vjp_order=1)`); else
   * null. Its parameters are those of the program, then a cotangent of each result; its results are the cotangents of
   * the parameters. With vjp_order=2 it has a `vjp`, too. Each module is disposed on its own.
   * @returns {HloModule | null}
   * @throws {XlaError} if the file holds one that cannot be read
   */
  get vjp() {
    const { vjp } = this.#notes;
    if (vjp instanceof Error) throw vjp;
    return vjp;
  }

  /**
   * Names of the results as paths, in their order: "logits" or "features.0" of a JAX export that returns a dictionary,
   * whose keys JAX sorts. Empty if the source names none.
   * @returns {readonly string[]}
   */
  get resultNames() {
    return this.#notes.resultNames;
  }

  [INSPECT]() {
    if (this.disposed) return 'HloModule { disposed }';
    return `HloModule { ${this.name}${signature(this)} }`;
  }

  /**
   * The program as a serialized HloModuleProto, which real XLA loads. Shardings are left out.
   * @returns {Promise<Uint8Array>}
   */
  async toProto() {
    return protoOf(this);
  }

  /** The program as HLO text. */
  toString() {
    const core = coreOf(this);
    const pointer = core.call(xla_module_print, pointerOf(this));
    try {
      return core.takeString(pointer);
    } catch (error) {
      if (error instanceof XlaError) throw error;
      throw new XlaError(
        'RESOURCE_EXHAUSTED', 'toString: the text is longer than a string can be; use toProto()', { cause: error });
    }
  }
}

atBoundary(HloModule);
lacks(HloModule, { execute: 'compile it first: (await client.compile(module)).execute(args)' });

/**
 * A module as a proto.
 * @param {HloModule} module
 * @param {{ manual?: boolean }} [options] manual: every instruction gets sharding={manual}, so that XLA's partitioner
 *   leaves it unchanged on every device
 */
export async function protoOf(module, options) {
  const { protoOfHloText } = await import('../formats/hlo_to_proto.mjs');
  const core = coreOf(module);
  const text = core.takeString(core.call(xla_module_print_with_data, pointerOf(module), APART));
  return protoOfHloText(text, (address, size) => core.view(Uint8Array, address, size), options);
}

/** '(x: f32[2]) -> f32[2]' */
export function signature({ parameters, resultShape }) {
  const list = parameters.map(({ name, shape }) => `${name}: ${shape}`).join(', ');
  return `(${list}) -> ${resultShape}`;
}

export function takeShape(core, pointer) {
  return Shape.parse(core.takeString(pointer));
}
