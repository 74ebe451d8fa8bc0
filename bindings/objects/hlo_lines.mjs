/**
 * A program's HLO text as data: computations of instructions, which tools change and write again. It reads the form
 * that HloModule.toString() prints.
 *
 * @typedef {object} Line an instruction
 * @property {string} name
 * @property {string} shape as text
 * @property {string} opcode
 * @property {string[]} operands names; none for parameters and constants
 * @property {string} inside the text between the parentheses of a parameter or constant
 * @property {string[]} attributes "to_apply=add"
 *
 * @typedef {object} Lines a computation
 * @property {string} name
 * @property {boolean} isEntry
 * @property {Line[]} instructions operands before users
 * @property {string} root the name of its result
 */
import { closing, split } from '../formats/hlo_to_proto.mjs';

const COMPUTATION = /^(ENTRY )?(\S+) \{$/;
const INSTRUCTION = /^ {2}(ROOT )?(\S+) = /;
/** Attributes of the module that would not hold for a changed one. */
const OF_WHOLE = /^(entry_computation_layout|input_output_alias|buffer_donor|allow_spmd_sharding_propagation\w*)=/;
const CALLED = /^(to_apply|calls|condition|body|select|scatter|branch_computations|true_computation|false_computation|called_computations)=(.*)$/;

export class HloLines {
  /** @param {string} text of HloModule.toString() */
  static parse(text) {
    const [first, ...rest] = text.split('\n');
    const [name, ...header] = split(first);
    const computations = [];
    for (const line of rest) {
      const [, entry, computation] = COMPUTATION.exec(line) ?? [];
      if (computation) computations.push({ name: computation, isEntry: Boolean(entry), instructions: [], root: '' });
      else if (INSTRUCTION.test(line)) addLine(computations.at(-1), line);
    }
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

function addLine(computation, text) {
  const [head, root, name] = INSTRUCTION.exec(text);
  const shapeEnd = text[head.length] === '(' ? closing(text, head.length) + 1 : text.indexOf(' ', head.length);
  const open = text.indexOf('(', shapeEnd), close = closing(text, open);
  const inside = text.slice(open + 1, close), opcode = text.slice(shapeEnd + 1, open);
  const isLeaf = opcode === 'parameter' || opcode === 'constant';
  computation.instructions.push({
    name, shape: text.slice(head.length, shapeEnd), opcode, operands: isLeaf ? [] : split(inside),
    inside: isLeaf ? inside : '', attributes: split(text.slice(close + 1).replace(/^, /, '')),
  });
  if (root) computation.root = name;
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

/** The value of an instruction's attribute; undefined if it has none. */
export function attributeOf({ attributes }, name) {
  return attributes.find((attribute) => attribute.startsWith(`${name}=`))?.slice(name.length + 1);
}
