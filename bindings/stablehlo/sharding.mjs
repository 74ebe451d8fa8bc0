/** Where values lie on many devices: meshes and shardings of Shardy (sdy) and of XLA itself. */
import { quote } from '../attribute_text.mjs';
import { Shape } from '../shape.mjs';
import { Dictionary, Integer, malformed, nameOf, Opaque, Struct } from './ir.mjs';

const textOf = (value) => {
  if (value instanceof Opaque) return value.text;
  return value instanceof Struct ? String(value.list[0] ?? '') : '';
};

/** #sdy.mesh<["x"=2]> as its text, without the name of the attribute. */
const meshBody = (value) => textOf(value).replace(/^#sdy\.mesh<|>$/g, '');

/**
 * The attributes of the module that a computation may ask for: replica_count, num_partitions, and the meshes.
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
    `${nameOf(attributes.sym_name)} = #sdy.mesh<${meshBody(attributes.mesh)}>`);
  if (meshes.length) frontend['xla.sdy.meshes'] ??= `{${meshes.join(', ')}}`;
  const entries = Object.entries(frontend).map(([name, text]) => `${name}=${rawOrQuoted(text)}`);
  if (entries.length) parts.push(`frontend_attributes={${entries.join(',')}}`);
  return parts.join(', ');
}

const rawOrQuoted = (text) => (/^\{[^]*\}$/.test(text) ? text : quote(text));

function stringsOf(value) {
  if (!(value instanceof Dictionary)) return {};
  return Object.fromEntries(Object.entries(value.entries).filter(([, text]) => typeof text === 'string'));
}

/** The names and sizes of a mesh's axes: ["x"=2, "y"=4]. */
function axesOf(c, mesh) {
  const named = nameOf(mesh);
  let body = textOf(mesh);
  if (named !== undefined) {
    const found = c.lowering.module.operations.find(({ name, attributes }) =>
      name === 'sdy.mesh' && nameOf(attributes.sym_name) === named);
    body = found ? meshBody(found.attributes.mesh) : '';
  }
  return [...body.matchAll(/"([^"]+)"\s*=\s*(\d+)/g)].map(([, name, size]) => ({ name, size: Number(size) }));
}

/** Where a device is on each axis, the last of which moves fastest. */
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
  const axes = axesOf(c, fields.mesh);
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
    groups.get(key)[order] = device;
  }
  return [...groups.values()];
}

/**
 * shard_map: into the parts that each device has, through the body, and out again, as XLA hands it
 * to the partitioner.
 */
function manualComputation(c) {
  const region = c.region(0);
  const axes = `#sdy<manual_axes{${textOf(c.attribute('manual_axes')).replace(/^#sdy<?[. ]?manual_axes<?\s*\{?|\}?>*$/g, '')}}>`;
  const attributes = (key, name) => ({
    'xla.sdy.manual_axes': axes,
    [`xla.sdy.${name}`]: `#sdy.sharding_per_value<[${shardings(c.attribute(key))}]>`,
  });
  const local = region.arguments.map(({ type }) => Shape.array(type.elementType, type.dimensions));
  const parts = local.length
    ? converted(c, 'xla.sdy.GlobalToLocalShape', c.in, local, attributes('in_shardings', 'in_shardings')) : [];
  const body = c.lowering.computation(c.frame, region, parts.map(({ shape }) => shape), 'xla.sdy.manual_computation_body');
  const called = c.emit('call', parts, { to_apply: body, frontend_attributes: '{inlineable="false"}' });
  const results = c.lowering.resultCount(region) === 1
    ? [called] : called.shape.tupleShapes.map((_, i) => c.b.getTupleElement(called, i));
  if (!results.length) return [];
  const global = c.operation.results.map((_, i) => c.shape(i));
  return converted(c, 'xla.sdy.LocalToGlobalShape', results, global, attributes('out_shardings', 'out_shardings'));
}

const shardings = (value) => textOf(value).replace(/^#sdy\.sharding_per_value<\[|\]>$/g, '');

function converted(c, target, operands, shapes, attributes) {
  const frontend = Object.entries(attributes).map(([name, text]) => `${name}=${quote(text)}`);
  const result = c.emit('custom-call', operands, {
    custom_call_target: quote(target), custom_call_has_side_effect: true,
    frontend_attributes: `{${frontend.join(',')}}`,
  }, shapes.length === 1 ? shapes[0] : Shape.tuple(shapes));
  return shapes.length === 1 ? [result] : shapes.map((_, i) => c.b.getTupleElement(result, i));
}

export const sharded = {
  'sdy.sharding_constraint': (c) => c.x,
  'sdy.reshard': (c) => c.x,
  'sdy.propagation_barrier': (c) => c.x,
  'sdy.manual_computation': manualComputation,
  // Between VHLO's types and MLIR's own, where an artifact mixes dialects.
  'builtin.unrealized_conversion_cast': (c) => c.in,
};
