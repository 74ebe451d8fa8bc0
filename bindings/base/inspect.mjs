/** The name of the method by which Node's console and util.inspect show the package's objects. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom');
