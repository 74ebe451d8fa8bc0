/** Lowers control flow, calls, tuples, and transfers to the host and other programs. */
import { API_VERSIONS, apiVersionText, configText, quote } from '../base/attribute_text.mjs';
import { Shape } from '../values/shape.mjs';
import { numbersOf } from './context.mjs';
import { custom } from './custom_calls.mjs';
import { Frame, tupled, untupled } from './frame.mjs';
import { Dense, Dictionary, malformed, nameOf } from './ir.mjs';
import { dictionaryText } from './print.mjs';
import { shapeOf } from './types.mjs';

/* ---- Regions that capture values ---- */

const freeValues = new WeakMap();

/** The free values of a region. @returns {Set<import('./ir.mjs').Value>} */
function freeOf(region) {
  if (freeValues.has(region)) return freeValues.get(region);
  const made = new Set(region.arguments);
  const free = new Set();
  for (const operation of region.operations) {
    for (const value of operation.operands) if (!made.has(value)) free.add(value);
    for (const inner of operation.regions) {
      for (const value of freeOf(inner)) if (!made.has(value)) free.add(value);
    }
    for (const value of operation.results) made.add(value);
  }
  freeValues.set(region, free);
  return free;
}

/** Small constants are repeated inside the region, so that their values are known there. */
const isSmallConstant = ({ owner }) => owner?.name === 'stablehlo.constant' &&
  owner.attributes.value instanceof Dense && !owner.attributes.value.bytes &&
  owner.attributes.value.data?.length <= 64;

/** Returns the captured values of regions, which become further arguments. */
function captures(c, regions) {
  const all = new Set();
  for (const region of regions) for (const value of freeOf(region)) all.add(value);
  const inside = new Frame(c.b, c.frame);
  return [...all].filter((value) =>
    !isSmallConstant(value) && !c.lowering.knownOutside(inside, value));
}

/**
 * A region as a computation of one parameter, which holds its arguments and the captured values.
 * @param {boolean} passes whether it returns the captured values, after its results
 */
function stateComputation(c, region, shapes, captured, name, passes) {
  const { lowering } = c;
  if (region.arguments.length + captured.length !== shapes.length) {
    throw malformed(`a region takes ${region.arguments.length} arguments, not ` +
      `${shapes.length - captured.length}`);
  }
  const builder = lowering.builder(name);
  const state = builder.parameter(0, stateShape(shapes));
  const parts = shapes.length === 1 ? [state] : untupled(builder, state);
  const inner = new Frame(builder, c.frame);
  [...region.arguments, ...captured].forEach((value, i) => inner.set(value, parts[i]));
  const results = lowering.body(inner, region);
  const rest = passes ? parts.slice(region.arguments.length) : [];
  return lowering.keep(builder.build(tupled(builder, [...results, ...rest])));
}

const stateShape = (shapes) => (shapes.length === 1 ? shapes[0] : Shape.tuple(shapes));

function whileLoop(c) {
  const [cond, body] = [c.region(0), c.region(1)];
  const captured = captures(c, [cond, body]);
  const state = [...c.in, ...captured.map((value) => c.lowering.value(c.frame, value))];
  const shapes = state.map(({ shape }) => shape);
  const condition = stateComputation(c, cond, shapes, captured, 'cond', false);
  const step = stateComputation(c, body, shapes, captured, 'body', true);
  const result = c.emit('while', [tupled(c.b, state)], { condition, body: step }, undefined, stateShape(shapes));
  const all = shapes.length === 1 ? [result] : untupled(c.b, result);
  return all.slice(0, c.in.length);
}

/** Lowers branches; all of them take the values that any of them captures. */
function branches(c) {
  const { regions } = c.operation;
  if (!regions.length) throw malformed('needs branches');
  const captured = captures(c, regions);
  const state = captured.map((value) => c.lowering.value(c.frame, value));
  const shapes = state.map(({ shape }) => shape);
  const operand = tupled(c.b, state);
  const computations = regions.map((region, i) =>
    stateComputation(c, region, shapes, captured, `branch_${i}`, false));
  return { operand, computations };
}

function caseOf(c) {
  const known = c.known(0);
  const { regions } = c.operation;
  // For the sizes or the platform of this lowering, only one of the branches may be valid.
  if (known && c.lowering.folds) {
    const index = Number(known[0]);
    return inlined(c, regions[index >= 0 && index < regions.length ? index : regions.length - 1]);
  }
  const { operand, computations } = branches(c);
  const operands = [c.x, ...computations.map(() => operand)];
  return c.emit('conditional', operands, { branch_computations: computations });
}

function ifThen(c) {
  const known = c.known(0);
  if (known && c.lowering.folds) return inlined(c, c.region(known[0] ? 0 : 1));
  const { operand, computations } = branches(c);
  if (computations.length !== 2) throw malformed('needs two branches');
  return c.emit('conditional', [c.x, operand, operand], {
    true_computation: computations[0], false_computation: computations[1],
  });
}

function inlined(c, region) {
  return c.lowering.body(c.frame, region);
}

/* ---- Calls ---- */

const call = (c) => c.lowering.call(c.string('callee'), c.frame, c.in, c.operation);

function apiVersion(c) {
  const value = c.attribute('api_version');
  if (c.attribute('mhlo.backend_config') instanceof Dictionary) return 'API_VERSION_TYPED_FFI';
  return apiVersionText(typeof value === 'string' ? API_VERSIONS.indexOf(value) : c.int('api_version', 0));
}

function backendConfig(c) {
  const value = c.attribute('backend_config') || c.attribute('mhlo.backend_config');
  if (value instanceof Dictionary) return dictionaryText(value.entries);
  if (typeof value !== 'string' || !value) return undefined;
  return configText(value);
}

/** A layout is a list, minor to major. */
function withLayout(shape, layout, isSpelled) {
  const order = numbersOf(layout);
  if (!shape.isArray || !order || order.length !== shape.rank) return String(shape);
  return isSpelled || shape.rank ? `${shape}{${order}}` : String(shape);
}

/** A result, or the elements of a tuple, in the stated layouts. */
function laidOut(shape, layouts) {
  if (!Array.isArray(layouts) || !layouts.length) return shape;
  if (!shape.isTuple) return Shape.parse(withLayout(shape, layouts[0]));
  if (layouts.length !== shape.tupleShapes.length) return shape;
  return Shape.tuple(shape.tupleShapes.map((part, i) => Shape.parse(withLayout(part, layouts[i]))));
}

/** {{0}: (1, {})} */
function aliases(c) {
  const list = c.attribute('output_operand_aliases');
  if (!Array.isArray(list) || !list.length) return undefined;
  return `{${list.map(({ fields = {} }) => {
    const index = (name) => `{${numbersOf(fields[name]) ?? ''}}`;
    const operand = fields.operand_index?.value ?? fields.operand_index ?? 0;
    return `${index('output_tuple_indices')}: (${operand}, ${index('operand_tuple_indices')})`;
  }).join(', ')}}`;
}

/**
 * Returns the numbers of a custom_call's operands that hold the sizes of its results, in order, in
 * programs of unknown sizes. The call itself does not get these operands.
 * @returns {number[]}
 */
function sizeOperands(c) {
  const indices = c.ints('indices_of_shape_operands', []);
  if (!indices.length || indices.length === c.operation.results.length) return indices;
  throw malformed(`indices_of_shape_operands names ${indices.length} operands for ${c.operation.results.length} results`);
}

/** Lowers custom_call; its result is one array, or a tuple of the declared results. */
function customCall(c) {
  const target = c.string('call_target_name');
  if (custom[target]) return custom[target](c);
  const sizes = sizeOperands(c);
  const declared = c.operation.results.map((_, i) =>
    (sizes.length ? Shape.array(c.elementType(i), c.sizes(sizes[i])) : c.shape(i)));
  const whole = declared.length === 1 ? declared[0] : Shape.tuple(declared);
  const shape = laidOut(whole, c.attribute('result_layouts'));
  const isPassed = (_, i) => !sizes.includes(i);
  const operands = c.in.filter(isPassed);
  const layouts = c.attribute('operand_layouts');
  const operandLayouts = layouts?.length && Array.isArray(layouts) ? layouts.filter(isPassed) : undefined;
  const called = c.attribute('called_computations') ?? [];
  return c.emit('custom-call', operands, {
    custom_call_target: quote(target),
    operand_layout_constraints: operandLayouts &&
      operands.map(({ shape: s }, i) => withLayout(s.withoutLayout(), operandLayouts[i], true)),
    called_computations: called.length ? called.map((name) => functionOf(c, nameOf(name))) : undefined,
    custom_call_has_side_effect: c.bool('has_side_effect') || undefined,
    output_to_operand_aliasing: aliases(c),
    api_version: apiVersion(c),
    backend_config: backendConfig(c),
  }, shape);
}

function functionOf(c, name) {
  const [region] = c.lowering.function(name).regions;
  return c.lowering.computation(c.frame, region, region.arguments.map(({ type }) => shapeOf(type, name)), name);
}

/* ---- Infeed, outfeed, send and receive ---- */

/** All results but the last, which is a token: one shape, or a tuple. */
function dataShapes(c) {
  return c.operation.results.slice(0, -1).map((_, i) => c.shape(i));
}

function received(c, pair, count) {
  const data = c.b.getTupleElement(pair, 0);
  const parts = count === 1 ? [data] : untupled(c.b, data);
  return [...parts, c.b.getTupleElement(pair, 1)];
}

function infeed(c) {
  const shapes = dataShapes(c);
  const config = c.string('infeed_config', '');
  return received(c, c.b.infeedWithToken(c.x, stateShape(shapes), config || undefined), shapes.length);
}

function outfeed(c) {
  const token = c.in.at(-1);
  const data = tupled(c.b, c.in.slice(0, -1));
  const config = c.string('outfeed_config', '');
  return c.b.outfeedWithToken(data, token, data.shape, config || undefined);
}

function send(c) {
  const token = c.in.at(-1);
  const data = tupled(c.b, c.in.slice(0, -1));
  const method = c.bool('is_host_transfer') ? 'sendToHost' : 'sendWithToken';
  return c.b[method](data, token, c.int('channel_id'));
}

function recv(c) {
  const shapes = dataShapes(c);
  const method = c.bool('is_host_transfer') ? 'recvFromHost' : 'recvWithToken';
  return received(c, c.b[method](c.x, stateShape(shapes), c.int('channel_id')), shapes.length);
}

/* ---- Tuples and tokens ---- */

/** The shape is the tuple's, which may have a layout. */
function getTupleElement(c) {
  const index = c.int('index');
  return c.emit('get-tuple-element', [c.x], { index }, undefined, c.x.shape.tupleShapes?.[index] ?? null);
}

/** All operands pass one barrier, as a tuple. */
function optimizationBarrier(c) {
  if (!c.in.length) return [];
  const result = c.emit('opt-barrier', [tupled(c.b, c.in)]);
  return c.in.length === 1 ? [result] : untupled(c.b, result);
}

/** Runs the body at the start; async-done has no effect. */
function asyncStart(c) {
  const called = nameOf(c.attribute('called_computation')); // MHLO's, instead of a region
  const results = called === undefined ? inlinedRegion(c, c.region(0)) : c.lowering.call(called, c.frame, c.in, c.operation);
  return [tupled(c.b, results)];
}

/** The results of a region for the operation's operands. */
function inlinedRegion(c, region) {
  const inner = new Frame(c.b, c.frame);
  inner.values = new Map(c.frame.values);
  region.arguments.forEach((value, i) => inner.set(value, c.in[i]));
  return c.lowering.body(inner, region);
}

export const control = {
  'stablehlo.while': whileLoop,
  'stablehlo.case': caseOf,
  'stablehlo.if': ifThen,
  'func.call': call,
  'stablehlo.custom_call': customCall,
  'stablehlo.infeed': infeed,
  'stablehlo.outfeed': outfeed,
  'stablehlo.send': send,
  'stablehlo.recv': recv,
  'stablehlo.after_all': (c) => c.b.afterAll(c.in),
  'stablehlo.create_token': (c) => c.b.createToken(),
  'stablehlo.optimization_barrier': optimizationBarrier,
  'stablehlo.tuple': (c) => c.b.tuple(c.in),
  'stablehlo.get_tuple_element': getTupleElement,
  'stablehlo.async_start': asyncStart,
  'mhlo.fusion': (c) => inlinedRegion(c, c.region(0)),
  'stablehlo.async_update': (c) => c.x,
  'stablehlo.async_done': (c) => c.x,
};
