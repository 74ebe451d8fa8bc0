/**
 * The view's worker: one program at a time, and the weights that were dropped with it.
 *
 * Calls: open({ bytes, shapes, mesh }), addWeights({ bytes, name }), run({ inputs, seed }), stop(),
 * save(format), text(), sample(). The functions below describe their results.
 */
import {
  Client, Literal, readNpy, readNpz, readSafetensors, writeNpz, writeSafetensors,
} from '../../bindings/index.mjs';
import { stepsOf } from '../../bindings/objects/listing.mjs';
import { pairArguments } from '../../bindings/objects/named_arguments.mjs';
import { isText, kindOfText } from '../../bindings/formats/program_text.mjs';
import { gunzip, isGzip } from '../../bindings/formats/inflate.mjs';
import { programsOfJaxExport } from '../../bindings/formats/jax_export.mjs';
import { makeArgument } from '../shared/inputs.mjs';
import { serve, transfer } from '../shared/rpc.mjs';
import { SAMPLE } from './sample.mjs';

const MEASURE_MS = 1000; /* that repeated runs may take together */
const MAX_RUNS = 50;

let client;
let program = null; /* { module, executable } */
let weights = new Map(); /* literals by name */
let outputs = []; /* leaves of the last run, on the first device */
let controller = null;

const plainShape = (shape) => ({ text: String(shape), type: shape.elementType, dimensions: [...shape.dimensions], bytes: shape.byteSize });
const plain = (literal) => ({ ...plainShape(literal.shape), data: literal.data });

/** The format of bytes, in words. */
async function kindOf(bytes) {
  if (isGzip(bytes)) return `${await kindOf(await gunzip(bytes))}, gzipped`;
  const { isBytecode } = await import('../../bindings/stablehlo/index.mjs');
  if (isBytecode(bytes)) return 'StableHLO, MLIR bytecode';
  if (programsOfJaxExport(bytes)[0]) return 'jax.export, StableHLO bytecode';
  if (!isText(bytes)) return 'serialized HLO proto';
  const head = new TextDecoder().decode(bytes.subarray(0, 100000));
  return kindOfText(head) === 'stablehlo' ? 'StableHLO text' : 'HLO text';
}

/** How often each operation comes in a text, the most frequent first. */
function operationsIn(text) {
  const counts = new Map();
  for (const [, name] of text.matchAll(/^\s*(?:ROOT )?\S+ = .*?[\])}] ([a-z][\w-]*)\(/gm)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** @returns the program's description, its parameters and results, and the time of its compilation */
async function open({ bytes, shapes, mesh = {} }) {
  client ??= await Client.create();
  const kind = await kindOf(bytes);
  const began = performance.now();
  const module = await client.load(bytes, shapes ? { arguments: shapes } : {});
  const read = performance.now();
  let executable;
  try {
    executable = await client.compile(module, mesh);
  } catch (error) {
    module.dispose();
    throw error;
  }
  const compiled = performance.now();
  program?.executable.dispose();
  program?.module.dispose();
  program = { module, executable };
  outputs = [];
  const text = module.toString();
  const fitting = weightsFor(executable.parameters);
  return {
    kind,
    name: module.name,
    fileBytes: bytes.length,
    operations: operationsIn(text),
    steps: stepsOf(executable.thunks()).length,
    codeBytes: executable.generatedCode()?.length ?? 0,
    arenaBytes: executable.memoryPlan().arenaBytes,
    parameters: executable.parameters.map(({ name, shape }, i) => ({ name, shape: plainShape(shape), isWeight: Boolean(fitting[i]) })),
    results: executable.resultShape.leaves().map(plainShape),
    replicas: executable.replicas,
    partitions: executable.partitions,
    threads: client.threads,
    readMs: read - began,
    compileMs: compiled - read,
  };
}

/* ---- Weights ---- */

const READERS = {
  safetensors: async (bytes) => readSafetensors(bytes),
  npz: async (bytes) => readNpz(bytes),
  npy: async (bytes, name) => ({ [name.replace(/\.npy$/, '')]: await readNpy(bytes) }),
};

async function addWeights({ bytes, name }) {
  const ending = name.split('.').at(-1).toLowerCase();
  const read = await READERS[ending](bytes, name);
  const literals = Object.entries(read.tensors ?? read).filter(([, value]) => value instanceof Literal);
  for (const [of, literal] of literals) weights.set(of, literal);
  return literals.map(([of, literal]) => ({ name: of, shape: plainShape(literal.shape) }));
}

/** The weight for each parameter, by the names' rule; undefined where none of its shape has its name. */
function weightsFor(parameters) {
  const named = Object.fromEntries(weights);
  const pairs = (list) => {
    try {
      return pairArguments(list, named, 'weights');
    } catch {
      return [undefined]; /* several can be meant */
    }
  };
  let found = pairs(parameters);
  if (found.length !== parameters.length) found = parameters.flatMap((parameter) => pairs([parameter]));
  return found.map((pair, i) => (pair && parameters[i].shape.accepts(pair.value.shape) ? pair.value : undefined));
}

/* ---- Running ---- */

function argumentsOf(executable, inputs, seed) {
  const fitting = weightsFor(executable.parameters);
  return executable.parameters.map(({ shape }, i) => {
    const { fill = 'random', npy } = inputs[i] ?? {};
    if (npy) return npy;
    return fill === 'weights' ? fitting[i] : makeArgument(shape, { fill, seed: seed + i });
  });
}

/** Runs once with a profile, then again and again for a while. */
async function run({ inputs = [], seed = 0 }) {
  const { executable } = program;
  const loaded = await Promise.all(inputs.map(async (input) => (input?.npy ? { npy: await readNpy(input.npy) } : input)));
  const args = argumentsOf(executable, loaded, seed);
  const devices = executable.replicas * executable.partitions;
  const all = new Array(devices).fill(args);
  controller = new AbortController();
  const { signal } = controller;
  try {
    const began = performance.now();
    const first = await executable.executeReplicas(all, { profile: true, signal });
    const firstMs = performance.now() - began;
    const times = [];
    for (let spent = 0; spent < MEASURE_MS && times.length < MAX_RUNS;) {
      const start = performance.now();
      await executable.executeReplicas(all, { signal });
      times.push(performance.now() - start);
      spent += times.at(-1);
    }
    const leaves = first.outputs.map((results) => results.flatMap((result) => result.leaves()));
    [outputs] = leaves;
    return {
      firstMs,
      bestMs: Math.min(...times),
      runs: times.length,
      run: {
        outputs: leaves.map((of) => of.map(plain)),
        inputs: args.map((argument) => [argument].flat(Infinity).filter((a) => a?.shape).map(plain)),
        outfeeds: [],
        events: first.events,
        ms: firstMs,
      },
    };
  } finally {
    controller = null;
  }
}

/** The last results as a file. */
function save(format) {
  const named = Object.fromEntries(outputs.filter(({ shape }) => shape.isArray).map((literal, i) => [`result_${i}`, literal]));
  const bytes = format === 'npz' ? writeNpz(named) : writeSafetensors(named);
  return transfer(bytes, [bytes.buffer]);
}

/** A program and weights for it, as files. */
function sample() {
  const encoder = new TextEncoder();
  const random = (shape, seed) => makeArgument(shape, { seed });
  const tensors = writeSafetensors({
    'layers.0.w': random('f32[32,64]', 1), 'layers.0.b': random('f32[64]', 2),
    'layers.1.w': random('f32[64,10]', 3), 'layers.1.b': random('f32[10]', 4),
  });
  return [
    { name: 'two_layers.mlir', bytes: encoder.encode(SAMPLE) },
    { name: 'two_layers.safetensors', bytes: tensors },
  ];
}

export const listen = () => serve({
  open,
  addWeights,
  run,
  save,
  sample,
  stop: () => controller?.abort(),
  text: () => program?.module.toString() ?? '',
  forget() {
    weights = new Map();
  },
});
