/** `xla-wasm run --on pjrt`: runs the module with the arguments on real XLA, by pjrt.py. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Literal, Shape, XlaError } from '../index.mjs';
import { protoOf } from '../objects/module.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { UsageError } from './files.mjs';

const SCRIPT = fileURLToPath(new URL('pjrt.py', import.meta.url));

/**
 * Returns the module as each device runs it by itself. PJRT on CPU runs partitions only through XLA's
 * partitioner, which skips instructions with sharding={manual}. The work that shard_map leaves to it is done here.
 */
async function protoForDevices(client, module, { replicas, partitions }) {
  if (partitions === 1) return module.toProto();
  const isMapped = module.toString().includes('"xla.sdy.GlobalToLocalShape"');
  const passes = isMapped ? client.passes(module, { replicas, partitions }) : [];
  const done = passes.find(({ pass }) => pass === 'manual-sharding');
  return protoOf(done ? client.parseHlo(done.text) : module, { manual: true });
}

/**
 * @param {import('../api/client.mjs').Client} client
 * @param {import('../objects/module.mjs').HloModule} module
 * @param {any[][]} all the arguments of each device
 * @param {{ replicas: number, partitions: number, coordinator?: string, process?: number,
 *   processes?: number, platform?: string }} where
 * @returns {Promise<Map<number, Literal[]>>} results by the devices of this process
 */
export async function runOnPjrt(client, module, all, where) {
  const folder = await mkdtemp(join(tmpdir(), 'xla-wasm-pjrt-'));
  try {
    await writeFile(join(folder, 'module.pb'), await protoForDevices(client, module, where));
    const written = new Map();
    for (const args of new Set(all)) {
      written.set(args, await writeArguments(folder, `input.${written.size}`, args, module.parameters));
    }
    const job = { ...where, module: 'module.pb', inputs: all.map((args) => written.get(args)) };
    await writeFile(join(folder, 'run.json'), JSON.stringify(job));
    await python(folder);
    return await readResults(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns {Promise<object[]>} the description of each array for pjrt.py */
async function writeArguments(folder, prefix, args, parameters) {
  const leaves = args.flatMap((arg, i) => literalOf(arg, parameters[i].shape).leaves()).filter(Boolean);
  const said = [];
  for (const [i, leaf] of leaves.entries()) {
    const { shape, data } = leaf.inLayout(null);
    const file = `${prefix}.${i}.bin`;
    said.push({ type: shape.elementType, dims: shape.dimensions, file });
    await writeFile(join(folder, file), new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  return said;
}

const literalOf = (value, shape) => (value instanceof Literal ? value : Literal.from(value, shape));

function python(folder) {
  const program = process.env.PYTHON || 'python3';
  return new Promise((resolve, reject) => {
    const child = spawn(program, [SCRIPT, folder], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk) => { said += chunk; });
    child.on('error', (error) => reject(new UsageError(`--on pjrt needs Python with jax; ${program}: ${error.code}`)));
    child.on('close', (code) => {
      if (code === 0) return resolve();
      return reject(new XlaError('INTERNAL', `pjrt: ${errorLine(said) || `${program} ended with ${code}`}`));
    });
  });
}

/** The line that names an error, of all that Python and XLA print; or the last one. */
function errorLine(said) {
  const lines = said.trim().split('\n');
  return lines.findLast((line) => /\w(Error|Exception): |\b(Check failed|UNIMPLEMENTED|INTERNAL|INVALID_ARGUMENT): /.test(line)) ??
    lines.at(-1);
}

async function readResults(folder) {
  const said = JSON.parse(await readFile(join(folder, 'results.json'), 'utf8'));
  const results = new Map();
  for (const [device, leaves] of Object.entries(said)) {
    const literals = [];
    for (const { type, dims, file } of leaves) {
      const bytes = await readFile(join(folder, file));
      const { Array: Natural } = ELEMENT_TYPES.get(type);
      literals.push(new Literal(Shape.array(type, dims), new Natural(new Uint8Array(bytes).buffer)));
    }
    results.set(Number(device), literals);
  }
  return results;
}
