/**
 * Writes a program as other texts of the same meaning: with other layouts, with start indices as one vector, and with
 * operations as pairs of start and done. XLA does not get these texts: its client takes neither layouts of inner
 * instructions nor scheduled programs.
 */
import { Random } from './random.mjs';
import { numbersTo } from './values.mjs';

/**
 * `always`: an operation whose every instruction becomes a start and a done; 'async': each that can be.
 * @returns {{ seed: number, layouts: boolean, asynchronous: boolean, always?: string } | null}
 */
export function randomSpelling(random) {
  if (random.chance(0.8)) return null;
  const layouts = random.chance(0.5);
  return { seed: random.bits(), layouts, asynchronous: !layouts || random.chance(0.3) };
}

export function spell(text, spelling) {
  if (!spelling) return text;
  const random = new Random(spelling.seed);
  const started = spelling.asynchronous ? startAndDo(random, text, spelling.always) : text;
  const written = random.chance(0.5) ? withVectors(started) : started;
  return spelling.layouts ? withLayouts(random, written) : written;
}

/** Gives each array a random layout, also where XLA prefers equal ones. */
function withLayouts(random, text) {
  return text.replace(/(\w\[[\d,<=]*\])\{([\d,]+)\}/g, (_, array, layout) =>
    `${array}{${random.shuffle(layout.split(','))}}`);
}

/* ---- Start indices as one vector, the older form ---- */

const FIRST_START = { 'dynamic-slice': 1, 'dynamic-update-slice': 2 };

function withVectors(text) {
  const shapes = new Map(); // of the computation that is read
  return text.split('\n').flatMap((line) => {
    if (COMPUTATION.test(line)) shapes.clear();
    const [, defined, shape] = DEFINITION.exec(line) ?? [], [, , name, , opcode, list] = INSTRUCTION.exec(line) ?? [];
    if (defined) shapes.set(defined, shape);
    const first = FIRST_START[opcode], operands = list?.split(', ') ?? [], starts = operands.slice(first);
    const types = new Set(starts.map((operand) => shapes.get(operand)));
    if (!first || types.size !== 1) return [line];
    const type = [...types][0].replace('[]', ''), parts = starts.map((_, i) => `${name}.start${i}`);
    return [
      ...parts.map((part, i) => `  ${part} = ${type}[1] reshape(${starts[i]})`),
      `  ${name}.starts = ${type}[${starts.length}] concatenate(${parts.join(', ')}), dimensions={0}`,
      line.replace(`(${list})`, `(${[...operands.slice(0, first), `${name}.starts`].join(', ')})`),
    ];
  }).join('\n');
}

/* ---- Asynchronous forms ---- */

const INSTRUCTION = /^ {2}(ROOT )?([\w.-]+) = (\(.*?\)|\S+) ([a-z][\w-]*)\((\(.*\)|[^()]*)\)(.*)$/;
/** Matches any line that defines a value; INSTRUCTION does not match constants of complex numbers. */
const DEFINITION = /^ {2}(?:ROOT )?([\w.-]+) = (\(.*?\)|\S+) /;
const COMPUTATION = /^(ENTRY )?([\w.-]+) (\(.*\) )?\{$/;
/** Finds computations whose instructions run one by one; others apply to elements. */
const RUNS = /^(fuzz|body|again|branch_\d|called|update)[.\d]*$/;
const NEVER = [
  'parameter', 'constant', 'tuple', 'get-tuple-element', 'after-all', 'set-dimension-size',
  'get-dimension-size', 'replica-id', 'opt-barrier', 'while', 'conditional', 'call',
];

/** The start of each asynchronous operation: its result and opcode; null for the general form. */
const STARTS = {
  'all-reduce': (shape) => shape,
  'all-gather': (shape, operands) =>
    `(${operands.length > 1 ? `(${operands.join(', ')})` : operands[0]}, ${shape})`,
  'collective-permute': (shape, [operand]) => `(${operand}, ${shape}, u32[], u32[])`,
  copy: (shape) => `(${shape}, ${shape}, u32[])`,
};

function startAndDo(random, text, always) {
  const lines = [];
  let begin = 0; // of the computation that is read: those that it calls go before it
  const shapes = new Map(); // of the computation that is read
  let pending = []; // operations that are started and not done: { uses, lines }
  let runs = false;
  for (const line of text.split('\n')) {
    const [, entry, name] = COMPUTATION.exec(line) ?? [];
    if (name) {
      shapes.clear();
      begin = lines.length;
      runs = Boolean(entry) || RUNS.test(name);
    }
    const found = INSTRUCTION.exec(line);
    const [, defined, shape] = DEFINITION.exec(line) ?? [];
    if (defined) shapes.set(defined, shape);
    if (!runs || !found) {
      lines.push(line);
      continue;
    }
    const instruction = read(found, shapes);
    const ready = pending.filter(({ name: needed }) =>
      instruction.root || instruction.operands.includes(needed) || random.chance(0.2));
    pending = pending.filter((each) => !ready.includes(each));
    lines.push(...ready.map(({ done }) => done));
    const isWanted = [instruction.opcode, 'async'].includes(always) || random.chance(0.4);
    const form = isWanted && !NEVER.includes(instruction.opcode) ? asynchronous(random, instruction) : null;
    if (!form) {
      lines.push(line);
    } else {
      lines.splice(begin, 0, ...form.called);
      begin += form.called.length;
      lines.push(form.start);
      if (instruction.root) lines.push(form.done);
      else pending.push({ name: instruction.name, done: form.done });
    }
  }
  return lines.join('\n');
}

function read([, root, name, shape, opcode, list, attributes], shapes) {
  const operands = list ? list.split(', ') : [];
  const operandShapes = operands.map((operand) => shapes.get(operand));
  return { root: Boolean(root), name, shape, opcode, operands, operandShapes, attributes };
}

function asynchronous(random, instruction) {
  const { root, name, shape, opcode, operands, operandShapes, attributes } = instruction;
  const start = `${name}.start`;
  const form = (result, started, rest, doneOpcode, called = []) => ({
    called,
    start: `  ${start} = ${result} ${started}(${operands.join(', ')})${rest}`,
    done: `  ${root ? 'ROOT ' : ''}${name} = ${shape} ${doneOpcode}(${start})`,
  });
  const own = STARTS[opcode]?.(shape, operandShapes);
  if (own) return form(own, `${opcode}-start`, attributes, `${opcode}-done`);
  const general = `((${operandShapes.join(', ')}), ${shape}, s32[])`;
  if (random.chance(0.5)) return form(general, `${opcode}-start`, attributes, `${opcode}-done`);
  const computation = `wrapped_${name}_${random.bits()}`;
  const parameters = numbersTo(operands.length).map((i) => `p${i}`);
  return form(general, 'async-start', `, calls=${computation}`, 'async-done', [
    `${computation} {`,
    ...parameters.map((p, i) => `  ${p} = ${operandShapes[i]} parameter(${i})`),
    `  ROOT result = ${shape} ${opcode}(${parameters.join(', ')})${attributes}`,
    '}',
    '',
  ]);
}
