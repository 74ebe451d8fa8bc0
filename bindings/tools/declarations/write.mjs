/**
 * Writes every file that follows from a table: node bindings/tools/declarations/write.mjs
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { CALLS_FILE, callsFile } from './calls.mjs';
import { CONSTANTS_FILE, constantsFile } from './constants.mjs';
import { PASSES_PAGE, passesPage } from './passes.mjs';
import { THRESHOLDS_PAGE, thresholdsPage } from './thresholds.mjs';

const OPERATIONS_FILE = new URL('../../operations.d.ts', import.meta.url);

/** Loads the bindings, which import the files before it. */
async function operationsFile() {
  const { disagreements, operationsFile: textOf } = await import('./generate.mjs');
  const wrong = disagreements();
  if (wrong.length) throw new Error(wrong.join(', '));
  return textOf();
}

const OPERATIONS_PAGE = new URL('../../../docs/operations.md', import.meta.url);

/** The page of operations, with the table of the functions beside them. */
async function operationsPage() {
  const [{ OPERATIONS, XLA_OPERATIONS }, { DOCS }] = await Promise.all([import('../../builder/operations.mjs'), import('./operations.mjs')]);
  const names = Object.keys(OPERATIONS).filter((name) => !XLA_OPERATIONS[name]);
  const rows = names.map((name) => `| \`${name}\` | ${DOCS[name].replaceAll('|', '\\|')} |\n`).join('');
  const page = await readFile(OPERATIONS_PAGE, 'utf8');
  return page.replace(/(## Functions beside the operations\n[^]*?\n\| --- \| --- \|\n)(?:\|.*\n)*/, (_, start) => start + rows);
}

/** @type {[URL, () => string | Promise<string>][]} each file, and its text, in the order in which they are written */
export const GENERATED = [
  [CONSTANTS_FILE, constantsFile], [CALLS_FILE, callsFile], [OPERATIONS_FILE, operationsFile],
  [OPERATIONS_PAGE, operationsPage], [PASSES_PAGE, passesPage], [THRESHOLDS_PAGE, thresholdsPage],
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of GENERATED) await writeFile(file, await text());
}
