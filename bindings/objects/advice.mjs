/**
 * Advice for mistakes in calls of runs and compilations. Loaded when one fails, so its size and time do not matter.
 * Reading the caller's values may throw; then the first error stays as it is.
 */
import { factsOf, fromCall, XlaError } from '../base/error.mjs';
import { tableOfNames } from './named_table.mjs';

// Classes are recognised by members, as importing them would split the package's bundle into more files.
const has = (member) => (value) => typeof value?.[member] === 'function';
const isPromise = has('then'), isBuffer = has('toLiteral'), isLiteral = has('inLayout');
const isBuilder = has('createSubBuilder'), isExecutable = has('executeReplicas');
const isOp = (value) => value?.handle !== undefined;
const isBytes = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
const isArgument = (value) => isLiteral(value) || isBuffer(value) || ArrayBuffer.isView(value);

/** Returns the error with the advice that `find` returns, if any. @param {() => string | undefined} find */
function advised(error, find) {
  let advice;
  try {
    advice = find();
  } catch {
    // Reading the value threw.
  }
  if (!advice) return error;
  const { code, message, operation, cause } = error;
  return fromCall(new XlaError(code, `${message}; ${advice}`, { operation, cause }), error);
}

/** @param {XlaError} error of compile() @param {any} module the argument in the place of a module */
export const compileAdvice = (error, module) => advised(error, () => {
  if (isPromise(module)) return 'await it: client.compile(await client.load(source))';
  if (typeof module === 'string' || isBytes(module)) return 'read it first: client.compile(await client.load(text))';
  if (isOp(module)) return 'end its builder: client.compile(builder.build(result))';
  if (isBuilder(module)) return 'end it: client.compile(builder.build(result))';
  if (isExecutable(module)) return 'it is compiled already: call its execute()';
  return undefined;
});

/**
 * @param {XlaError} error of execute()
 * @param {readonly { name: string, shape: any }[]} parameters
 * @param {any} args of one device, as they were given
 * @param {() => object} sides those of named arguments
 */
export const executeAdvice = (error, parameters, args, sides) => advised(error, () => {
  const names = parameters.map(({ name }) => name).slice(0, 3).join(', ');
  if (isPromise(args)) return 'await it';
  const { argument, isUnnamed } = factsOf(error);
  if (!Array.isArray(args)) {
    const isTree = typeof args === 'object' && !ArrayBuffer.isView(args);
    const promised = isTree && Object.keys(args).find((name) => isPromise(args[name]));
    if (isTree && promised !== undefined) return `${promised} is a Promise: await it`;
    if (isUnnamed) return tableOfNames(sides());
    if (argument !== undefined) return valueAdvice(sides().pairs[argument]?.value, parameters[argument].shape);
    if (args instanceof Map) return 'make an object of it: execute(Object.fromEntries(map))';
    if (isArgument(args)) return byName(parameters) ?? `the arguments are one list: execute([${names}])`;
    if (typeof args === 'number') return `the arguments are one list, or an object of names: execute([${names}])`;
    return undefined;
  }
  if (args.length !== parameters.length) {
    const isOne = parameters.length === 1 && parameters[0].shape.rank > 0 && args.slice(0, SHOWN).findIndex((item) => typeof item !== 'number') < 0;
    return isOne ? `these numbers are one argument, and the arguments are a list: execute([[${args.slice(0, 3)}${args.length > 3 ? ', ...' : ''}]])` : byName(parameters);
  }
  return argument === undefined ? undefined : valueAdvice(args[argument], parameters[argument].shape);
});

const SHOWN = 1000; // of a list that may be sparse and long
const MANY = 3; // parameters, which are easier to give by name

/** Returns a sample of an object of arguments by name; JAX's `params['w']` and `params['b']` become one `params`. */
function byName(parameters) {
  const heads = [...new Set(parameters.map(({ name }) => name.split(/[^A-Za-z0-9_]|__/)[0]))];
  if (parameters.length <= MANY || heads.length > 2 * MANY || heads.includes('')) return undefined;
  return `by name it is execute({ ${heads.join(', ')} })`;
}

function valueAdvice(value, shape) {
  if (isPromise(value)) return 'await it';
  if (value === undefined || value === null) return 'the argument is missing';
  if (typeof value === 'string') return 'a text is no argument: read it by JSON.parse(), or a file by readNpy()';
  if (!shape.isArray) return undefined;
  if (Array.isArray(value) && value.length === 1 && isArgument(value[0])) {
    return 'this is a list of results, as execute() returns it: take the first, as in const [y] = await executable.execute(…)';
  }
  const own = isLiteral(value) || isBuffer(value) ? value.shape : undefined;
  const dimensions = own?.dimensions ?? dimensionsOf(value);
  const literal = isBuffer(value) ? 'buffer.toLiteral()' : 'literal';
  const steps = [];
  if (own && own.elementType !== shape.elementType) steps.push(`.convert('${shape.elementType}')`);
  if (String(dimensions) !== String(shape.dimensions)) {
    const permutation = own && permutationOf(dimensions, shape.dimensions);
    if (!permutation) return shapeAdvice(value, dimensions, shape);
    steps.push(`.transpose([${permutation}])`);
  }
  return steps.length ? `make it fit by ${literal}${steps.join('')}` : undefined;
}

function shapeAdvice(value, dimensions, shape) {
  if (!dimensions) return undefined;
  const text = (list) => String(list.filter((size) => size !== 1));
  if (dimensions.length && dimensions.length === shape.rank && dimensions.every((size, i) => i === 0 || size === shape.dimensions[i])) {
    return `the program is for ${shape.dimensions[0]} in dimension 0; if that is a batch, export the program with a symbolic size, ` +
      'or that of one example and client.vmap() it';
  }
  if (Array.isArray(value) && permutationOf(dimensions, shape.dimensions)) {
    return `its dimensions are [${dimensions}], in another order: Literal.from(value).transpose([${permutationOf(dimensions, shape.dimensions)}])`;
  }
  if (text(dimensions) === text(shape.dimensions) && dimensions.length < shape.rank) {
    return `it lacks ${shape.rank - dimensions.length === 1 ? 'a dimension' : 'dimensions'} of 1, such as a batch: put it into [ ], or reshape it`;
  }
  const count = dimensions.reduce((product, size) => product * size, 1);
  if (count === shape.elementCount && Array.isArray(value)) {
    return `it has as many elements in dimensions [${dimensions}]: a typed array of all of them fits, row-major`;
  }
  return undefined;
}

/** Returns the dimensions of nested arrays, by their first elements. */
function dimensionsOf(value) {
  const dimensions = [];
  for (let inner = value; Array.isArray(inner) && dimensions.length < 16; inner = inner[0]) dimensions.push(inner.length);
  return Array.isArray(value) ? dimensions : undefined;
}

/** Returns the permutation that turns dimensions `from` into `to`: the reverse one, or the only one. */
function permutationOf(from, to) {
  if (from.length !== to.length || from.length < 2 || from.length > 8) return undefined;
  if ([...from].reverse().join() === to.join()) return [...from.keys()].reverse();
  const left = [...from.keys()];
  const order = to.map((size) => left.splice(left.findIndex((i) => from[i] === size), 1)[0]);
  return order.every((i, k) => from[i] === to[k]) && new Set(from).size === from.length ? order : undefined;
}
