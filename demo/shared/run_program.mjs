/** One run of a program, with arguments that are made up, and a host that feeds and takes. */
import { Literal, Shape } from '../../bindings/index.mjs';
import { readNpy } from '../../bindings/npy.mjs';
import { FILLS, makeArgument } from './inputs.mjs';

/** An input in short ('iota', or elements), or how it came over, as makeArgument and Literal want it. */
function argumentOf(shape, given, device) {
  if (typeof given === 'string' && FILLS.includes(given)) return makeArgument(shape, { fill: given });
  if (given?.npy) return readNpy(given.npy, shape.elementType);
  if (given?.data) return Literal.from(given.data, Shape.parse(given.shape));
  const how = given ?? {};
  if (how.value !== undefined) return literalOf(how.value, shape);
  if (Object.getPrototypeOf(how) !== Object.prototype) return literalOf(how, shape); /* elements */
  const { fill, seed = 0, perDevice = false } = how;
  return makeArgument(shape, { fill, seed: seed + (perDevice ? device * 1009 : 0) });
}

/** Elements as a Literal, or as they are where they are none of an array. */
const literalOf = (value, shape) => (shape.isArray && !shape.isDynamic && !(value instanceof Literal) ? Literal.from(value, shape) : value);

/** The shapes that infeeds of a text want, in the order in which they stand there. */
function infeedShapes(text) {
  return Array.from(text.matchAll(/= \((.*), token\[\]\) infeed\(/g), ([, shape]) => Shape.parse(shape.replace(/\{[^}]*\}/g, '')));
}

const eachDevice = (executable) =>
  Array.from({ length: executable.replicas }, (_, replica) =>
    Array.from({ length: executable.partitions }, (__, partition) => ({ replica, partition }))).flat();

/* What outfeeds put out, by client and device: taken by one loop each, as long as the client lives. */
const collectors = new WeakMap();

function collectOutfeeds(client, devices, sink) {
  if (!collectors.has(client)) collectors.set(client, new Map());
  const ofClient = collectors.get(client);
  for (const device of devices) {
    const key = `${device.replica} ${device.partition}`;
    const collector = ofClient.get(key) ?? {};
    collector.sink = sink;
    if (ofClient.has(key)) continue;
    ofClient.set(key, collector);
    (async () => {
      for await (const value of client.outfeed(device)) collector.sink({ device, leaves: [value].flat() });
    })().catch(() => { /* the client has gone */ });
  }
}

/** Feeds infeeds with 0, 1, 2, ..., and collects what outfeeds put out, until `stop()`. */
function serveHost(client, executable, text) {
  const shapes = infeedShapes(text);
  const taken = [];
  let running = true;
  function* feeds() {
    while (true) {
      for (const shape of shapes) {
        if (!running) return; /* the next run has feeds of its own */
        yield makeArgument(shape, { fill: 'iota' });
      }
    }
  }
  const devices = eachDevice(executable);
  if (shapes.length) for (const device of devices) client.infeed(feeds(), device);
  if (/ outfeed\(/.test(text)) collectOutfeeds(client, devices, (value) => taken.push(value));
  return { taken, stop() { running = false; } };
}

/**
 * @param {import('../../bindings/index.mjs').Client} client
 * @param {import('../../bindings/index.mjs').Executable} executable
 * @param {object} options
 * @param {any[]} [options.inputs] one a parameter: 'iota', 'random', 'zeros', 'ones'; elements;
 *   { fill, seed, perDevice }; { shape, data }; { npy }, the bytes of a file; or { value }
 * @param {string} [options.text] of the program: what it asks of the host is done
 * @returns {Promise<{ outputs: Literal[][], args: any[][], events: object[], outfeeds: object[], ms: number }>}
 *   `outputs`: the leaves, device by device
 */
export async function runProgram(client, executable, { inputs = [], text = '', ...options } = {}) {
  const devices = eachDevice(executable);
  const args = devices.map((_, device) =>
    executable.parameters.map(({ shape }, i) => argumentOf(shape, inputs[i], device)));
  const host = serveHost(client, executable, text);
  const began = performance.now();
  try {
    const { outputs, events } = await executable.executeReplicas(args, { profile: true, ...options });
    const ms = performance.now() - began;
    const leaves = outputs.map((results) => results.flatMap((result) => result.leaves()));
    return { outputs: leaves, args, events, outfeeds: host.taken, ms };
  } finally {
    host.stop();
  }
}
