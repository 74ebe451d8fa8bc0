#!/usr/bin/env node
/** The command line: xla-wasm run MODULE.hlo. See USAGE. */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { Client, XlaError } from './index.mjs';
import { jsonOfLiteral } from './json.mjs';
import { readNpy } from './npy.mjs';

const USAGE = `usage: xla-wasm run MODULE.hlo [options]

Runs an HLO module, given as text or as a serialized proto ("-": standard input), and prints its
results.

  --input FILE.npy   the next parameter's argument, the same on every replica
  --replicas N       run on N replicas (default: what the module states, or 1)
  --threads N        use N threads; 0: none (default: as many as the machine has)
  --json             print one line of JSON per replica
  --help             print this
  --version          print the version`;

const OPTIONS = {
  input: { type: 'string', multiple: true, default: [] },
  replicas: { type: 'string' },
  threads: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', default: false },
};

class UsageError extends Error {}

async function main(argv) {
  const { values, positionals } = parseCommandLine(argv);
  if (values.help) return print(USAGE);
  if (values.version) return print(await version());
  const [command, file, ...rest] = positionals;
  if (command !== 'run') {
    throw new UsageError(command ? `there is no command "${command}"` : 'a command is missing');
  }
  if (file === undefined) throw new UsageError('run needs the file of a module');
  if (rest.length) throw new UsageError(`run takes one module, not "${rest[0]}" too`);
  return run(file, values);
}

function parseCommandLine(argv) {
  try {
    return parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error.message.split('\n')[0]);
  }
}

async function run(file, options) {
  const replicas = countOption('replicas', options.replicas, 1);
  const threads = countOption('threads', options.threads, 0);
  const bytes = await readInput(file);
  const client = await Client.create({ threads });
  try {
    const module = parseModule(client, file, bytes);
    const args = await readArguments(options.input, module.parameters);
    const executable = await client.compile(module, { replicas });
    const results = await executable.executeReplicas(new Array(executable.replicas).fill(args));
    await printResults(results, options.json);
  } finally {
    client.dispose();
  }
}

function countOption(name, text, least) {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  throw new UsageError(`--${name} must be a number from ${least} on; got "${text}"`);
}

async function readInput(file) {
  try {
    return file === '-' ? await readStandardInput() : await readFile(file);
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${error.code ?? error.message}`);
  }
}

async function readStandardInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** With the place in the file in front, as compilers have it. Only protos hold control codes. */
function parseModule(client, file, bytes) {
  try {
    if (bytes.subarray(0, 1000).some((byte) => byte < 9)) return client.parseHloProto(bytes);
    return client.parseHlo(bytes.toString('utf8'));
  } catch (error) {
    if (!error.line) throw error;
    const { code, operation, line, column } = error;
    const place = `${file}:${line}:${column ?? 1}`;
    throw new XlaError(code, `${place}: ${error.message}`, { operation, line, column });
  }
}

async function readArguments(files, parameters) {
  if (files.length !== parameters.length) {
    const wanted = parameters.map(({ name, shape }) => `${name}: ${shape}`).join(', ') || 'none';
    throw new UsageError(
      `the module has ${parameters.length} parameters (${wanted}); ` +
        `${files.length} --input were given`,
    );
  }
  const args = [];
  for (const [i, file] of files.entries()) {
    args.push(await readArgument(file, i, parameters[i]));
  }
  return args;
}

async function readArgument(file, number, { name, shape }) {
  const bytes = await readInput(file);
  let literal;
  try {
    literal = readNpy(bytes, shape.elementType);
  } catch (error) {
    throw new UsageError(`${file}: ${error.message}`);
  }
  if (shape.accepts(literal.shape)) return literal;
  throw new UsageError(
    `${file} holds ${literal.shape}; parameter ${number} (${name}) is ${shape.withoutLayout()}`,
  );
}

async function printResults(results, json) {
  for (const [replica, outputs] of results.entries()) {
    if (json) {
      const line = outputs.map(jsonOfLiteral).join(',');
      await print(`{"replica":${replica},"outputs":[${line}]}`);
    } else {
      if (results.length > 1) await print(`replica ${replica}`);
      for (const output of outputs) await print(output.toString());
    }
  }
}

async function version() {
  const file = new URL('../package.json', import.meta.url);
  return JSON.parse(await readFile(file, 'utf8')).version;
}

/** Waits until the line is out: a pipe may be slow, and the process must not end before. */
function print(line) {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, resolve));
}

// Nobody reads any further, as with `| head`: no error.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1));

try {
  await main(process.argv.slice(2));
} catch (error) {
  const isExpected = error instanceof UsageError || error instanceof XlaError;
  const text = isExpected ? error.message : (error.stack ?? String(error));
  const hint = error instanceof UsageError ? ' (see xla-wasm --help)' : '';
  process.stderr.write(`error: ${text.trim().replace(/\s*\n\s*/g, '; ')}${hint}\n`);
  process.exitCode = 1;
}
