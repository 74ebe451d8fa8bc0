/**
 * The parts of index.d.ts that follow from the table of operations: the methods of XlaBuilder and
 * XlaOp, and the interfaces of dimension numbers. They stand between markers.
 *
 *     node bindings/tools/declarations/generate.mjs
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { isMethodOfOps, OPERATIONS } from '../../builder/operations.mjs';
import { DOCS, FIELD_DOCS } from './operations.mjs';

export const DECLARATIONS = new URL('../../index.d.ts', import.meta.url);
const WIDTH = 100;

/** Text broken into lines, as a doc comment at an indent. */
function comment(text, indent) {
  const oneLine = `${indent}/** ${text} */`;
  if (oneLine.length <= WIDTH) return [oneLine];
  const lines = [];
  let line = `${indent} *`;
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = `${indent} *`;
    }
    line += ` ${word}`;
  }
  return [`${indent}/**`, ...lines, line, `${indent} */`];
}

const typeOf = (kind) => {
  if (kind.type) return kind.type;
  throw new Error(`a kind has no type: ${kind.wants}`);
};

/** name(a: A, b?: B): XlaOp; on one line if it fits. */
function signature(name, parameters) {
  const list = parameters.map(([parameter, type, isOptional]) =>
    `${parameter}${isOptional ? '?' : ''}: ${type}`);
  const oneLine = `  ${name}(${list.join(', ')}): XlaOp;`;
  if (oneLine.length <= WIDTH) return [oneLine];
  return [`  ${name}(`, ...list.map((parameter) => `    ${parameter},`), '  ): XlaOp;'];
}

/** By position; and the optional ones at the end by name, in an object in the first one's place. */
function signatures(name, entries) {
  const declared = entries.map(([parameter, kind]) =>
    [parameter, typeOf(kind), Boolean(kind.isOptional)]);
  const required = declared.filter(([, , isOptional]) => !isOptional);
  const optional = entries.filter(([, kind]) => kind.isOptional);
  if (!optional.length || optional[0][1].takesObject) return [signature(name, declared)];
  if (optional.length === 1) {
    const [parameter, type] = declared.at(-1);
    const either = [parameter, `${type} | { ${parameter}?: ${type} }`, true];
    return [signature(name, [...required, either])];
  }
  const fields = optional.map(([parameter, kind]) => `${parameter}?: ${typeOf(kind)}`);
  const options = ['options', `{ ${fields.join('; ')} }`, false];
  return [signature(name, declared), signature(name, [...required, options])];
}

/** A method's declarations. */
function method(name, entry, skipped) {
  const doc = comment(DOCS[name], '  ');
  const rows = entry.rows ?? [entry];
  const overloads = rows.flatMap(({ parameters }) =>
    signatures(name, Object.entries(parameters).slice(skipped)));
  return [...doc, ...overloads.flat()];
}

function methods(skipped, isIn) {
  return Object.entries(OPERATIONS).filter(([, entry]) => isIn(entry))
    .flatMap(([name, entry]) => method(name, entry, skipped));
}

function interfaces() {
  const found = new Map();
  const visit = ({ type, fields }) => {
    if (!fields || found.has(type)) return;
    Object.values(fields).forEach(visit);
    found.set(type, fields);
  };
  for (const entry of Object.values(OPERATIONS)) {
    for (const { parameters } of entry.rows ?? [entry]) {
      Object.values(parameters).flatMap((kind) => kind.among ?? [kind]).forEach(visit);
    }
  }
  return [...found].flatMap(([name, fields]) => [
    `export interface ${name} {`,
    ...Object.entries(fields).flatMap(([field, kind]) => [
      ...(FIELD_DOCS[name]?.[field] ? comment(FIELD_DOCS[name][field], '  ') : []),
      `  ${field}${kind.isOptional ? '?' : ''}: ${typeOf(kind)};`,
    ]),
    '}',
  ]);
}

const PARTS = {
  'dimension numbers': interfaces,
  'operations of a builder': () => methods(0, () => true),
  'operations of an operand': () => methods(1, isMethodOfOps),
};

/** The declarations as the table wants them. */
export function generate(text) {
  for (const [name, lines] of Object.entries(PARTS)) {
    const [begin, end] = [`/* begin: ${name} */`, `/* end: ${name} */`];
    const [at, to] = [text.indexOf(begin), text.indexOf(end)];
    if (at < 0 || to < at) throw new Error(`index.d.ts has no ${begin} ... ${end}`);
    const indent = text.slice(text.lastIndexOf('\n', to) + 1, to);
    text = `${text.slice(0, at + begin.length)}\n${lines().join('\n')}\n${indent}${text.slice(to)}`;
  }
  return text;
}

/** What the documentation and the table disagree about. */
export function disagreements() {
  const undocumented = Object.keys(OPERATIONS).filter((name) => !DOCS[name]);
  const unknown = Object.keys(DOCS).filter((name) => !OPERATIONS[name]);
  return [...undocumented.map((name) => `${name} has no doc`),
    ...unknown.map((name) => `${name} is no operation`)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wrong = disagreements();
  if (wrong.length) throw new Error(wrong.join(', '));
  await writeFile(DECLARATIONS, generate(await readFile(DECLARATIONS, 'utf8')));
}
