/**
 * The kinds of an operation's arguments, and the matching of a call's arguments with the operation's
 * parameters. A kind is a function. It converts an argument to the form that the operation's row expects, and
 * returns undefined if the argument is not of the kind. `kind.wants` describes the kind for errors.
 */
import { MAX_RANK } from '../base/constants.mjs';
import { describe, invalidArgument, reasonOf } from '../base/error.mjs';
import { boolean, copyList, isPlainObject, kind, string, unknownName } from '../base/options.mjs';
import { coreOf } from '../objects/handle.mjs';
import { isLiteral } from '../values/literal.mjs';
import { isShape, Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES, typeByOtherName } from '../values/types.mjs';
import { isOp } from './op.mjs';

const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);

export function listOf(item, wants, type = `readonly ${item.type}[]`) {
  return kind(wants, (value, context) => {
    if (!isList(value)) return undefined;
    const items = copyList(value, context);
    for (let i = 0; i < items.length; i++) {
      items[i] = item(items[i], context);
      if (items[i] === undefined) return undefined;
    }
    return items;
  }, type);
}

/** An operand: an XlaOp of the same builder, or of an enclosing builder if a function is traced. */
export const op = operandKind('an XlaOp', 'XlaOp', (value, context) => {
  const { builder, adopt, operation, argument } = context;
  if (!isOp(value)) return undefined;
  const own = value.builder === builder ? value : adopt(value, argument);
  if (own) return own;
  const why = coreOf(value.builder) !== coreOf(builder) ? ': they are of two clients'
    : value.builder.disposed ? ': the other one was built already' : '';
  throw invalidArgument(
    operation,
    `${argument} is an XlaOp of builder "${value.builder.name}"; ` +
      `the operands of an operation are of its own builder, "${builder.name}"${why}`,
  );
});
export const ops = listOf(op, 'an array of XlaOps');
/** An array of operands, or one operand, which becomes an array of one. */
export const opOrOps = operandKind('an XlaOp or an array of them', 'Operands', (value, context) =>
  isOp(value) ? [op(value, context)] : ops(value, context));

/** A kind whose values are operands, so that an XlaOp's method can take the XlaOp for it. */
function operandKind(wants, type, convert) {
  return Object.assign(kind(wants, convert, type), { isOperand: true });
}

/* ---- Numbers as operands: constants of the type that another argument gives ---- */

const isScalar = (value) => ['number', 'bigint', 'boolean'].includes(typeof value);

/** Makes a constant of a number; returns an operand unchanged. */
function constantOf(value, elementType, { builder, operation, argument }) {
  if (isOp(value)) return value;
  if (!elementType) {
    throw invalidArgument(
      operation,
      `${argument} is the number ${describe(value)}, whose type nothing says; ` +
        'at least one operand must be an XlaOp',
    );
  }
  try {
    return builder.constantR0(value, elementType);
  } catch (error) {
    if (error.code !== 'INVALID_ARGUMENT') throw error;
    const isFraction = typeof value === 'number' && !Number.isInteger(value) && /^[su]\d/.test(elementType);
    throw invalidArgument(operation, `${argument}: ${reasonOf(error)}${isFraction ? "; convert the other operand: x.convertElementType('f32')" : ''}`);
  }
}

const scalarOr = (operand) => (value, context) =>
  isScalar(value) ? value : operand(value, context);

/** Returns the element type of an argument: an operand, or element `i` of an array of operands. */
function typeOf(argument, i = 0) {
  const given = Array.isArray(argument) ? argument[i] : argument;
  return isOp(given) ? given.shape.elementType : given?.elementType;
}

/**
 * An operand, or a number: a scalar constant of the element type of the argument `other` (an
 * operand or a shape), which the operation broadcasts.
 */
export function operandLike(other) {
  return Object.assign(operandKind('an XlaOp or a number', 'Operand', scalarOr(op)), {
    settle: (value, bound, context) => constantOf(value, typeOf(bound[other]), context),
  });
}

/** As operandLike, for operations that do not broadcast: the constant gets the dimensions of `other`, too. */
export function operandOfShape(other) {
  return Object.assign(operandKind('an XlaOp or a number', 'Operand', scalarOr(op)), {
    settle(value, bound, context) {
      if (isOp(value)) return value;
      const scalar = constantOf(value, typeOf(bound[other]), context);
      const { dimensions } = bound[other].shape;
      return dimensions.length ? context.builder.broadcast(scalar, dimensions) : scalar;
    },
  });
}

const scalarsOrOps = listOf(scalarOr(op), 'an array of XlaOps and numbers', 'readonly Operand[]');

/** One or several operands, or numbers; number i becomes a constant of the type of element i of the argument `other`. */
export function operandsLike(other) {
  const convert = (value, context) =>
    isOp(value) || isScalar(value) ? [scalarOr(op)(value, context)] : scalarsOrOps(value, context);
  const wants = 'an XlaOp, a number, or an array of them';
  return Object.assign(operandKind(wants, 'Operand | readonly Operand[]', convert), {
    settle: (values, bound, context) =>
      values.map((value, i) => constantOf(value, typeOf(bound[other], i), context)),
  });
}

/** Indices or sizes, one per dimension: scalar operands, and numbers, which get the operands' type (default s32). */
const indexType = (values) => values.find(isOp)?.shape.elementType ?? 's32';
export const index = Object.assign(operandKind('an XlaOp or an integer', 'Operand', scalarOr(op)), {
  settle: (value, _bound, context) => constantOf(value, 's32', context),
});
export const indices = Object.assign(
  operandKind(
    'an XlaOp, or an array of XlaOps and integers',
    'XlaOp | readonly Operand[]',
    (value, context) => {
      if (isOp(value)) return [op(value, context)];
      if (isList(value) && value.length > MAX_RANK) {
        throw invalidArgument(context.operation, `${context.argument} has ${value.length} entries; ` +
          `an array has at most ${MAX_RANK} dimensions`);
      }
      return scalarsOrOps(value, context);
    },
  ),
  {
    settle(values, _bound, context) {
      const type = indexType(values);
      return values.map((value) => constantOf(value, type, context));
    },
  },
);

export const integer = kind('an integer', (value) => {
  const number = typeof value === 'bigint' ? Number(value) : value;
  return Number.isSafeInteger(number) ? number : undefined;
}, 'number');
export const integers = listOf(integer, 'an array of integers', 'Integers');
export const integerLists = listOf(integers, 'an array of arrays of integers');
export const pairs = kind('an array of pairs of integers', (value, context) => {
  const lists = integerLists(value, context);
  return lists?.every((pair) => pair.length === 2) ? lists : undefined;
}, 'Pairs');
export const number = kind('a finite number', (value) =>
  Number.isFinite(value) ? value : undefined, 'number');
export const booleans = listOf(boolean, 'an array of booleans');
export { boolean, string };

export const shape = kind('a shape, such as "f32[2,3]"', (value) =>
  typeof value === 'string' || isShape(value) ? Shape.of(value) : undefined, 'ShapeLike');
export const elementType = kind('an element type, such as "f32"', (value, context) => {
  if (ELEMENT_TYPES.has(value)) return value;
  const meant = typeByOtherName(value);
  if (!meant) return undefined;
  const { operation, argument } = context;
  throw invalidArgument(operation, `${argument}: ${describe(value)} is no element type; ` +
    `did you mean ${meant}?`);
}, 'ElementType');

/** One of a few words, in upper or lower case. The k in front of XLA's constants is allowed. */
export function oneOf(...words) {
  return kind(`one of ${words.map((word) => `"${word}"`).join(', ')}`, (value) =>
    typeof value === 'string'
      ? words.find((word) => word.toLowerCase() === value.toLowerCase().replace(/^k(?=[A-Z])/, ''))
      : undefined, words.map((word) => `'${word}'`).join(' | '));
}

/** PrecisionConfig: one word for both operands, or one for each. */
const precisionWord = oneOf('default', 'high', 'highest');
export const precision = kind(`${precisionWord.wants}, or an array of two`, (value, context) => {
  const words = Array.isArray(value) ? copyList(value) : [value, value];
  const converted = words.map((word) => precisionWord(word, context));
  return converted.includes(undefined) ? undefined : converted;
}, 'Precision | readonly [Precision, Precision]');

const paddingWord = oneOf('SAME', 'VALID');
export const padding = kind('"SAME", "VALID" or an array of [low, high]', (value, context) =>
  typeof value === 'string' ? paddingWord(value) : pairs(value, context), 'Padding');

/** Either of two kinds. */
export function either(first, second) {
  const convert = (value, context) => {
    const converted = first(value, context);
    return converted === undefined ? second(value, context) : converted;
  };
  const takesObject = first.takesObject || second.takesObject;
  const type = `${first.type} | ${second.type}`;
  const among = [first, second];
  return Object.assign(kind(`${first.wants} or ${second.wants}`, convert, type), { takesObject, among });
}

/** An object with fields of these kinds, such as dimension numbers; `type` is its interface. */
export function record(fields, type) {
  const convert = (value, context) => {
    if (!isPlainObject(value)) return undefined;
    return bindByName(fields, value, (field) => `${context.argument}.${field}`, context);
  };
  return Object.assign(kind(`an object with ${Object.keys(fields).join(', ')}`, convert, type), {
    takesObject: true,
    fields,
  });
}

/** An argument that may be left out, null or undefined; then it is `value`. */
export function optional(inner, value) {
  const convert = (given, context) => inner(given, context);
  return Object.assign(convert, inner, { isOptional: true, default: value });
}

/**
 * Binds a call's arguments to parameter names. Arguments are positional; an object in the place of the first optional
 * one gives the optional ones by name.
 * @param {Record<string, Function>} parameters kinds by name, in order
 * @param {any[]} values
 * @param {{builder: object, operation: string}} context
 */
export function bindArguments(parameters, values, context) {
  const { names, required } = signatureOf(parameters);
  const rest = names.slice(required);
  const last = values[required];
  const byName = rest.length && values.length === required + 1 && isPlainObject(last);
  const positional =
    byName && !parameters[rest[0]].takesObject ? values.slice(0, required) : values;
  const bound = {}, own = { ...context, argument: '' };
  for (let i = 0; i < names.length; i++) {
    own.argument = names[i];
    bound[own.argument] = bindOne(parameters[own.argument], positional[i], own);
  }
  if (positional.length > names.length) {
    throw invalidArgument(
      context.operation,
      `${values.length} arguments are more than the ${names.length} there are: ${names.join(', ')}`,
    );
  }
  if (positional === values) return bound;
  const optionals = Object.fromEntries(rest.map((name) => [name, parameters[name]]));
  return Object.assign(bound, bindByName(optionals, last, (name) => name, context));
}

/** The names of an operation's parameters, how many are required, and those that are settled. */
const signatures = new WeakMap();
function signatureOf(parameters) {
  let signature = signatures.get(parameters);
  if (!signature) {
    const names = Object.keys(parameters);
    const required = names.filter((name) => !parameters[name].isOptional).length;
    signature = { names, required, settled: names.filter((name) => parameters[name].settle) };
    signatures.set(parameters, signature);
  }
  return signature;
}

/**
 * Converts arguments that depend on others: numbers become constants, functions computations. Only
 * this step adds to the builder, after all arguments have been checked.
 */
export function settleArguments(parameters, bound, context) {
  for (const argument of signatureOf(parameters).settled) {
    if (bound[argument] === undefined) continue;
    bound[argument] = parameters[argument].settle(bound[argument], bound, { ...context, argument });
  }
  return bound;
}

function bindByName(fields, values, nameOf, context) {
  for (const name of Object.keys(values)) {
    if (Object.hasOwn(fields, name)) continue;
    throw unknownName(context.operation, name, Object.keys(fields), nameOf(''));
  }
  const bound = {};
  for (const [name, fieldKind] of Object.entries(fields)) {
    bound[name] = bindOne(fieldKind, values[name], { ...context, argument: nameOf(name) });
  }
  return bound;
}

function bindOne(argumentKind, value, context) {
  const { operation, argument } = context;
  if (value === undefined || value === null) {
    if (argumentKind.isOptional) return argumentKind.default;
    throw invalidArgument(operation, `${argument} is missing; it must be ${argumentKind.wants}`);
  }
  const converted = argumentKind(value, context);
  if (converted !== undefined) return converted;
  const isConstant = argumentKind.isOperand && (isList(value) || isLiteral(value) || isScalar(value));
  const advice = isConstant ? '; make an operand of it by constant(value, shape)'
    : argumentKind.wants === integers.wants && Number.isInteger(value) ? `; an array is written in [ ]: [${value}, ...]` : '';
  throw invalidArgument(operation, `${argument} must be ${argumentKind.wants}; got ${describe(value)}${advice}`);
}

/**
 * A row of the table of operations.
 * @typedef {object} Operation
 * @property {string} opcode as errors name it
 * @property {Record<string, Function>} parameters the documented arguments in the documented order
 * @property {(emit: Function, bound: any, builder: any) => any} lower emit(operands, attributes,
 *   shape) adds the row's opcode; an operation that consists of several calls the builder's methods
 * @returns {Operation}
 */
export function row(opcode, parameters, lower) {
  return { opcode, parameters, lower };
}

/**
 * An operation of several signatures.
 * @param {(values: any[]) => Operation} rowOf chooses the row by a call's arguments
 * @param {readonly Operation[]} rows all of them
 */
export function overloaded(rowOf, rows) {
  return { rowOf, rows };
}
