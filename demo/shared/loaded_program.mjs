/**
 * A program that can be run: one module for all devices of a mesh, or several modules that communicate, each
 * for devices of its own. Several modules follow each other in one text; each begins with
 * `HloModule` at the beginning of a line, and is for the next `replica_count` replicas, by default one.
 */
import { Literal } from '../../bindings/index.mjs';

/**
 * The modules of a HLO text. Each has as many empty lines before it as there are lines above, so that
 * the places of errors are those of the whole text.
 * @param {string} text
 * @returns {string[]}
 */
export function splitModules(text) {
  const lines = text.split('\n');
  const starts = lines.flatMap((line, i) => (/^HloModule\b/.test(line) ? [i] : []));
  if (starts.length < 2) return [text];
  return starts.map((start, k) => {
    const from = k ? start : 0;
    return '\n'.repeat(from) + lines.slice(from, starts[k + 1]).join('\n');
  });
}

/** The reader of each kind of source; 'any' detects the kind. */
const READERS = {
  any: (client, source) => client.load(source),
  hlo: (client, source) => client.parseHlo(source),
  stablehlo: (client, source) => client.parseStableHlo(source),
};

const leavesOf = (results) => results.flatMap((result) => (result instanceof Literal ? result.leaves() : result));

export class LoadedProgram {
  /** @param {{ module: object, executable: object, source: string, first: number, count: number }[]} parts
   *   `first` and `count`: its replicas */
  constructor(client, parts) {
    this.client = client;
    this.parts = parts;
    const [{ executable }] = parts;
    this.replicas = executable.replicas;
    this.partitions = executable.partitions;
    let first = 0;
    for (const part of parts) { /* the number of its first parameter among all modules' */
      part.firstParameter = first;
      first += part.executable.parameters.length;
    }
    this.parameters = parts.flatMap((part) => part.executable.parameters.map(({ name, shape }) =>
      ({ name: parts.length > 1 ? `${part.module.name}.${name}` : name, shape })));
  }

  get devices() {
    return this.replicas * this.partitions;
  }

  get disposed() {
    return this.parts[0].executable.disposed;
  }

  /** Returns the module that a device runs. */
  partOf(device) {
    const replica = Math.floor(device / this.partitions);
    return this.parts.find(({ first, count }) => replica < first + count);
  }

  /**
   * @param {any[][]} args of each device, those of its own module
   * @param {object} [options] as in executeReplicas() and launch()
   * @returns {Promise<{ outputs: Literal[][], events: object[] }>} `outputs`: leaves, device by device
   */
  async execute(args, options = {}) {
    const run = this.parts.length === 1
      ? await this.parts[0].executable.executeReplicas(args, options)
      : await this.client.launch(args.map((own, device) => ({
        executable: this.partOf(device).executable, arguments: own,
        replica: Math.floor(device / this.partitions), partition: device % this.partitions,
      })), options);
    const { outputs, events } = options.profile ? run : { outputs: run, events: [] };
    return { outputs: outputs.map(leavesOf), events };
  }

  dispose() {
    for (const { executable, module } of this.parts) {
      executable.dispose();
      module.dispose();
    }
  }
}

/**
 * Reads and compiles a program.
 * @param {import('../../bindings/index.mjs').Client} client
 * @param {string | Uint8Array} source
 * @param {{ kind?: 'any' | 'hlo' | 'stablehlo', mesh?: { replicas?: number, partitions?: number } }} [options]
 * @returns {Promise<LoadedProgram & { readMs: number, compileMs: number }>}
 */
export async function loadProgram(client, source, { kind = 'any', mesh = {} } = {}) {
  const began = performance.now();
  const texts = typeof source === 'string' && kind !== 'stablehlo' ? splitModules(source) : [source];
  if (texts.length > 1 && mesh.replicas) {
    throw new Error('Several programs state their own replicas: replica_count=2 after the name of a module.');
  }
  const parts = [];
  try {
    for (const text of texts) parts.push({ module: await READERS[kind](client, text), text });
    const readMs = performance.now() - began;
    let replicas = 0;
    for (const part of parts) {
      part.first = replicas;
      part.count = part.module.replicaCount ?? 1;
      part.source = part.module.toString();
      replicas += part.count;
    }
    const whole = parts.length > 1 ? { ...mesh, replicas } : mesh;
    for (const part of parts) part.executable = await client.compile(part.module, whole);
    if (parts.length === 1) parts[0].count = parts[0].executable.replicas;
    return Object.assign(new LoadedProgram(client, parts), { readMs, compileMs: performance.now() - began - readMs });
  } catch (error) {
    for (const { module, executable } of parts) {
      executable?.dispose();
      module.dispose();
    }
    throw error;
  }
}
