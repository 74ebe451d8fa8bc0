/**
 * bindings/operations.d.ts: the declarations that follow from the table of operations, which the classes XlaBuilder and
 * XlaOp of index.d.ts merge with; and the interfaces of dimension numbers.
 */
import { readFile } from 'node:fs/promises';

import { isMethodOfOps, OPERATIONS } from '../../builder/operations.mjs';
import { DOCS, FIELD_DOCS } from './operations.mjs';

const INDEX = new URL('../../index.d.ts', import.meta.url);

const HEAD = `/** Written by \`make declarations\` from the table of operations, bindings/builder/operations.mjs. */
import type {
  Body, Combiner, ElementType, Operand, PaddingConfig, Precision, ShapeLike, XlaComputation, XlaOp,
} from './index.js';

type Integers = readonly number[] | readonly bigint[] | Int32Array | Uint32Array | BigInt64Array;
type Operands = XlaOp | readonly XlaOp[];
type Pairs = readonly (readonly [number, number])[];
type Padding = 'SAME' | 'VALID' | 'same' | 'valid' | Pairs;
`;

const WIDTH = 100;

/** Text broken into lines, as a doc comment at an indent. */
function comment(text, indent) {
  const oneLine = `${indent}/** ${text} */`;
  if (oneLine.length <= WIDTH && !text.endsWith('\n')) return [oneLine];
  const lines = [];
  let line = `${indent} *`;
  for (const word of text.trim().split(' ')) {
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

/** Whether a text is one expression: it has no comma outside of brackets. */
function isOne(text) {
  let depth = 0;
  for (const c of text) {
    if ('([{'.includes(c)) depth++;
    else if (')]}'.includes(c)) depth--;
    else if (c === ',' && !depth) return false;
  }
  return true;
}

/**
 * An example of each method that the table of JAX's names has one of: the shortest that begins with the method, or else
 * the shortest that ends with it. jax_names.test.mjs compares them with JAX.
 */
function examplesOf(table) {
  const rows = Array.from(table.matchAll(/^\| `(.*?)` \| `(.*)` \|$/gm), ([, jax, own]) => ({ jax, own }))
    .filter(({ jax, own }) => isOne(jax) && isOne(own)).sort((a, b) => a.own.length - b.own.length);
  return (name) => rows.find(({ own }) => new RegExp(`^\\w\\.${name}\\(`).test(own)) ?? rows.find(({ own }) => new RegExp(`\\.${name}\\([^()]*\\)$`).test(own));
}
const exampleOf = examplesOf(await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8'));

/** A method's declarations. */
function method(name, entry, skipped) {
  const example = exampleOf(name);
  const doc = example ? [...comment(`${DOCS[name]}\n`, '  ').slice(0, -1), '   * @example', `   * ${example.own} // JAX: ${example.jax}`, '   */'] : comment(DOCS[name], '  ');
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

/** @returns {string} the file */
export function operationsFile() {
  const all = (name, list) => ['', `export interface ${name} {`, ...list, '}'];
  return [
    HEAD, ...interfaces(),
    ...all('BuilderOperations', methods(0, () => true)),
    ...all('OpOperations', methods(1, isMethodOfOps)),
  ].join('\n') + '\n';
}

/** The package's declarations in one text: each class has the members of the interface that it merges with. */
export async function packageDeclarations() {
  let text = await readFile(INDEX, 'utf8'), operations = operationsFile().slice(HEAD.length);
  for (const [merging, name, source] of text.matchAll(/(?:\/\*\*.*\*\/\n)?export interface (\w+) extends (\w+) \{\}\n/g)) {
    const [whole, members] = operations.match(new RegExp(`export interface ${source} \\{\n([^]*?)^\\}\n`, 'm'));
    operations = operations.replace(whole, '');
    const end = text.indexOf('\n}\n', text.search(new RegExp(`^export class ${name}\\b`, 'm'))) + 1;
    text = `${text.slice(0, end)}${members}${text.slice(end).replace(merging, '')}`;
  }
  return `${text}\n${operations}`;
}

/** Returns the methods that are in only one of the documentation and the table. */
export function disagreements() {
  const undocumented = Object.keys(OPERATIONS).filter((name) => !DOCS[name]);
  const unknown = Object.keys(DOCS).filter((name) => !OPERATIONS[name]);
  return [...undocumented.map((name) => `${name} has no doc`),
    ...unknown.map((name) => `${name} is no operation`)];
}
