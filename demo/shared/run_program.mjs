/** Runs a program once with made-up arguments, and serves its infeeds and outfeeds. */
import { Literal, Shape } from '../../bindings/index.mjs';
import { readNpy } from '../../bindings/formats/npy.mjs';
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

/** Makes a Literal of elements; keeps a value that is no array. */
const literalOf = (value, shape) => (shape.isArray && !shape.isDynamic && !(value instanceof Literal) ? Literal.from(value, shape) : value);

/** Returns the shapes of a text's infeeds, in the order of the text. */
function infeedShapes(text) {
  return Array.from(text.matchAll(/= \((.*), token\[\]\) infeed\(/g), ([, shape]) => Shape.parse(shape.replace(/\{[^}]*\}/g, '')));
}

const eachDevice = ({ devices, partitions }) =>
  Array.from({ length: devices }, (_, device) => ({ replica: Math.floor(device / partitions), partition: device % partitions }));

/* The values of outfeeds, by client and device. One loop for each reads them as long as the client lives. */
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

/** Feeds infeeds with 0, 1, 2, ..., and collects the values of outfeeds, until `stop()`. */
function serveHost(program) {
  const { client } = program;
  const taken = [];
  let running = true;
  function* feeds(shapes) {
    while (true) {
      for (const shape of shapes) {
        if (!running) return; /* the next run has feeds of its own */
        yield makeArgument(shape, { fill: 'iota' });
      }
    }
  }
  eachDevice(program).forEach((device, i) => {
    const { source } = program.partOf(i);
    const shapes = infeedShapes(source);
    if (shapes.length) client.infeed(feeds(shapes), device);
    if (/ outfeed\(/.test(source)) collectOutfeeds(client, [device], (value) => taken.push(value));
  });
  return { taken, stop() { running = false; } };
}

/**
 * @param {import('./loaded_program.mjs').LoadedProgram} program its feeds and calls of the host are served
 * @param {object} options as in executeReplicas(), and
 * @param {any[]} [options.inputs] one a parameter: 'iota', 'random', 'zeros', 'ones'; elements;
 *   { fill, seed, perDevice }; { shape, data }; { npy }, the bytes of a file; or { value }
 * @returns {Promise<{ outputs: Literal[][], args: any[][], events: object[], outfeeds: object[], ms: number }>}
 *   `outputs`: the leaves, device by device; `args`: of each device, those of its module
 */
export async function runProgram(program, { inputs = [], ...options } = {}) {
  const args = Array.from({ length: program.devices }, (_, device) => {
    const { executable, firstParameter, first } = program.partOf(device);
    const number = device - first * program.partitions; /* among those that run the same */
    return executable.parameters.map(({ shape }, i) => argumentOf(shape, inputs[firstParameter + i], number));
  });
  const host = serveHost(program);
  const began = performance.now();
  try {
    const { outputs, events } = await program.execute(args, { profile: true, ...options });
    return { outputs, args, events, outfeeds: host.taken, ms: performance.now() - began };
  } finally {
    host.stop();
  }
}
