/**
 * Fits a curve to points, which may change meanwhile, until it is paused.
 *
 * Calls: open({ width, rate }), points(list of [x, y]), run(), pause(). Tells: fit { curve, loss, step, rate }.
 */
import { Client } from '../../bindings/index.mjs';
import { randomNumbers } from '../shared/random.mjs';
import { serve, tell } from '../shared/rpc.mjs';
import { buildSteps, POINTS, shapesOf } from './program.mjs';

const STEPS = 25; /* of one run */
const FRAME_MS = 32;

let client;
let program;
let state = []; /* buffers on the device */
let given; /* x, y and whether a point is there */
let rate = 0.02;
let running = false;
let turn = 0;
let stepping = Promise.resolve(); /* the run that uses the state */

function begin(width) {
  const random = randomNumbers(3);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const shapes = shapesOf(width);
  const make = (spread) => shapes.map((sizes) => {
    const count = sizes.reduce((product, size) => product * size, 1);
    const scale = spread * (sizes.length > 1 ? 2 / Math.sqrt(sizes[0]) : 1);
    return client.buffer(Float32Array.from({ length: count }, () => scale * normal()), `f32[${sizes}]`);
  });
  return [client.buffer(0, 'f32[]'), ...make(1), ...make(0), ...make(0)];
}

function points(list) {
  const column = (of) => Float32Array.from({ length: POINTS }, (_, i) => (i < list.length ? of(list[i]) : 0));
  given = [column(([x]) => x), column(([, y]) => y), column(() => 1)];
}

async function open({ width, rate: wanted }) {
  const number = ++turn;
  rate = wanted;
  client ??= await Client.create({ threads: 0 });
  const next = await client.compile(buildSteps(client, { width, steps: STEPS }));
  await stepping;
  if (number !== turn) return next.dispose();
  program?.dispose();
  program = next;
  state.forEach((buffer) => buffer.dispose());
  state = begin(width);
  if (running) loop().catch((error) => tell('problem', error.message));
}

/** One run of the program; the state stays on the device. */
async function step() {
  const [loss, curve, ...next] = await program.execute([...given, rate, ...state], { device: true, donate: state.map((_, i) => 4 + i) });
  state = next;
  const told = { loss: loss.toLiteral().data[0], curve: curve.toLiteral().data.slice(), step: next[0].toLiteral().data[0] };
  loss.dispose();
  curve.dispose();
  return told;
}

/** One run a frame. */
async function loop() {
  const number = ++turn;
  let began = performance.now();
  while (running && number === turn) {
    const run = step();
    stepping = run.catch(() => {});
    const told = await run;
    const rest = FRAME_MS - (performance.now() - began);
    await new Promise((resolve) => { setTimeout(resolve, Math.max(0, rest)); });
    const now = performance.now();
    tell('fit', { ...told, rate: (1000 * STEPS) / (now - began) });
    began = now;
  }
}

export const listen = () => serve({
  open, points,
  run() {
    if (running) return;
    running = true;
    if (program) loop().catch((error) => tell('problem', error.message));
  },
  pause() { running = false; },
});
