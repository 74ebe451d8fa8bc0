/** Frames: the values of a computation that is being lowered, and results as tuples. */
import { emit } from '../builder/builder.mjs';
import { Shape } from '../values/shape.mjs';

/** The values of one computation. */
export class Frame {
  constructor(builder, outer = null) {
    this.builder = builder;
    this.outer = outer;
    /** The names of the calls that were inlined on the way here. @type {string | undefined} */
    this.path = outer?.path;
    /** @type {Map<import('./ir.mjs').Value, import('../builder/op.mjs').XlaOp>} */
    this.values = new Map();
    /** Known integers, from which sizes are computed. @type {Map<import('../builder/op.mjs').XlaOp, any[]>} */
    this.known = new Map();
    /** Formulas of unknown values in terms of others: see known.mjs. */
    this.terms = new Map();
  }

  set(value, op) {
    this.values.set(value, op);
  }
}

/** Joins several results to a tuple; returns a single one unchanged. */
export function tupled(builder, results) {
  return results.length === 1 ? results[0] : emit(builder, 'tuple', results, {}, undefined, Shape.tuple(results.map(({ shape }) => shape)));
}

/** The elements of a tuple. */
export function untupled(builder, tuple) {
  return tuple.shape.tupleShapes.map((shape, index) => emit(builder, 'get-tuple-element', [tuple], { index }, undefined, shape));
}
