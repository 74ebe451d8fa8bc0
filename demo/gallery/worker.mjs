/**
 * Runs an exhibit's programs in a worker: a state that stays on the device, with one step for each frame.
 * Called by stage.mjs.
 */
import { Client, readSafetensors } from '../../bindings/index.mjs';
import { loadReaders } from '../shared/readers.mjs';
import { serve, transfer } from '../shared/rpc.mjs';

let client;
let step; /* { executable, states, picture } */
let start;
let weights = [];
let state = [];

/**
 * `urls` of 'step', and if there is a state of 'start' and of 'weights'; `states`: how many of step's
 * first arguments and results are the state; `size` of the picture that comes after them, or null.
 */
async function open({ urls, states, size }) {
  const fetched = async (name) => urls[name] && new Uint8Array(await (await fetch(urls[name])).arrayBuffer());
  const tree = () => urls.weights && readSafetensors(new URL(urls.weights, self.location.href));
  const [made, , stepBytes, startBytes, arrays] = await Promise.all(
    [Client.create(), loadReaders(), fetched('step'), fetched('start'), tree()]); /* requests in this order */
  client = made;
  const began = performance.now();
  const compile = async (bytes) => bytes && client.compile(await client.load(bytes));
  step = { executable: await compile(stepBytes), states, size };
  start = await compile(startBytes);
  if (arrays) weights = Object.keys(arrays).sort().map((name) => arrays[name]); /* the order of JAX's dictionaries */
  return { compileMs: performance.now() - began, bytes: stepBytes.length, threads: client.threads };
}

/** A new state, from a seed. */
async function reset(seed) {
  state.forEach((buffer) => buffer.dispose());
  state = start ? await start.execute([seed], { device: true }) : [];
}

/** RGB -> RGBA, as canvases have it; written as whole pixels, red lowest. */
function withAlpha(rgb) {
  const pixels = new Uint32Array(rgb.length / 3);
  for (let from = 0, to = 0; to < pixels.length; from += 3, to++) {
    pixels[to] = rgb[from] | (rgb[from + 1] << 8) | (rgb[from + 2] << 16) | 0xff000000;
  }
  return new Uint8ClampedArray(pixels.buffer);
}

/** One step; results after the state, and the milliseconds that it took. */
async function frame(inputs) {
  const began = performance.now();
  const results = await step.executable.execute([...weights, ...state, ...inputs],
    { device: true, donate: state.map((_, i) => i) });
  state = results.slice(0, step.states);
  const rest = results.slice(step.states).map((buffer, i) => {
    const data = step.size && i === 0 ? withAlpha(buffer.view()) : buffer.toLiteral().data.slice();
    buffer.dispose();
    return data;
  });
  const ms = performance.now() - began;
  return transfer({ ms, rest }, rest.map(({ buffer }) => buffer));
}

export const listen = () => serve({ open, reset, frame });
