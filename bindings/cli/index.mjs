#!/usr/bin/env node
/** The command line: xla-wasm run MODULE and others. See USAGE in help.mjs. */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { reasonOf } from '../base/error.mjs';
import { suggestion } from '../base/names.mjs';
import { Client, Shape, toChromeTrace, XlaError } from '../index.mjs';
import { difference } from '../objects/difference.mjs';
import { parameterNumbers } from '../derive/gradients.mjs';
import { jsonOfLiteral } from '../values/json.mjs';
import {
  argumentsOfDevices, convertWeights, isWeightsFile, placed, devicesOfMesh, readArrays, readModule, UsageError,
  writeOut, writeResults,
} from './files.mjs';
import { COMMAND_NAMES, completionOf, helpOf, USAGE } from './help.mjs';
import { paint, progress, shown } from './terminal.mjs';

const TEXT = { type: 'string' };
const FLAG = { type: 'boolean', default: false };
const LIST = { type: 'string', multiple: true, default: [] };
const OPTIONS = {
  in: TEXT, out: TEXT, size: TEXT,
  input: LIST, shape: LIST, elided: TEXT, function: TEXT, replicas: TEXT, threads: TEXT, output: TEXT, time: TEXT, seed: TEXT,
  on: TEXT, check: FLAG, bisect: FLAG, nans: FLAG, partitions: TEXT, platform: TEXT, coordinator: TEXT, process: TEXT,
  processes: TEXT, profile: TEXT, random: FLAG, json: FLAG, steps: FLAG,
  wasm: FLAG, disable: TEXT, wrt: LIST, of: TEXT, value: FLAG, 'max-trips': TEXT, checkpoint: TEXT,
  help: { ...FLAG, short: 'h' },
  version: FLAG,
};

const ALWAYS = ['shape', 'elided', 'function', 'platform', 'threads', 'replicas', 'partitions', 'help', 'version'];
/** Each command's description and options. */
const COMMANDS = {
  run: {
    run,
    options: [
      'input', 'random', 'seed', 'output', 'json', 'time', 'profile', 'on', 'check', 'bisect', 'nans', 'disable',
      'coordinator', 'process', 'processes',
    ],
  },
  info: { run: info, options: ['json'] },
  print: { run: printModule, options: ['output'] },
  compile: { run: printCompiled, options: ['output', 'steps', 'wasm', 'disable'] },
  explain: { run: explain, options: ['input', 'random', 'seed', 'json', 'output', 'disable'] },
  convert: { run: convert, options: ['output'] },
  gradient: { run: printGradient, options: ['output', 'wrt', 'of', 'value', 'max-trips', 'checkpoint'] },
  vmap: { run: printBatch, options: ['output', 'in', 'out', 'size'] },
};

async function main(argv) {
  const { values, positionals, tokens } = parseCommandLine(argv);
  const [name, file, ...rest] = positionals;
  if (values.help && name !== undefined && !COMMAND_NAMES.includes(name)) throw new UsageError(unknown('command', name, COMMAND_NAMES));
  if (values.help) return print(name !== undefined ? helpOf(name, optionsOf()[name]) : USAGE);
  if (values.version) return print(await version());
  if (name === 'completion') return printCompletion(file);
  const command = Object.hasOwn(COMMANDS, name ?? '') ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(name ? unknown('command', name, COMMAND_NAMES) : `a command is missing; there are ${COMMAND_NAMES.join(', ')}`);
  if (file === undefined) throw new UsageError(`${name} needs the file of a module`);
  if (rest.length) throw new UsageError(`${name} takes one module, not "${rest[0]}" too`);
  const known = [...ALWAYS, ...command.options];
  const stray = tokens.find(({ kind, name: option }) => kind === 'option' && !known.includes(option));
  if (stray) throw new UsageError(`${name} takes no --${stray.name}${optionAdvice(stray.name, known)}`);
  countOption('replicas', values.replicas, 1);
  checkElsewhere(values);
  if (file === '-' && values.input.some((input) => /(^|=)-$/.test(input))) {
    throw new UsageError('standard input is the module or an argument, not both');
  }
  if (name === 'convert' && isWeightsFile(file)) return convertWeights(file, values.output);
  if (name === 'info' && isWeightsFile(file)) return printArrays(await readArrays(file), values.json);
  if (values.elided !== undefined && !['zeros', 'random'].includes(values.elided)) {
    throw new UsageError(`--elided is zeros or random, not "${values.elided}"`);
  }
  const client = await Client.create({ threads: countOption('threads', values.threads, 0) });
  try {
    const shapes = shapesOption(values.shape);
    const platform = values.on === undefined ? values.platform : undefined;
    const choices = { arguments: shapes, elided: values.elided, entry: values.function, platform };
    const module = await readModule(client, file, choices).catch((error) => {
      if (name !== 'info' || !error.parameters) throw error;
      return { name: 'a program of unknown sizes', parameters: error.parameters };
    });
    return await command.run(client, module, values);
  } finally {
    client.dispose();
  }
}

/** The options of each command. */
const optionsOf = () => Object.fromEntries(COMMAND_NAMES.map((name) => [name, [...(COMMANDS[name]?.options ?? []), ...(COMMANDS[name] ? ALWAYS : ['help'])]]));

function printCompletion(shell) {
  const script = completionOf(shell ?? '', optionsOf());
  if (!script) throw new UsageError(`completion is for bash, zsh or fish${shell ? `, not "${shell}"` : ''}`);
  return print(script);
}

/** "f32[8,128]", in the order of the parameters; or "x=f32[8,128]" */
function shapesOption(texts) {
  if (!texts.length) return undefined;
  const entries = texts.map((text) => /^(?:(.*)=)?(.*)$/.exec(text).slice(1));
  if (new Set(entries.map(([name]) => name === undefined)).size > 1) throw new UsageError('--shape: all have a name, or none');
  const shapes = entries.map(([name, shape]) => {
    try {
      return [name, Shape.of(shape)];
    } catch (error) {
      throw new UsageError(`--shape ${name === undefined ? '' : `${name}=`}${shape}: ${reasonOf(error)}; a parameter's whole shape is wanted, ` +
        `as in --shape x=f32[8,128] (xla-wasm info lists the parameters)`);
    }
  });
  return shapes[0][0] === undefined ? shapes.map(([, shape]) => shape) : Object.fromEntries(shapes);
}

/** Refuses the options of --on pjrt without it. */
function checkElsewhere(values) {
  const stray = ['coordinator', 'process', 'processes'].find((option) => values[option]);
  if (stray && values.on === undefined) throw new UsageError(`--${stray} goes with --on pjrt`);
  if (values.bisect && values.on !== undefined) throw new UsageError('--bisect compares with the evaluator, not --on pjrt');
  if (values.nans && values.on !== undefined) throw new UsageError('--nans looks at the values of a run here, not --on pjrt');
}

/** Options that are taken for commands. */
const AS_OPTIONS = Object.fromEntries(['check', 'bisect', 'nans', 'profile', 'time'].map((option) => [option, `run MODULE --${option}`]));

function unknown(what, name, known) {
  if (Object.hasOwn(AS_OPTIONS, name)) return `there is no ${what} "${name}"; write ${AS_OPTIONS[name]}`;
  const near = suggestion(name, [...known, ...Object.keys(AS_OPTIONS)]);
  if (Object.hasOwn(AS_OPTIONS, near ?? '')) return unknown(what, near, known).replace(near, name);
  return `there is no ${what} "${name}"; ${near ? `did you mean ${near}?` : `there are ${known.join(', ')}`}`;
}

/** Suggests the option that begins with the text or is near to it; else returns "". */
function optionAdvice(option, known) {
  const begun = known.filter((name) => name.startsWith(option));
  const near = begun.length === 1 ? begun[0] : suggestion(option, known);
  return near ? `; did you mean --${near}?` : '';
}

function parseCommandLine(argv) {
  try {
    return parseArgs({ args: argv, options: OPTIONS, allowPositionals: true, tokens: true });
  } catch (error) {
    const [, option] = /Unknown option '--([^']+)'/.exec(error.message) ?? [];
    const [, dashed] = /use '(--[\w-]+=)-XYZ'/.exec(error.message) ?? [];
    if (dashed) throw new UsageError(`a value that begins with "-" is written after "=": ${dashed}-1`);
    if (!option) throw new UsageError(error.message.split('\n')[0]);
    throw new UsageError(`there is no option --${option}${optionAdvice(option, Object.keys(OPTIONS))}`);
  }
}

/* ---- Commands ---- */

async function run(client, module, options) {
  const replicas = countOption('replicas', options.replicas, 1);
  const partitions = countOption('partitions', options.partitions, 1);
  const seed = countOption('seed', options.seed, 0) ?? 0;
  const times = countOption('time', options.time, 1);
  const argumentsOf = (counts) =>
    argumentsOfDevices(options.input, module.parameters, counts, options.random ? seed : undefined);
  if (options.on !== undefined) return runElsewhere(client, module, argumentsOf, options);
  const executable = await compiled(client, module, options, { replicas, partitions });
  const all = await argumentsOf(executable);
  progress('running');
  if (times !== undefined) await time(executable, all, times);
  const profile = options.profile !== undefined;
  const made = await executable.executeReplicas(all, { profile });
  const results = profile ? made.outputs : made;
  if (profile) await writeOut(options.profile, JSON.stringify(toChromeTrace(made.events)));
  if (options.output !== undefined) {
    const places = devicesOfMesh(executable);
    const own = results.map((_, device) => placed(options.output, places[device]));
    for (const file of new Set(own)) await writeResults(file, results[own.indexOf(file)]);
  }
  if (options.output === undefined || options.json) {
    await printResults(results, options.json, executable.partitions);
  }
  if (options.nans) await huntNans(client, module, all, executable, options);
  if (options.check || options.bisect) await check(client, module, all, executable, options, results);
}

/** Names the instruction that made the first NaN of the results, or else the first infinity. */
async function huntNans(client, module, all, { replicas, partitions }, { disable }) {
  progress('looking for the first NaN');
  const { NanHunt } = await import('./nans.mjs');
  const hunt = new NanHunt(client, module, { replicas, partitions }, { disable: disable?.split(',') });
  for (const kind of ['NaN', 'infinity']) {
    const found = await hunt.find(kind, all);
    if (!found) continue;
    for (const line of found.lines) await print(line);
    throw new XlaError('OUT_OF_RANGE', `${kind === 'NaN' ? 'a NaN' : 'an infinity'} in the results comes from ${found.name}`);
  }
  writeLine('no result has a NaN or an infinity');
}

/** Compares with the evaluator. */
async function check(client, module, all, { replicas, partitions }, options, results) {
  progress('running in the evaluator');
  const { Comparison } = await import('./bisect.mjs');
  const comparison = new Comparison(client, module, all, { replicas, partitions });
  const problem = await comparison.difference(options.disable?.split(','));
  if (!problem) return writeLine(`the results agree with the evaluator${noNumbers(results)}`);
  progress('looking for the step that makes the difference');
  if (options.bisect) for (const line of await comparison.bisect()) await print(line);
  throw new XlaError('DATA_LOSS', `the results differ from the evaluator: ${problem}`);
}

/** Warns of a result without any number, whose comparison is meaningless. */
function noNumbers(results) {
  const leaves = results.flatMap((outputs) => outputs.flatMap((output) => output.leaves())).filter(Boolean);
  const number = leaves.findIndex((leaf) => {
    const values = leaf.shape.isArray ? [leaf.toArray()].flat(Infinity) : [];
    return values.length > 0 && values.every(Number.isNaN);
  });
  return number < 0 ? '' : `, but result ${number} has only NaN, which compares nothing: give other values by --input, or look for the first by --nans`;
}

function compiled(client, module, { disable }, counts) {
  progress('compiling');
  return client.compile(module, { ...counts, disable: disable?.split(',') });
}

async function runElsewhere(client, module, argumentsOf, options) {
  if (options.on !== 'pjrt') throw new UsageError(`--on ${options.on}: there is only pjrt`);
  const { runOnPjrt } = await import('./pjrt.mjs');
  const count = (name, min) => countOption(name, options[name], min);
  const where = {
    replicas: count('replicas', 1) ?? module.replicaCount ?? 1,
    partitions: count('partitions', 1) ?? module.partitionCount ?? 1,
    process: count('process', 0), processes: count('processes', 1),
    coordinator: options.coordinator, platform: options.platform,
  };
  if (where.processes > 1 && (!where.coordinator || where.process === undefined)) {
    throw new UsageError('several processes need --coordinator HOST:PORT and --process I');
  }
  const all = await argumentsOf(where);
  progress('running on PJRT');
  const made = await runOnPjrt(client, module, all, where);
  await printResults([...made.values()], options.json, where.partitions, [...made.keys()]);
  if (!options.check) return;
  const { replicas, partitions } = where;
  const executable = await compiled(client, module, options, { replicas, partitions });
  const simulated = await executable.executeReplicas(all);
  for (const [device, results] of made) {
    const leaves = simulated[device].flatMap((output) => output.leaves()).filter(Boolean);
    const problem = difference(leaves, results);
    if (problem) throw new XlaError('DATA_LOSS', `device ${device} differs from real XLA: ${problem}`);
  }
  writeLine(`${made.size} ${made.size === 1 ? 'device agrees' : 'devices agree'} with the simulated run`);
}

/** On standard error, so that results are all of standard output. */
async function time(executable, args, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    progress(`running ${i + 1} of ${count}`);
    const start = performance.now();
    await executable.executeReplicas(args);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const [min, median] = [times[0], times[count >> 1]].map((ms) => `${ms.toPrecision(3)} ms`);
  writeLine(`${count} runs: min ${min}, median ${median}`);
}

function writeLine(text) {
  progress();
  process.stderr.write(`${shown(process.stderr, text)}\n`);
}

async function info(client, module, { json }) {
  const { name, replicaCount, partitionCount, parameters, resultShape, resultNames } = module;
  if (json) {
    const counts = { replicas: replicaCount, partitions: partitionCount };
    return print(JSON.stringify({ name, ...counts, parameters, result: resultShape, resultNames, vjpOrder: vjpOrder(module) }));
  }
  const faint = (text) => paint(process.stdout, 'faint', text);
  const counts = [[replicaCount, 'replicas'], [partitionCount, 'partitions']]
    .map(([count, what]) => (count ? `, ${count} ${what}` : '')).join('');
  await printPainted(`${paint(process.stdout, 'bold', name)}${counts}`);
  for (const [i, parameter] of parameters.entries()) {
    await printPainted(`${faint(`parameter ${i}`)}  ${paint(process.stdout, 'cyan', parameter.name)}: ${parameter.shape}`);
  }
  if (!resultShape) return printPainted('Its results depend on the sizes that are open (?): give the shapes of these parameters by --shape.');
  for (const [i, shape] of resultsOf(module).entries()) {
    const name = resultNames[i] ? `${paint(process.stdout, 'cyan', resultNames[i])}: ` : '';
    await printPainted(`${faint(`result ${i}`)}  ${name}${shape}`);
  }
  const order = vjpOrder(module);
  if (order) await printPainted(`${faint('vjp')}  with its vector-Jacobian product, of order ${order} (module.vjp)`);
}

/** Counts the vector-Jacobian products in a file of jax.export, each of the one before. */
const vjpOrder = ({ vjp }) => (vjp ? 1 + vjpOrder(vjp) : 0);

async function printArrays(arrays, json) {
  const shapes = Object.entries(arrays).map(([name, { shape }]) => [name, String(shape.withoutLayout())]);
  if (json) return print(JSON.stringify(Object.fromEntries(shapes)));
  for (const [name, shape] of shapes) await printPainted(`${paint(process.stdout, 'cyan', name)}: ${shape}`);
}

const put = (options, text) =>
  (options.output === undefined ? print(text.trimEnd()) : writeOut(options.output, `${text.trimEnd()}\n`));

function printModule(_client, module, options) {
  return put(options, module.toString());
}

async function printCompiled(client, module, options) {
  const replicas = countOption('replicas', options.replicas, 1);
  const partitions = countOption('partitions', options.partitions, 1);
  const executable = await compiled(client, module, options, { replicas, partitions });
  if (options.wasm) return putWasm(executable, options);
  return put(options, options.steps ? executable.thunks() : executable.toString());
}

async function putWasm(executable, options) {
  const code = executable.generatedCode();
  if (!code) throw new UsageError('no WebAssembly was generated for this program: its steps (--steps) are all kernels');
  if (/\.wasm$/.test(options.output ?? '')) return writeOut(options.output, code);
  const parser = await import('../../build/node/wasmparser.mjs');
  const { wasmText } = await import('./wasm_text.mjs');
  return put(options, wasmText(parser, code, executable.thunks()));
}

async function explain(client, module, options) {
  const [replicas, partitions] = ['replicas', 'partitions'].map((name) => countOption(name, options[name], 1));
  const executable = await compiled(client, module, options, { replicas, partitions });
  const seed = countOption('seed', options.seed, 0) ?? 0;
  const all = await argumentsOfDevices(options.input, module.parameters, executable, seed);
  const { explanation, inWords, isInRegions, medianRun } = await import('./explain.mjs');
  const profiled = async (program) => {
    progress('running');
    await program.executeReplicas(all); // the engine compiles the code once more after this
    const events = await medianRun(async () => (await program.executeReplicas(all, { profile: true })).events);
    return events.filter(({ replica, partition }) => replica + partition === 0);
  };
  const events = await profiled(executable);
  const disable = [...(options.disable?.split(',') ?? []), 'regions'].join();
  const others = isInRegions(events) ? await profiled(await compiled(client, module, { disable }, { replicas, partitions })) : undefined;
  const explained = explanation(executable, events, others);
  return put(options, options.json ? JSON.stringify(explained) : inWords(explained, module.name));
}

async function convert(_client, module, { output }) {
  const form = /\.(\w+)$/.exec(output ?? '')?.[1];
  if (form === 'pb') return writeOut(output, await module.toProto());
  if (form === 'hlo' || form === 'txt') return writeOut(output, module.toString());
  throw new UsageError('convert needs --output FILE.hlo or FILE.pb');
}

function printGradient(client, module, options) {
  const wrt = options.wrt.length ? options.wrt.map((name) => (/^\d+$/.test(name) ? Number(name) : name)) : undefined;
  const gradient = client.gradient(module, {
    wrt,
    of: countOption('of', options.of, 0),
    value: options.value,
    maxTrips: countOption('max-trips', options['max-trips'], 1),
    checkpoint: options.checkpoint,
  });
  if (options.output === undefined) return printModule(client, gradient, options);
  const own = options.value ? resultsOf(module).length : 0, shapes = resultsOf(gradient);
  const numbers = parameterNumbers('gradient', module.parameters, wrt);
  writeLine(shapes.map((shape, i) => `result ${i}: ${shape}${i < own ? '' : `, the gradient by ${module.parameters[numbers[i - own]].name}`}`).join('\n'));
  return convert(client, gradient, options);
}

const resultsOf = ({ resultShape }) => (resultShape.isTuple ? resultShape.tupleShapes : [resultShape]);

function printBatch(client, module, options) {
  const batch = client.vmap(module, {
    in: dimensionsOption('in', options.in),
    out: dimensionsOption('out', options.out),
    size: countOption('size', options.size, 0),
  });
  return options.output === undefined ? printModule(client, batch, options) : convert(client, batch, options);
}

/** "0", "0,null" or "x=0,params=1" */
function dimensionsOption(name, text) {
  if (text === undefined) return undefined;
  const entries = text.split(',').map((entry) => {
    const [, key, dimension] = /^(?:(.*)=)?(-?\d{1,9}|null)$/.exec(entry) ?? [];
    if (dimension === undefined || (key === undefined) === text.includes('=')) {
      throw new UsageError(`--${name} must be dimensions or null, such as 0,null or x=0,w=1; got "${text}"`);
    }
    return [key, dimension === 'null' ? null : Number(dimension)];
  });
  if (text.includes('=')) return Object.fromEntries(entries);
  return entries.length === 1 ? entries[0][1] : entries.map(([, dimension]) => dimension);
}

function countOption(name, text, min) {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) >= min) return Number(text);
  throw new UsageError(`--${name} must be a number from ${min} on; got "${text}"`);
}

/** @param {number[]} [devices] the numbers of those that the results are of, replica-major */
async function printResults(results, json, partitions, devices = [...results.keys()]) {
  for (const [i, outputs] of results.entries()) {
    const place = { replica: Math.floor(devices[i] / partitions) };
    if (partitions > 1) place.partition = devices[i] % partitions;
    if (json) {
      const line = outputs.map(jsonOfLiteral).join(',');
      await print(`${JSON.stringify(place).slice(0, -1)},"outputs":[${line}]}`);
    } else {
      const name = Object.entries(place).map((pair) => pair.join(' ')).join(', ');
      if (results.length > 1) await printPainted(paint(process.stdout, 'bold', name));
      for (const output of outputs) await print(output.toString());
    }
  }
}

async function version() {
  const file = new URL('../../package.json', import.meta.url);
  return JSON.parse(await readFile(file, 'utf8')).version;
}

const print = (line) => printPainted(shown(process.stdout, line));

/** Waits until the line is out: a pipe may be slow, and the process must not end before. */
function printPainted(line) {
  progress();
  return new Promise((resolve) => process.stdout.write(`${line}\n`, resolve));
}

// The reader has closed the pipe, as `| head` does: no error.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1));

/** Words of the API's errors, and the command-line options that replace them. */
const IN_OPTIONS = [
  [/\(maxTrips\)/, '(--max-trips N)'],
  [/, name another result of the program \(of\), or use client\.vjp\(\), which takes its cotangent/, ' or name another result by --of N'],
  [/, use jvp, or export/, ', or export'], [/: module\.vjp$/, ''],
  [/; (client\.registerCustomCall\(\)) does it/, '; only a program of the package can, by $1'],
  [/^vmap: size is missing/, 'vmap: --size N is missing'],
  [/\{ disable: \['([^']*)'\] \}/, '--disable $1'], [/\{ disable: client\.optionalPasses \}/, '--disable with the names of docs/passes.md'],
];
const inOptions = (text) => IN_OPTIONS.reduce((said, [words, option]) => said.replace(words, option), text);

try {
  await main(process.argv.slice(2));
} catch (error) {
  const isExpected = error instanceof UsageError || error instanceof XlaError;
  const text = isExpected ? inOptions(error.message) : (error.stack ?? String(error));
  const hint = error instanceof UsageError && !text.includes('\n') ? ' (see xla-wasm --help)' : '';
  progress();
  process.stderr.write(`${paint(process.stderr, 'red', 'error:')} ${shown(process.stderr, text.trim().replace(/\s*\n(?! {2})\s*/g, '; '))}${hint}\n`);
  process.exitCode = 1;
}
