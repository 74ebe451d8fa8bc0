/** How Node's console and util.inspect show what is ours: the method of this name says it. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom');
