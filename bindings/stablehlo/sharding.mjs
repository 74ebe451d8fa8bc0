/** Reads meshes and shardings of Shardy (sdy) and of XLA, and lowers manual computations. */
import { quote } from '../base/attribute_text.mjs';
import { Shape } from '../values/shape.mjs';
import { numbersOf } from './context.mjs';
import { untupled } from './frame.mjs';
import { Dictionary, Integer, malformed, nameOf, Opaque, Struct } from './ir.mjs';
import { shapeOf } from './types.mjs';

const textOf = (value) => (value instanceof Opaque ? value.text : '');

/**
 * The attributes of the module that computations use: replica_count, num_partitions, and the meshes.
 * @returns {string} as in HLO text; "" if there are none
 */
export function headerOf(module) {
  const parts = [];
  const counts = { 'mhlo.num_replicas': 'replica_count', 'mhlo.num_partitions': 'num_partitions' };
  for (const [attribute, name] of Object.entries(counts)) {
    const count = module.attributes[attribute];
    if (count instanceof Integer && count.value > 1) parts.push(`${name}=${count.value}`);
  }
  const frontend = { ...stringsOf(module.attributes['mhlo.frontend_attributes']) };
  const meshes = module.operations.filter(({ name }) => name === 'sdy.mesh').map(({ attributes }) =>
    `${keyText(nameOf(attributes.sym_name))} = ${textOf(attributes.mesh)}`);
  if (meshes.length) frontend['xla.sdy.meshes'] ??= `{${meshes.join(', ')}}`;
  const entries = Object.entries(frontend).map(([name, text]) => `${name}=${rawOrQuoted(text)}`);
  if (entries.length) parts.push(`frontend_attributes={${entries.join(',')}}`);
  return parts.join(', ');
}

const keyText = (name) => (/^[\w.$-]+$/.test(name) ? name : `"${name}"`);
const rawOrQuoted = (text) => (/^\{[^]*\}$/.test(text) ? text : quote(text));

function stringsOf(value) {
  if (!(value instanceof Dictionary)) return {};
  return Object.fromEntries(Object.entries(value.entries).filter(([, text]) => typeof text === 'string'));
}

/** The text of a mesh of the module; undefined if there is none of that name. */
function meshNamed(module, wanted) {
  const found = module.operations.find(({ name, attributes }) =>
    name === 'sdy.mesh' && nameOf(attributes.sym_name) === wanted);
  return found && textOf(found.attributes.mesh);
}

/** The names and sizes of a mesh's axes: ["x"=2, "y"=4]. */
const axesOfText = (text = '') =>
  [...text.matchAll(/"([^"]+)"\s*=\s*(\d+)/g)].map(([, name, size]) => ({ name, size: Number(size) }));

/** The axes of a mesh that is named, or written out as #stablehlo.mesh; and its devices, where they have an order. */
function meshOf(c, mesh) {
  const text = meshNamed(c.lowering.module, nameOf(mesh)) ?? textOf(mesh);
  const fields = mesh instanceof Struct ? mesh.fields : {};
  const axes = (fields.axes ?? []).map(({ fields: axis = {} }) =>
    ({ name: nameOf(axis.name), size: Number(axis.size?.value ?? axis.size) }));
  const [, ids] = /device_ids=\[([^\]]*)\]/.exec(text) ?? [];
  return { axes: axes.length ? axes : axesOfText(text), devices: numbersOf(fields.device_ids) ?? ids?.split(',').map(Number) };
}

/** Returns a device's coordinate on each axis; the last axis varies fastest. */
function placeOf(axes, device) {
  const place = {};
  let rest = device;
  for (const { name, size } of [...axes].reverse()) {
    place[name] = rest % size;
    rest = Math.floor(rest / size);
  }
  return place;
}

/** { name, size, stride } of an axis that is named, or of a part of one, (pre_size)size. */
function partOf(axes, named) {
  const fields = named instanceof Struct ? named.fields : {};
  const name = nameOf(named) ?? nameOf(fields.name ?? named.list?.[0]);
  const axis = axes.find((candidate) => candidate.name === name);
  const part = fields.sub_axis_info?.fields;
  if (!axis || !part) return axis && { ...axis, stride: 1 };
  const [before, size] = [part.pre_size, part.size].map((value) => Number(value?.value ?? value));
  const stride = axis.size / (before * size);
  return Number.isInteger(stride) && stride > 0 ? { name, size, stride } : undefined;
}

/** Groups of devices that differ along some axes of a mesh only. */
export function groupsOfMesh(c, { fields }) {
  const { axes, devices } = meshOf(c, fields.mesh);
  const wanted = (Array.isArray(fields.axes) ? fields.axes : []).map((axis) => partOf(axes, axis));
  if (!axes.length || wanted.includes(undefined)) {
    throw malformed('replica_groups names axes of a mesh that is not known');
  }
  const count = axes.reduce((n, { size }) => n * size, 1);
  if (count > 4096) throw malformed(`a mesh of ${count} devices`);
  const groups = new Map();
  for (let device = 0; device < count; device++) {
    const place = placeOf(axes, device);
    const at = ({ name, size, stride }) => Math.floor(place[name] / stride) % size;
    const order = wanted.reduce((sum, part) => sum * part.size + at(part), 0);
    for (const part of wanted) place[part.name] -= at(part) * part.stride; // what the others differ in
    const key = Object.values(place).join();
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key)[order] = devices?.[device] ?? device;
  }
  return [...groups.values()];
}

/* ---- Hints: shardings of whole arrays, which have no effect here; unreadable ones are refused ---- */

const spaced = (pattern) => pattern.replaceAll(' ', '\\s*');
const listOf = (item) => spaced(`(?:${item}(?: , ${item})*)?`);
const AXIS = spaced('"[^"]+"(?: : \\( \\d+ \\) \\d+)?');
const AXES = spaced(`\\{ ${listOf(AXIS)} \\}`);
const DIMENSION = spaced(`\\{ ${listOf(`(?:${AXIS}|\\?)`)} \\}(?: p\\d+)?`);
const MESH = '@[\\w.$-]+|@"[^"]+"|mesh<[^>]*>';
const sharding = (group) => spaced(`<${group}${MESH}) , \\[ ${group}${listOf(DIMENSION)}) \\]` +
  `${group}(?: , (?:replicated =|unreduced(?: =)?(?: (?:max|min|sum))?) ${AXES})*) >`);
const PER_VALUE = `_per_value< \\[ ${listOf(sharding('(?:'))} \\] >`;
const WHOLE = new RegExp(`^#sdy\\.sharding(?:${sharding('(?:')}|${spaced(PER_VALUE)})$`);
const EACH = new RegExp(sharding('('), 'g');
const PARTS = /"([^"]+)"(?:\s*:\s*\(\s*(\d+)\s*\)\s*(\d+))?/g;

/** @param {import('./ir.mjs').Module} module @param {any} value an attribute; most are no shardings */
function checkValue(module, value) {
  const text = textOf(value);
  if (!/^#sdy\.sharding(_per_value)?</.test(text)) return;
  if (!WHOLE.test(text)) throw malformed(`the sharding ${text} is not understood`);
  for (const [, mesh, dimensions, others] of text.matchAll(EACH)) {
    const body = mesh[0] === '@' ? meshNamed(module, mesh.replace(/^@"?|"$/g, '')) : mesh;
    if (body === undefined) throw malformed(`the sharding ${text} names ${mesh}, which is no mesh of the program`);
    const axes = axesOfText(body);
    for (const [part, name, before, size] of `${dimensions}${others}`.matchAll(PARTS)) {
      const axis = axes.find((candidate) => candidate.name === name);
      const fits = axis && (before === undefined || Number.isInteger(axis.size / (before * size)));
      if (!fits) throw malformed(`the sharding ${text} names ${part}, which is no axis of ${mesh}`);
    }
  }
}

/** Refuses shardings of an operation that cannot be read. The core reads manual computations. */
export function checkShardings(module, { name, attributes }) {
  if (name === 'sdy.manual_computation') return;
  for (const value of Object.values(attributes)) {
    checkValue(module, value);
    if (!Array.isArray(value)) continue;
    for (const item of value) { // the attributes of a function's arguments and results
      if (item instanceof Dictionary) for (const inner of Object.values(item.entries)) checkValue(module, inner);
    }
  }
}

/* ---- Manual computations ---- */

/** Returns the divisor of each dimension of each value: the product of the sizes of its manual axes. */
function divisorsOf(c, key) {
  const manual = new Set([...textOf(c.attribute('manual_axes')).matchAll(PARTS)].map(([, name]) => name));
  return [...textOf(c.attribute(key)).matchAll(EACH)].map(([, mesh, dimensions]) => {
    const body = mesh[0] === '@' ? meshNamed(c.lowering.module, mesh.replace(/^@"?|"$/g, '')) : mesh;
    const sizes = new Map(axesOfText(body).map(({ name, size }) => [name, size]));
    return [...dimensions.matchAll(/\{([^}]*)\}/g)].map(([, axes]) => [...axes.matchAll(PARTS)]
      .reduce((n, [, name,, part]) => (manual.has(name) ? n * Number(part ?? sizes.get(name)) : n), 1));
  });
}

/** The shape of a type, whose unknown sizes follow from those of the shape on the other side. */
function shapeBeside(c, type, { elementType, dimensions }, sizeOf) {
  if (!type.dimensions?.includes(-1)) return shapeOf(type, c.name);
  return Shape.array(elementType, dimensions.map(sizeOf));
}

/** shard_map: splits into each device's shards, applies the body and joins the results, as XLA's import does. */
function manualComputation(c) {
  const region = c.region(0);
  const attributes = (key) => ({
    'xla.sdy.manual_axes': textOf(c.attribute('manual_axes')),
    [`xla.sdy.${key}`]: textOf(c.attribute(key)),
  });
  const [inwards, outwards] = [divisorsOf(c, 'in_shardings'), divisorsOf(c, 'out_shardings')];
  const local = region.arguments.map(({ type }, i) =>
    shapeBeside(c, type, c.in[i].shape, (size, d) => size / (inwards[i]?.[d] ?? 1)));
  const parts = local.length
    ? converted(c, 'xla.sdy.GlobalToLocalShape', c.in, local, attributes('in_shardings')) : [];
  const body = c.lowering.computation(c.frame, region, parts.map(({ shape }) => shape), 'xla.sdy.manual_computation_body');
  const called = c.emit('call', parts, { to_apply: body, frontend_attributes: '{inlineable="false"}' }, undefined, null);
  const results = c.lowering.resultCount(region) === 1 ? [called] : untupled(c.b, called);
  if (!results.length) return [];
  const global = c.operation.results.map(({ type }, i) =>
    shapeBeside(c, type, results[i].shape, (size, d) => size * (outwards[i]?.[d] ?? 1)));
  return converted(c, 'xla.sdy.LocalToGlobalShape', results, global, attributes('out_shardings'));
}

function converted(c, target, operands, shapes, attributes) {
  const frontend = Object.entries(attributes).map(([name, text]) => `${name}=${quote(text)}`);
  const result = c.emit('custom-call', operands, {
    custom_call_target: quote(target), custom_call_has_side_effect: true,
    frontend_attributes: `{${frontend.join(',')}}`,
  }, shapes.length === 1 ? shapes[0] : Shape.tuple(shapes));
  return shapes.length === 1 ? [result] : untupled(c.b, result);
}

/** sdy.named_computation: a call. */
function namedComputation(c) {
  const shapes = c.in.map(({ shape }) => shape);
  const body = c.lowering.computation(c.frame, c.region(0), shapes, c.string('name'));
  const called = c.emit('call', c.in, { to_apply: body }, undefined, null);
  return c.lowering.resultCount(c.region(0)) === 1 ? [called] : untupled(c.b, called);
}

/** Operations that only move shards; as values are whole here, they have no effect. */
export const MOVES = ['all_gather', 'all_reduce', 'all_slice', 'all_to_all', 'collective_permute', 'data_flow_edge',
  'func_data_flow_edge', 'propagation_barrier', 'reduce_scatter', 'replicated_to_unreduced', 'reshard',
  'sharded_to_unreduced', 'sharding_constraint'];

export const sharded = {
  ...Object.fromEntries(MOVES.map((name) => [`sdy.${name}`, (c) => c.x])),
  'sdy.sharding_group': () => [],
  'sdy.manual_computation': manualComputation,
  'sdy.named_computation': namedComputation,
  // Between VHLO's types and MLIR's own, where an artifact mixes dialects.
  'builtin.unrealized_conversion_cast': (c) => c.in,
  'tensor.cast': (c) => c.in, // to sizes that are known, or back
};
