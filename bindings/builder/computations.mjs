/**
 * Computations as arguments: a module that was built, the name of an operation ('add'), or a
 * function that builds one, `(b, x, y) => b.add(x, y)`. A function's parameters follow from the
 * other arguments. Bodies of while, conditional, call and map may capture values of enclosing builders: these
 * become further parameters of the computation, and further operands of the operation.
 */
import { callersFunction } from '../base/boundary.mjs';
import { describe, invalidArgument, XlaError } from '../base/error.mjs';
import { kind, unknownName } from '../base/options.mjs';
import { HloModule } from '../objects/module.mjs';
import { Shape } from '../values/shape.mjs';
import { listOf } from './arguments.mjs';
import { elementsOf, isOp } from './op.mjs';
import { OTHER_NAMES } from './other_names.mjs';

/** The result of a builder's build(), or any module: its entry computation. */
export const computation = kind('a computation', (value) =>
  value instanceof HloModule ? value : undefined, 'XlaComputation');

/** Whether a value can be called; classes cannot. */
const isFunction = (value) => typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value));

/** A computation, or a function that builds one; the operation states the function's parameters. */
export const body = kind('a computation or a function that builds one', (value, context) =>
  isFunction(value) ? value : computation(value, context), 'XlaComputation | Body');

export const bodies = listOf(
  body, 'an array of computations or functions', 'readonly (XlaComputation | Body)[]');

/**
 * A computation that combines scalars and captures no values; it may also be the name of an operation.
 * @param {(bound: any) => Shape[]} shapesOf its parameters' shapes, from the call's other arguments
 */
export function combiner(shapesOf) {
  const convert = (value, context) =>
    typeof value === 'string' ? value : body(value, context);
  return Object.assign(
    kind('a computation, the name of an operation, or a function (b, x, y) => result', convert,
      'Combiner'),
    {
      settle(value, bound, context) {
        if (value instanceof HloModule) return value;
        const shapes = shapesOf(bound);
        if (isFunction(value)) {
          return context.trace(value, shapes, { name: context.argument, sealed: true }).module;
        }
        return namedComputation(value, shapes, context);
      },
    },
  );
}

/** Returns a scalar shape of the type of each operand. */
export const scalarsOf = (...lists) =>
  lists.flat().map(({ shape }) => Shape.array((shape.leaves()[0] ?? shape).elementType));

const AVERAGES = ['mean', 'average', 'avg'];

/** The computation of one operation on the parameters: in a comparator, on the first two. */
function namedComputation(name, shapes, context) {
  const { operation, argument, elementwise } = context;
  const arity = elementwise.get(name);
  if (arity === undefined) throw unknownOperation(name, shapes.length, context);
  const isComparator = shapes.length > arity && operation === 'sort';
  if (arity !== shapes.length && !isComparator) {
    throw invalidArgument(
      operation,
      `${argument} has ${shapes.length} parameters, of which "${name}" takes ${arity}; ` +
        'a function can say what becomes of them',
    );
  }
  const apply = (b, ...parameters) => b[name](...parameters.slice(0, arity));
  return context.trace(apply, shapes, { name, sealed: true }).module;
}

/** @returns {XlaError} to be thrown: the name is that of no operation with `arity` operands */
function unknownOperation(name, arity, { operation, argument, elementwise }) {
  const word = name.toLowerCase();
  if (AVERAGES.includes(word)) {
    return invalidArgument(operation, `${argument}: "${name}" does not combine two values: use "add", and divide by the count`);
  }
  if (Object.hasOwn(OTHER_NAMES, word)) {
    return invalidArgument(operation, `${argument}: "${name}" is not known here; did you mean "${OTHER_NAMES[word]}"?`);
  }
  const known = [...elementwise.keys()].filter((other) => elementwise.get(other) === Math.min(arity, 2));
  return unknownName(operation, `"${name}"`, known.map((other) => `"${other}"`), `${argument}: `);
}

/**
 * The results of a traced function, as XlaOps of its builder.
 * @returns {import('./op.mjs').XlaOp[]}
 */
export function resultsOf(returned, types, context) {
  const list = Array.isArray(returned) ? returned : [returned];
  return list.map((value, i) => {
    if (isOp(value)) {
      const own = value.builder === context.builder ? value : context.adopt(value, 'its result');
      if (own) return own;
    } else if (types?.[i] && ['number', 'bigint', 'boolean'].includes(typeof value)) {
      return context.builder.constantR0(value, types[i].elementType);
    }
    throw invalidArgument(
      context.operation,
      `the function for ${context.argument} must return an XlaOp of its builder, or an array of ` +
        `them; got ${describe(value)}`,
    );
  });
}

/** Calls the caller's function with the builder and the parameters of the computation. */
export function callBody(fn, builder, parameters) {
  return callersFunction(() => fn(builder, ...parameters));
}

/* ---- Bodies that may capture values ---- */

/**
 * A body in the form that loops and branches call: its parameter is one tuple of its own parameters
 * and then all captured values.
 * @param {object} traced { module, captures, tuple: whether it returns a tuple } of trace()
 * @param {Shape[]} shapes of the parameters
 * @param {import('./op.mjs').XlaOp[]} captures all of the operation's
 * @param {boolean} isState whether the result is the next state, which includes the captured values
 */
function packed(b, traced, shapes, captures, isState) {
  const wrapper = b.createSubBuilder(traced.module.name);
  const parameter = wrapper.parameter(0, Shape.tuple([...shapes, ...captures.map((c) => c.shape)]));
  const elements = elementsOf(parameter);
  const outer = (capture) => elements[shapes.length + captures.indexOf(capture)];
  const own = elements.slice(0, shapes.length);
  const result = traced.call(wrapper, own, traced.captures.map(outer));
  if (!isState) return wrapper.build(result);
  const next = traced.isTuple ? elementsOf(result) : [result];
  return wrapper.build(wrapper.tuple([...next, ...elements.slice(shapes.length)]));
}

/** A module that the caller built, in place of a function: it has one parameter for all values. */
const ofModule = (module, isTuple) => ({
  module,
  captures: [],
  isTuple,
  call: (b, own) => b.call(module, [isTuple ? b.tuple(own) : own[0]]),
});

/** while(condition, body, init) */
export function whileLoop(emit, { condition, body: step, init }, b) {
  const isState = Array.isArray(init);
  if (!isFunction(condition) && !isFunction(step)) {
    return emit([isState ? b.tuple(init) : init], { condition, body: step });
  }
  const isTuple = isState || init.shape.isTuple;
  const state = isState ? init : elementsOf(init);
  const shapes = state.map(({ shape }) => shape);
  const trace = (argument, value, results) =>
    isFunction(value)
      ? emit.trace(value, shapes, { argument, name: argument, results })
      : ofModule(value, isTuple);
  const test = trace('condition', condition);
  const next = trace('body', step, shapes);
  checkState(next, shapes);
  const captures = [...new Set([...test.captures, ...next.captures])];
  const last = emit([b.tuple([...state, ...captures])], {
    condition: packed(b, test, shapes, captures, false),
    body: packed(b, next, shapes, captures, true),
  });
  if (!isTuple) return b.getTupleElement(last, 0);
  return captures.length ? b.tuple(elementsOf(last).slice(0, state.length)) : last;
}

function checkState({ module: { resultShape }, isTuple, call }, shapes) {
  if (!call) return;
  const results = isTuple ? resultShape.tupleShapes : [resultShape];
  const fits = results.length === shapes.length &&
    results.every((shape, i) => shape.compatible(shapes[i]));
  if (fits) return;
  throw invalidArgument(
    'while',
    `body returns (${results.join(', ')}); it must return the next state, (${shapes.join(', ')})`,
  );
}

/** A branch with the values that it captures: { computation, operand }. */
function branch(emit, b, argument, value, operand) {
  if (!isFunction(value)) return { computation: value, operand };
  const shapes = operand ? [operand.shape] : [];
  const traced = emit.trace(value, shapes, { argument, name: argument });
  const { captures } = traced;
  const inputs = operand ? [operand, ...captures] : captures;
  if (inputs.length === 1) return { computation: traced.module, operand: inputs[0] };
  return {
    computation: packed(b, traced, shapes, captures, false),
    operand: b.tuple(inputs),
  };
}

/** conditional(pred, trueOperand, trueComputation, falseOperand, falseComputation), or without the
 * operands, of functions. */
export function conditionalOfTwo(emit, bound, b) {
  const { pred, trueOperand, trueComputation, falseOperand, falseComputation } = bound;
  const onTrue = branch(emit, b, 'trueComputation', trueComputation, trueOperand);
  const onFalse = branch(emit, b, 'falseComputation', falseComputation, falseOperand);
  return emit([pred, onTrue.operand, onFalse.operand], {
    true_computation: onTrue.computation,
    false_computation: onFalse.computation,
  });
}

/** conditional(branchIndex, branchComputations, branchOperands) */
export function conditionalOfMany(emit, { branchIndex, branchComputations, branchOperands }, b) {
  const missing = branchComputations.findIndex((value) => !isFunction(value));
  if (!branchOperands && missing >= 0) {
    throw invalidArgument('conditional', `branchOperands is missing for branch ${missing}; only ` +
      'functions can do without');
  }
  const branches = branchComputations.map((value, i) =>
    branch(emit, b, `branchComputations[${i}]`, value, branchOperands?.[i]));
  const operands = branchOperands && !branchComputations.some(isFunction)
    ? branchOperands
    : branches.map(({ operand }) => operand);
  return emit([branchIndex, ...operands], {
    branch_computations: branches.map((each) => each.computation),
  });
}

/** call(computation, args) */
export function call(emit, { computation: callee, args }) {
  if (!isFunction(callee)) return emit(args, { to_apply: callee });
  const shapes = args.map(({ shape }) => shape);
  const traced = emit.trace(callee, shapes, { argument: 'computation', name: 'call' });
  const { module, captures } = traced;
  return emit([...args, ...captures], { to_apply: module });
}

/** map(operands, computation, dimensions): a captured scalar is equal for all elements. */
export function map(emit, { operands, computation: apply, dimensions }, b) {
  const first = operands[0]?.shape;
  const attributes = { dimensions: dimensions ?? (first?.dimensions.map((_, i) => i) || []) };
  if (!isFunction(apply)) return emit(operands, { ...attributes, to_apply: apply });
  const { module, captures } =
    emit.trace(apply, scalarsOf(operands), { argument: 'computation', name: 'map' });
  const outer = captures.map((value) => {
    if (value.shape.isScalar) return first.rank ? b.broadcast(value, first.dimensions) : value;
    throw invalidArgument(
      'map',
      `the function uses ${value} from outside; besides its parameters it can use scalars only`,
    );
  });
  return emit([...operands, ...outer], { ...attributes, to_apply: module });
}

/** @returns {XlaError} to be thrown: a function that may not capture values did */
export function outsideOfSealed(operation, argument, value) {
  return new XlaError(
    'INVALID_ARGUMENT',
    `${operation}: ${argument} is ${value} from outside of the function; what an operation ` +
      'applies to elements sees its parameters and constants only',
    { operation },
  );
}
