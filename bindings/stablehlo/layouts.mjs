/**
 * Layouts of the program's arguments and results: row-major unless the program states others, as in PJRT, even if
 * the operation that makes a result has another layout.
 */
import { emit } from '../builder/builder.mjs';
import { numbersOf } from './context.mjs';
import { Dictionary, malformed } from './ir.mjs';

/** The layouts that a module and its main function state: a list for each argument, or text such as "{0,1}". */
export class EntryLayouts {
  #lists;
  #modes;

  constructor(module, main) {
    const list = (name) => module.attributes[`mhlo.xla_entry_computation_${name}_layouts`];
    this.#lists = { parameter: list('parameter'), result: list('result') };
    this.#modes = { parameter: main.attributes.arg_attrs, result: main.attributes.res_attrs };
  }

  /** @returns {number[] | undefined} minor to major; undefined: it is not stated */
  of(kind, i) {
    const listed = this.#lists[kind]?.[i];
    if (listed !== undefined) {
      const order = numbersOf(listed);
      if (order) return order;
      throw malformed(`the layout of ${kind} ${i} must be a list of integers`);
    }
    const entry = this.#modes[kind]?.[i];
    const mode = entry instanceof Dictionary ? entry.entries['mhlo.layout_mode'] : undefined;
    if (mode === undefined || mode === 'default' || mode === 'auto') return undefined;
    const [, order] = /^\{([\d,\s]*)[:}]/.exec(mode) ?? [];
    if (order === undefined) throw malformed(`mhlo.layout_mode of ${kind} ${i} must be a layout such as "{0,1}"`);
    return order.trim() ? order.split(',').map(Number) : [];
  }
}

/** @param {Shape} shape @param {number[] | undefined} order */
export function laidOutBy(shape, order) {
  return order && shape.isArray ? shape.withLayout(order) : shape;
}

/** A value with its elements in this order; a copy if its own order differs. */
export function inLayout(builder, op, order) {
  const { shape } = op;
  if (shape.isTuple) {
    if (shape.withoutLayout().equals(shape)) return op;
    return builder.tuple(shape.tupleShapes.map((_, i) => inLayout(builder, builder.getTupleElement(op, i))));
  }
  const wanted = shape.isArray ? shape.withLayout(order ?? null) : shape;
  if (!shape.isArray || wanted.effectiveLayout.equals(shape.effectiveLayout)) return op;
  return emit(builder, 'copy', [op], {}, wanted);
}
