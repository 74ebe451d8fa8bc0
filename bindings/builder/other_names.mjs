/** Names that operations have in NumPy and TensorFlow; and the error of a method that does not exist. */
import { guarded } from '../base/boundary.mjs';
import { invalidArgument } from '../base/error.mjs';
import { distance, suggestion } from '../base/names.mjs';

/** Also of reductions, for which spelling alone would mislead: "sum" is nearest to "sub". */
export const OTHER_NAMES = {
  sum: 'add', plus: 'add', total: 'add', prod: 'mul', product: 'mul', times: 'mul', multiply: 'mul', maximum: 'max', amax: 'max',
  minimum: 'min', amin: 'min', any: 'or', all: 'and', some: 'or', every: 'and',
  subtract: 'sub', minus: 'sub', divide: 'div', power: 'pow', negative: 'neg', greater: 'gt', less: 'lt', equal: 'eq',
  astype: 'convertElementType', concatenate: 'concatInDim', sigmoid: 'logistic',
};

/** Suggests a method for a clear misspelling only, as other libraries look for `get`, `size` and `type` on any object. */
function methodByOtherName(name, known) {
  if (Object.hasOwn(OTHER_NAMES, name)) return OTHER_NAMES[name];
  const near = name.length > 4 && suggestion(name, known);
  return near && distance(name, near) <= name.length / 4 ? near : undefined;
}

/**
 * Makes a missing method throw an error that names the right one. A Proxy at the end of the prototype chain does so;
 * an existing property is found before it, at no cost.
 */
export function nameMissing(Class) {
  const meant = new Map(); // by name
  const prototype = new Proxy(Object.create(Object.getPrototypeOf(Class.prototype)), {
    get(target, name, receiver) {
      if (typeof name !== 'string' || name in target) return Reflect.get(target, name, receiver);
      if (!meant.has(name)) meant.set(name, methodByOtherName(name, Object.getOwnPropertyNames(Class.prototype)));
      const near = meant.get(name);
      return near && guarded(() => { throw invalidArgument(name, `there is no ${name}; did you mean ${near}?`); }, name);
    },
  });
  Object.setPrototypeOf(Class.prototype, prototype);
}
