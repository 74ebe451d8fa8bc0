/**
 * A client in a worker, and its loaded programs. programs.mjs calls it from the page.
 */
import { Client } from '../../bindings/index.mjs';
import { trace } from './trace.mjs';
import { loadProgram } from './loaded_program.mjs';
import { serve } from './rpc.mjs';
import { runProgram } from './run_program.mjs';

let client;
let clientThreads;
let next = 1;
const programs = new Map(); /* { program, mesh, controller } by number */

async function clientFor(threads) {
  if (client && !client.disposed && clientThreads === threads) return client;
  client?.dispose();
  programs.clear();
  clientThreads = threads;
  client = await Client.create(threads === undefined ? {} : { threads });
  return client;
}

const plainShape = (shape) => ({ text: String(shape), type: shape.elementType, dimensions: [...shape.dimensions], bytes: shape.byteSize });

async function open({ source, kind = 'any', mesh = {}, threads }) {
  const of = await clientFor(threads);
  const program = await loadProgram(of, source, { kind, mesh });
  const id = next++;
  programs.set(id, { program, mesh: { replicas: program.replicas, partitions: program.partitions }, controller: null });
  return {
    id,
    parts: program.parts.map(({ module, executable, text, first, count }) => ({
      name: module.name, text: typeof text === 'string' ? text : '', first, count,
      result: plainShape(executable.resultShape),
    })),
    parameters: program.parameters.map(({ name, shape }) => ({ name, shape: plainShape(shape) })),
    replicas: program.replicas,
    partitions: program.partitions,
    threads: of.threads,
    readMs: program.readMs,
    compileMs: program.compileMs,
  };
}

/** The views of a program. */
const VIEWS = {
  text: ({ module }) => module.toString(),
  optimised: ({ executable }) => executable.toString(),
  thunks: ({ executable }) => executable.thunks(),
  passes: ({ module }, mesh) => client.passes(module, mesh),
  memory: ({ executable }) => executable.memoryPlan(),
  async code({ executable }) {
    const code = executable.generatedCode();
    if (!code) return null;
    const { wasmText } = await import('./code.mjs');
    return { bytes: code.length, text: wasmText(code, executable.thunks()) };
  },
};

function programOf(id) {
  const program = programs.get(id);
  if (program) return program;
  throw Object.assign(new Error('this program was closed'), { code: 'FAILED_PRECONDITION' });
}

const plainLiteral = (literal) => ({ ...plainShape(literal.shape), data: literal.data });

async function run(id, { profile = true, timeoutMs = 20000, ...options } = {}) {
  const opened = programOf(id);
  opened.controller = new AbortController();
  const { signal } = opened.controller;
  try {
    const { program } = opened;
    const { outputs, args, events, outfeeds, ms } = await runProgram(program, { ...options, timeoutMs, signal });
    /* For each parameter the argument of the first device that has the parameter. */
    const first = program.parts.flatMap((part) => args[part.first * program.partitions]);
    return {
      outputs: outputs.map((leaves) => leaves.map(plainLiteral)),
      inputs: first.map((argument) => [argument].flat(Infinity).filter((a) => a?.shape).map(plainLiteral)),
      outfeeds: outfeeds.map(({ device, leaves }) => ({ device, leaves: leaves.map(plainLiteral) })),
      events: profile ? events : [],
      ms,
    };
  } finally {
    opened.controller = null;
  }
}

let traces = 0; /* the traces begun so far: a new one makes the ones before stale */

async function traceProgram(id, options) {
  const number = ++traces;
  const { program } = programOf(id);
  return trace(program, { ...options, isStale: () => number !== traces || program.disposed });
}

export const listen = () => serve({
  open,
  trace: traceProgram,
  view(id, what, part = 0) {
    const { program, mesh } = programOf(id);
    return VIEWS[what](program.parts[part], mesh);
  },
  run,
  stop: (id) => programs.get(id)?.controller?.abort(),
  close(id) {
    const opened = programs.get(id);
    programs.delete(id);
    if (!opened || opened.program.disposed) return;
    opened.controller?.abort();
    opened.program.dispose();
  },
  memory: () => ({ inUse: client?.memoryInUse ?? 0, heap: client?.heapInUse ?? 0 }),
});
