/**
 * Changes that make a program smaller. Each takes the reduction (reducer.mjs), tries candidates, and keeps those with
 * the fault.
 */
import { attributeOf, calledBy } from '../../bindings/objects/hlo_lines.mjs';
import { Shape } from '../../bindings/values/shape.mjs';

const isArray = (shape) => /^[a-z]\w*\[/.test(shape) && !shape.includes('<=');
const plainOf = (shape) => shape.replace(/\{[^}]*\}$/, '');
const lineOf = ({ instructions }, name) => instructions.find((line) => line.name === name);
const isLeaf = ({ opcode }) => opcode === 'parameter' || opcode === 'constant';

/** Names that no instruction of a program has. */
let made = 0;
const fresh = (word) => `${word}.r${++made}`;

/** Replaces the uses of an instruction, and the root. */
function replaceUses(computation, name, by) {
  for (const line of computation.instructions) {
    line.operands = line.operands.map((operand) => (operand === name ? by : operand));
  }
  if (computation.root === name) computation.root = by;
}

/** Leaves out notes for people and for other compilers. */
export async function dropNotes(reduction) {
  await reduction.attempt((program) => {
    for (const { instructions } of program.computations) {
      for (const line of instructions) {
        line.attributes = line.attributes.filter((each) =>
          !/^(metadata|frontend_attributes|sharding|backend_config|operand_precision|statistics)=/.test(each) ||
          (line.opcode === 'custom-call' && each.startsWith('backend_config=')));
      }
    }
  });
}

/** One result instead of several, and an operand instead of the root. */
export async function dropResults(reduction) {
  for (let again = true; again;) {
    again = false;
    const { root: name } = reduction.program.entry;
    const root = lineOf(reduction.program.entry, name);
    for (const operand of new Set(root.operands)) {
      again = await reduction.attempt(({ entry }) => { entry.root = operand; });
      if (again) break;
    }
  }
  for (let i = 0; i < (rootTuple(reduction.program)?.operands.length ?? 0);) {
    const dropped = await reduction.attempt((program) => {
      const root = rootTuple(program);
      if (root.operands.length < 2) return false;
      root.operands.splice(i, 1);
      root.shape = tupleOf(program.entry, root.operands);
      return true;
    });
    if (!dropped) i++;
  }
}

function rootTuple({ entry }) {
  const root = lineOf(entry, entry.root);
  return root.opcode === 'tuple' ? root : undefined;
}

const tupleOf = (computation, operands) =>
  `(${operands.map((operand) => lineOf(computation, operand).shape).join(', ')})`;

/* ---- Instructions of the entry become parameters ---- */

/** Puts parameters with the evaluator's values in the place of instructions. */
function cut(program, args, values, names) {
  const { entry } = program;
  for (const name of names) {
    const line = lineOf(entry, name);
    if (!line || isLeaf(line) || !values.has(name) || entry.root === name) continue;
    const number = entry.instructions.filter(({ opcode }) => opcode === 'parameter').length;
    Object.assign(line, { opcode: 'parameter', inside: String(number), operands: [], attributes: [] });
    line.shape = plainOf(line.shape);
    args.set(name, values.get(name));
  }
}

/** Cuts off all instructions before one place, as late in the program as the fault allows; then single ones. */
export async function cutOff(reduction) {
  const values = await reduction.values();
  if (!values.size) return;
  const names = reduction.program.entry.instructions.map(({ name }) => name);
  let kept = 0;
  for (let step = names.length >> 1; step >= 1; step >>= 1) {
    const prefix = names.slice(0, kept + step);
    if (await reduction.attempt((program, args) => { cut(program, args, values, prefix); })) kept += step;
  }
  for (const name of names.slice(kept).reverse()) {
    await reduction.attempt((program, args) => { cut(program, args, values, [name]); });
  }
}

/* ---- Instructions of any computation go ---- */

/** Puts an operand of the same shape, or zeros, in the place of an instruction. */
export async function bypass(reduction) {
  const places = reduction.program.computations.flatMap(({ name, instructions }) =>
    instructions.map((line) => [name, line.name])).reverse();
  for (const [inside, name] of places) {
    const line = lineOf(reduction.program.computation(inside) ?? { instructions: [] }, name);
    if (!line || isLeaf(line)) continue;
    await bypassLine(reduction, inside, line);
  }
}

async function bypassLine(reduction, inside, line) {
  const { instructions } = reduction.program.computation(inside);
  const alike = line.operands.filter((operand) =>
    plainOf(lineOf({ instructions }, operand).shape) === plainOf(line.shape));
  for (const operand of new Set(alike)) {
    const gone = await reduction.attempt((program) => {
      replaceUses(program.computation(inside), line.name, operand);
    });
    if (gone) return true;
  }
  return isArray(line.shape) && !isZeros(line, instructions) &&
    reduction.attempt((program) => { zeros(program.computation(inside), line.name); });
}

const isZeros = ({ opcode, operands }, instructions) =>
  opcode === 'broadcast' && lineOf({ instructions }, operands[0]).opcode === 'constant';

/** Zeros of an instruction's shape, in its place. */
function zeros(computation, name) {
  const at = computation.instructions.findIndex((line) => line.name === name);
  const shape = plainOf(computation.instructions[at].shape), [, type] = /^(\w+)\[/.exec(shape);
  const zero = /^c(64|128)$/.test(type) ? '(0, 0)' : { pred: 'false', f8e8m0fnu: '1' }[type] ?? '0';
  const scalar = { name: fresh('zero'), shape: `${type}[]`, opcode: 'constant', inside: zero, operands: [], attributes: [] };
  if (shape === `${type}[]`) {
    computation.instructions[at] = { ...scalar, name };
    return;
  }
  computation.instructions.splice(at, 1, scalar,
    { name, shape, opcode: 'broadcast', inside: '', operands: [scalar.name], attributes: ['dimensions={}'] });
}

/** An element of a tuple that is made in the same computation is the tuple's operand. */
export async function forwardElements(reduction) {
  await reduction.attempt((program) => {
    let changed = false;
    for (const computation of program.computations) {
      for (const line of computation.instructions) {
        if (line.opcode !== 'get-tuple-element') continue;
        const tuple = lineOf(computation, line.operands[0]);
        if (tuple.opcode !== 'tuple') continue;
        replaceUses(computation, line.name, tuple.operands[Number(attributeOf(line, 'index'))]);
        changed = true;
      }
    }
    return changed;
  });
}

/* ---- Called computations ---- */

const BRANCHES = ['conditional'];

/** A loop becomes one call of its body, a conditional a call of a branch, and a call its body in place. */
export async function simplifyCalls(reduction) {
  const places = reduction.program.computations.flatMap(({ name, instructions }) => instructions
    .filter(({ opcode }) => ['while', 'call', 'fusion', ...BRANCHES].includes(opcode)).map((line) => [name, line]));
  for (const [inside, { name, opcode }] of places) {
    const choices = { while: [1], conditional: Array.from({ length: 20 }, (_, i) => i) }[opcode] ?? [0];
    for (const choice of choices) {
      if (await reduction.attempt((program) => inlineAt(program, inside, name, choice))) break;
    }
  }
}

function inlineAt(program, inside, name, choice) {
  const computation = program.computation(inside), line = computation && lineOf(computation, name);
  if (!line) return false;
  const called = program.computation(calledNames(line)[choice]);
  if (!called) return false;
  const operands = BRANCHES.includes(line.opcode) ? [line.operands[choice + 1]] : line.operands;
  const renamed = new Map();
  const body = called.instructions.flatMap((each) => {
    if (each.opcode === 'parameter') {
      renamed.set(each.name, operands[Number(each.inside)]);
      return [];
    }
    renamed.set(each.name, fresh('i'));
    return [{
      ...structuredClone(each), name: renamed.get(each.name),
      operands: each.operands.map((operand) => renamed.get(operand)),
    }];
  });
  computation.instructions.splice(computation.instructions.indexOf(line), 1, ...body);
  replaceUses(computation, name, renamed.get(called.root));
  return true;
}

/** The condition of a loop before its body, as the choices number them. */
function calledNames(line) {
  const body = attributeOf(line, 'body');
  return body ? [attributeOf(line, 'condition'), body] : calledBy(line);
}

/** Removes elements from the states of loops: the initial value takes their place outside, zeros inside. */
export async function dropState(reduction) {
  const loops = () => reduction.program.computations.flatMap(({ name, instructions }) =>
    instructions.filter(({ opcode }) => opcode === 'while').map((line) => [name, line.name]));
  for (const [inside, name] of loops()) {
    for (let i = 0; ; i++) {
      const computation = reduction.program.computation(inside), line = computation && lineOf(computation, name);
      const tuple = line && lineOf(computation, line.operands[0]);
      if (tuple?.opcode !== 'tuple' || i >= tuple.operands.length) break;
      if (await reduction.attempt((program) => dropElement(program, inside, name, i))) i--;
    }
  }
}

function dropElement(program, inside, name, i) {
  const outer = program.computation(inside), loop = lineOf(outer, name);
  const initial = lineOf(outer, loop.operands[0]);
  if (initial.operands.length < 2) return false;
  const operands = initial.operands.toSpliced(i, 1), shape = tupleOf(outer, operands);
  const tuple = { ...structuredClone(initial), name: fresh('state'), operands, shape };
  outer.instructions.splice(outer.instructions.indexOf(loop), 0, tuple);
  takeElement(outer, name, i, (element) => replaceUses(outer, element.name, initial.operands[i]));
  Object.assign(loop, { operands: [tuple.name], shape });
  for (const called of calledNames(loop)) {
    const computation = program.computation(called);
    const parameter = computation.instructions.find(({ opcode }) => opcode === 'parameter');
    takeElement(computation, parameter.name, i, (element) => zeros(computation, element.name));
    parameter.shape = shape;
    const root = lineOf(computation, computation.root);
    if (called !== attributeOf(loop, 'body')) continue;
    if (root.opcode !== 'tuple') return false;
    root.operands.splice(i, 1);
    root.shape = shape;
  }
  return true;
}

/** Gives element i of a tuple to `dropped`, and numbers those after it again. */
function takeElement(computation, tuple, i, dropped) {
  const elements = computation.instructions.filter(({ opcode, operands }) =>
    opcode === 'get-tuple-element' && operands[0] === tuple);
  for (const element of elements) {
    const index = Number(attributeOf(element, 'index'));
    if (index === i) dropped(element);
    else if (index > i) element.attributes = [`index=${index - 1}`];
  }
}

/* ---- Sizes and constants ---- */

const SIZES = /^(slice|dynamic_slice_sizes|slice_sizes|window)=/;
const sizesOf = (shape) => [...shape.matchAll(/\[([\d,<=]*)\]/g)]
  .flatMap(([, dims]) => dims.split(',')).map(Number).filter((size) => size > 1);

/** Makes all dimensions of one size smaller. The reduction fits the shapes of the results. */
export async function shrinkSizes(reduction) {
  const shapes = reduction.program.computations.flatMap(({ instructions }) => instructions.map(({ shape }) => shape));
  const sizes = [...new Set(shapes.flatMap(sizesOf))].sort((a, b) => b - a);
  for (const size of sizes) {
    for (let now = size; now > 1;) {
      let next;
      for (const smaller of new Set([1, 2, now >> 2, now >> 1, now - 1])) {
        if (smaller < 1 || smaller >= now) continue;
        const from = now;
        if (await reduction.attempt((program) => resize(program, from, smaller))) {
          next = smaller;
          break;
        }
      }
      if (!next) break;
      now = next;
    }
  }
}

function resize(program, from, to) {
  const number = new RegExp(`(?<![\\d.])${from}(?![\\d.])`, 'g');
  const resized = (shape) => shape.replace(/\[[\d,<=]*\]/g, (dims) => dims.replace(number, to));
  for (const { instructions } of program.computations) {
    for (const line of instructions) {
      const before = line.shape;
      line.shape = resized(before);
      line.attributes = line.attributes.map((each) => (SIZES.test(each) ? each.replace(number, to) : each));
      if (line.opcode === 'constant' && line.shape !== before) line.inside = literalText(line);
    }
  }
}

/** A literal of a line's shape with the elements of the one before, again and again. */
export function literalText({ shape, inside }) {
  const { dimensions } = Shape.parse(shape);
  const elements = inside.match(/\([^()]*\)|[^\s{},]+/g) ?? ['0'];
  let next = 0;
  const of = (rank) => (rank === dimensions.length ? elements[next++ % elements.length]
    : `{${Array.from({ length: dimensions[rank] }, () => of(rank + 1)).join(', ')}}`);
  return of(0);
}

/** Makes scalar integer constants smaller: numbers of iterations, above all. */
export async function shrinkConstants(reduction) {
  const places = reduction.program.computations.flatMap(({ name, instructions }) => instructions
    .filter(({ opcode, shape, inside }) => opcode === 'constant' && /^[su]\d+\[\]/.test(shape) && Number(inside) > 1)
    .map((line) => [name, line.name]));
  for (const [inside, name] of places) {
    for (let again = true; again;) {
      again = false;
      const computation = reduction.program.computation(inside), line = computation && lineOf(computation, name);
      const now = Number(line?.inside ?? 0);
      for (const smaller of new Set([1, 2, Math.floor(now / 4), Math.floor(now / 2), now - 1])) {
        if (smaller < 1 || smaller >= now) continue;
        again = await reduction.attempt((program) => {
          lineOf(program.computation(inside), name).inside = String(smaller);
        });
        if (again) break;
      }
    }
  }
}

/** All changes, those first that remove most. */
export const EDITS = [
  dropNotes, dropResults, cutOff, simplifyCalls, forwardElements, bypass, dropState, shrinkConstants, shrinkSizes,
];
