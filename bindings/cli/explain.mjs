/** xla-wasm explain: describes a compiled program in words. */
import { readLines } from '../formats/read_lines.mjs';
import { stepsOf } from '../objects/listing.mjs';

const CALLS = 'calls=';
const HELD = new Set(['parameter', 'constant', 'get-tuple-element', 'tuple']);

/** Returns the opcodes of each instruction of a module's text: its own, or those in the computation of a fusion. */
function operationsOf(text) {
  const byComputation = new Map(), found = new Map();
  for (const { name: computation, instructions } of readLines(text).computations) {
    const own = instructions.filter(({ opcode }) => !HELD.has(opcode));
    byComputation.set(computation, own.map(({ opcode }) => opcode));
    for (const { name, opcode, attributes } of own) {
      const called = attributes.find((attribute) => attribute.startsWith(CALLS))?.slice(CALLS.length);
      found.set(name, byComputation.get(called) ?? [opcode]);
    }
  }
  return found;
}

const MAX_RUNS = 5, MAX_MS = 2000;

/** The events of the run of median length among five, or fewer if they take over two seconds. */
export async function medianRun(run) {
  const runs = [], started = performance.now();
  while (runs.length < MAX_RUNS && (!runs.length || performance.now() - started < MAX_MS)) runs.push(await run());
  const length = (events) => events.reduce((end, { endUs }) => Math.max(end, endUs), 0) - events.reduce((start, { startUs }) => Math.min(start, startUs), Infinity);
  return runs.sort((a, b) => length(a) - length(b))[runs.length >> 1];
}

const KINDS = {
  generated: 'a loop of generated code', kernel: 'a hand-written kernel', region: 'a run of small steps, one generated function',
  rows: 'loops over the same rows, run together for a block of rows at a time', eval: 'the evaluator, which is slow', copy: 'a copy',
  collective: 'a collective', channel: 'a message between devices', while: 'a loop of the program', conditional: 'a branch of the program',
  host: 'a call of the host',
};

const GROUPS = new Set(['region', 'rows', 'while', 'conditional']); // of steps that are listed below them

const counted = (names) => {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count > 1 ? `${count} ${name}` : name)).join(', ');
};

const UNITS = ['bytes', 'kB', 'MB', 'GB'];
export function bytesInWords(bytes) {
  const unit = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${unit ? (bytes / 1000 ** unit).toPrecision(3) : bytes} ${UNITS[unit]}`;
}

const MAX_STEPS = 30;
const MAX_BUFFERS = 5;
const MAX_TIMES = 10;

/** The time of each step, the longest first. */
function timesOf(events) {
  const times = new Map();
  for (const { name, startUs, endUs, waitedUs = 0, category, source, opName } of events) {
    const before = times.get(name) ?? { us: 0, waitedUs: 0, times: 0, category, source, opName };
    times.set(name, { ...before, us: before.us + endUs - startUs - waitedUs, waitedUs: before.waitedUs + waitedUs, times: before.times + 1 });
  }
  const total = [...times.values()].reduce((sum, { us }) => sum + us, 0);
  return [...times].map(([name, time]) => ({ name, ...time, share: total ? time.us / total : 0 })).sort((a, b) => b.us - a.us);
}

/** Regions with at least this share of the time are split. */
const LARGE_SHARE = 0.2;

/** Whether a profile has few details, as a region takes much of the time. */
export const isInRegions = (events) => timesOf(events).some(({ category, share }) => category === 'region' && share >= LARGE_SHARE);

/**
 * @param {any} executable
 * @param {object[]} events of a profile of the first device
 * @param {object[]} [others] events of a profile without regions
 * @returns {object} for --json; inWords() converts it to text
 */
export function explanation(executable, events, others) {
  const operations = operationsOf(executable.toString());
  const steps = stepsOf(executable.thunks());
  const times = timesOf(events), apart = others && timesOf(others);
  const total = times.reduce((sum, { us }) => sum + us, 0);
  const inRegions = new Set(steps.filter(({ kind, depth }) => depth && !GROUPS.has(kind)).map(({ name }) => name));
  const { buffers } = executable.memoryPlan();
  return {
    steps: steps.map(({ kind, name, depth }) => ({
      kind, name, depth, operations: GROUPS.has(kind) ? [] : operations.get(name) ?? [],
    })),
    times,
    totalUs: total,
    apart: apart?.filter(({ name }) => inRegions.has(name)),
    memory: executable.memory,
    largest: [...buffers].filter(({ place }) => place === 'arena').sort((a, b) => b.bytes - a.bytes).slice(0, MAX_BUFFERS)
      .map(({ name, bytes, first, last }) => ({ name, bytes, first, last })),
    devices: executable.replicas * executable.partitions,
  };
}

function timeInWords({ name, us, share, waitedUs, times, category, source, opName }) {
  const often = times > 1 ? `, ${times} times` : '';
  const waits = waitedUs > 1 ? `, and waits ${waitedUs.toFixed(0)} us` : '';
  const from = opName || source ? ` (${[opName, source].filter(Boolean).join(', ')})` : '';
  return `  ${(100 * share).toFixed(1).padStart(5)} %  ${us.toFixed(1)} us  ${name}, ${KINDS[category] ?? category}${often}${waits}${from}`;
}

/** @param {object} explained @param {string} name of the module */
export function inWords({ steps, times, totalUs, apart, memory, largest, devices }, name) {
  const lines = [`${name} takes ${steps.length} step${steps.length === 1 ? '' : 's'} on ${devices === 1 ? 'one device' : `each of ${devices} devices`}.`, ''];
  for (const { kind, name: own, depth, operations } of steps.slice(0, MAX_STEPS)) {
    const what = operations.length ? `: ${counted(operations)}` : '';
    lines.push(`${'  '.repeat(depth + 1)}${own}, ${KINDS[kind] ?? kind}${what}`);
  }
  if (steps.length > MAX_STEPS) lines.push(`  and ${steps.length - MAX_STEPS} more (--json has all)`);
  lines.push('', `Time: ${(totalUs / 1000).toPrecision(3)} ms on the first device, in the median of some runs.`);
  lines.push(...times.slice(0, MAX_TIMES).map(timeInWords));
  if (apart?.length) lines.push('  When the small steps run one by one, as with --disable regions:', ...apart.slice(0, MAX_TIMES).map(timeInWords));
  const slow = times.filter(({ category }) => category === 'eval');
  if (slow.length) lines.push(`  Evaluated, because nothing faster runs it: ${slow.map(({ name: own }) => own).join(', ')} (docs/evaluated.md).`);
  lines.push('', 'Memory of a device: ' + ['arguments', 'results', 'temporaries', 'constants', 'generatedCode']
    .map((part) => `${part === 'generatedCode' ? 'generated code' : part} ${bytesInWords(memory[part])}`).join(', ') + '.');
  if (memory.aliases) lines.push(`  ${bytesInWords(memory.aliases)} of the results lie in the memory of arguments.`);
  for (const { name: own, bytes, first, last } of largest) lines.push(`  ${own}: ${bytesInWords(bytes)}, from step ${first} to ${last}`);
  return lines.join('\n');
}
