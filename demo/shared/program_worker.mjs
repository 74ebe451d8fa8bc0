/**
 * A client in a worker, and the programs that it has read: see programs.mjs, which calls it.
 */
import { Client } from '../../bindings/index.mjs';
import { trace } from '../playground/trace.mjs';
import { serve } from './rpc.mjs';
import { runProgram } from './run_program.mjs';

let client;
let clientThreads;
let next = 1;
const programs = new Map(); /* { module, executable, controller } by number */

async function clientFor(threads) {
  if (client && !client.disposed && clientThreads === threads) return client;
  client?.dispose();
  programs.clear();
  clientThreads = threads;
  client = await Client.create(threads === undefined ? {} : { threads });
  return client;
}

const plainShape = (shape) => ({ text: String(shape), type: shape.elementType, dimensions: [...shape.dimensions], bytes: shape.byteSize });

/** How a source is read; 'any' is whatever it is. */
const READERS = {
  any: (of, source) => of.load(source),
  hlo: (of, source) => of.parseHlo(source),
  stablehlo: (of, source) => of.parseStableHlo(source),
};

async function open({ source, kind = 'any', mesh = {}, threads }) {
  const of = await clientFor(threads);
  const began = performance.now();
  const module = await READERS[kind](of, source);
  const read = performance.now();
  const executable = await of.compile(module, mesh);
  const compiled = performance.now();
  const id = next++;
  programs.set(id, { module, executable, mesh, source: module.toString(), controller: null });
  return {
    id,
    name: module.name,
    parameters: executable.parameters.map(({ name, shape }) => ({ name, shape: plainShape(shape) })),
    result: plainShape(executable.resultShape),
    leaves: executable.resultShape.leaves().map(plainShape),
    isTuple: executable.resultShape.isTuple,
    replicas: executable.replicas,
    partitions: executable.partitions,
    threads: of.threads,
    readMs: read - began,
    compileMs: compiled - read,
  };
}

/** What can be asked of a program. */
const VIEWS = {
  text: ({ module }) => module.toString(),
  optimised: ({ executable }) => executable.toString(),
  thunks: ({ executable }) => executable.thunks(),
  passes: ({ module, mesh }) => client.passes(module, mesh),
  code: ({ executable }) => executable.generatedCode(),
  memory: ({ executable }) => executable.memoryPlan(),
};

function programOf(id) {
  const program = programs.get(id);
  if (program) return program;
  throw Object.assign(new Error('this program was closed'), { code: 'FAILED_PRECONDITION' });
}

const plainLiteral = (literal) => ({ ...plainShape(literal.shape), data: literal.data });

async function run(id, { profile = true, timeoutMs = 20000, ...options } = {}) {
  const program = programOf(id);
  program.controller = new AbortController();
  const { signal } = program.controller;
  try {
    const { outputs, args, events, outfeeds, ms } = await runProgram(client, program.executable,
      { ...options, text: program.source, timeoutMs, signal });
    return {
      outputs: outputs.map((leaves) => leaves.map(plainLiteral)),
      inputs: args[0].map((argument) => [argument].flat(Infinity).filter((a) => a?.shape).map(plainLiteral)),
      outfeeds: outfeeds.map(({ device, leaves }) => ({ device, leaves: leaves.map(plainLiteral) })),
      events: profile ? events : [],
      ms,
    };
  } finally {
    program.controller = null;
  }
}

let traces = 0; /* that were asked for: only the last one is wanted */

async function traceProgram(id, options) {
  const number = ++traces;
  const { executable, source } = programOf(id);
  return trace(client, executable, { ...options, text: source, isStale: () => number !== traces || executable.disposed });
}

serve({
  open,
  trace: traceProgram,
  view: (id, what) => VIEWS[what](programOf(id)),
  run,
  stop: (id) => programs.get(id)?.controller?.abort(),
  close(id) {
    const program = programs.get(id);
    programs.delete(id);
    if (!program || program.executable.disposed) return;
    program.controller?.abort();
    program.executable.dispose();
    program.module.dispose();
  },
  memory: () => ({ inUse: client?.memoryInUse ?? 0, heap: client?.heapInUse ?? 0 }),
});
