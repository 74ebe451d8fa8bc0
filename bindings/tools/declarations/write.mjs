/**
 * Writes every file that follows from a table: node bindings/tools/declarations/write.mjs
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { CONSTANTS_FILE, constantsFile } from './constants.mjs';
import { disagreements, OPERATIONS_FILE, operationsFile } from './generate.mjs';
import { PASSES_PAGE, passesPage } from './passes.mjs';

/** @type {[URL, () => string | Promise<string>][]} each file, and its text */
export const GENERATED = [
  [OPERATIONS_FILE, operationsFile], [CONSTANTS_FILE, constantsFile], [PASSES_PAGE, passesPage],
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wrong = disagreements();
  if (wrong.length) throw new Error(wrong.join(', '));
  for (const [file, text] of GENERATED) await writeFile(file, await text());
}
