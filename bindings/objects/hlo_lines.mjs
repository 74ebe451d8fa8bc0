/**
 * A program as lines of HLO text (formats/read_lines.mjs), for tools that change programs.
 * @typedef {import('../formats/read_lines.mjs').Line} Line
 * @typedef {import('../formats/read_lines.mjs').Lines} Lines
 */
import { readLines } from '../formats/read_lines.mjs';

/** Attributes of the module that a change of its entry makes invalid. */
const OF_WHOLE = /^(entry_computation_layout|input_output_alias|buffer_donor|allow_spmd_sharding_propagation\w*)=/;
const CALLED = /^(to_apply|calls|condition|body|select|scatter|branch_computations|true_computation|false_computation|called_computations)=(.*)$/;

export class HloLines {
  /** @param {string} text of HloModule.toString() */
  static parse(text) {
    const { header: [name, ...header], computations } = readLines(text);
    return new HloLines([name, ...header.filter((part) => !OF_WHOLE.test(part))].join(', '), computations);
  }

  /** @param {string} header the first line @param {Lines[]} computations callees first, the entry last */
  constructor(header, computations) {
    this.header = header;
    this.computations = computations;
  }

  get entry() {
    return this.computations.find(({ isEntry }) => isEntry);
  }

  get instructionCount() {
    return this.computations.reduce((sum, { instructions }) => sum + instructions.length, 0);
  }

  computation(name) {
    return this.computations.find((each) => each.name === name);
  }

  copy() {
    return new HloLines(this.header, structuredClone(this.computations));
  }

  toString() {
    const texts = this.computations.map(({ name, isEntry, instructions, root }) => [
      `${isEntry ? 'ENTRY ' : ''}${name} {`, ...instructions.map((line) => lineText(line, line.name === root)), '}', '',
    ].join('\n'));
    return [this.header, '', ...texts].join('\n');
  }

  /**
   * Makes the values of the entry's instructions its results: of those that `isWanted` chooses. Tokens and arrays of
   * dynamic sizes ("<=") are left out, as they cannot be results as they are.
   * @param {(line: Line) => boolean} [isWanted]
   * @returns {string[]} the instructions' names, in the order of the results
   */
  returnValues(isWanted = () => true) {
    const { entry } = this;
    const shown = entry.instructions.filter((line) => !/token\[|<=/.test(line.shape) && isWanted(line));
    const operands = shown.map(({ name }) => name), shapes = shown.map(({ shape }) => shape);
    entry.root = 'all.values';
    entry.instructions.push({
      name: entry.root, opcode: 'tuple', operands, inside: '', attributes: [], shape: `(${shapes.join(', ')})` });
    return operands;
  }

  /**
   * Removes instructions that no result depends on, with parameters of the entry, which it numbers again, and
   * computations that are not called.
   */
  prune() {
    const called = new Set();
    for (const computation of [...this.computations].reverse()) {
      if (!computation.isEntry && !called.has(computation.name)) continue;
      computation.instructions = neededLines(computation);
      computation.instructions.flatMap(calledBy).forEach((name) => called.add(name));
    }
    this.computations = this.computations.filter(({ name, isEntry }) => isEntry || called.has(name));
    let number = 0;
    const parameters = this.entry.instructions.filter(({ opcode }) => opcode === 'parameter');
    parameters.sort((a, b) => Number(a.inside) - Number(b.inside));
    for (const parameter of parameters) parameter.inside = String(number++);
    return this;
  }
}

function lineText({ name, shape, opcode, operands, inside, attributes }, isRoot) {
  const rest = attributes.map((attribute) => `, ${attribute}`).join('');
  return `  ${isRoot ? 'ROOT ' : ''}${name} = ${shape} ${opcode}(${inside || operands.join(', ')})${rest}`;
}

function neededLines({ instructions, root, isEntry }) {
  const needed = new Set([root]);
  for (const { name, operands, attributes } of [...instructions].reverse()) {
    if (!needed.has(name)) continue;
    operands.forEach((operand) => needed.add(operand));
    predecessors(attributes).forEach((operand) => needed.add(operand));
  }
  return instructions.filter(({ name, opcode }) => needed.has(name) || (!isEntry && opcode === 'parameter'));
}

/** The instructions that `control-predecessors={a, b}` names. */
function predecessors(attributes) {
  const list = attributes.find((attribute) => attribute.startsWith('control-predecessors='));
  return list ? list.slice(list.indexOf('{') + 1, -1).split(/, ?/) : [];
}

/** The names of the computations that an instruction calls, in order. */
export function calledBy({ attributes }) {
  return attributes.flatMap((attribute) => {
    const [, , names] = CALLED.exec(attribute) ?? [];
    return names ? names.replace(/[{}%]/g, '').split(/, ?/) : [];
  });
}

/** Whether an instruction computes an array, which no argument or constant is. */
export const isComputedArray = ({ opcode, shape }) => opcode !== 'parameter' && opcode !== 'constant' && !shape.startsWith('(');

/** The value of an instruction's attribute; undefined if it has none. */
export function attributeOf({ attributes }, name) {
  return attributes.find((attribute) => attribute.startsWith(`${name}=`))?.slice(name.length + 1);
}
