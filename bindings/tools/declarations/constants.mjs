/**
 * bindings/base/constants.mjs: the core's constants that the bindings use, from its headers.
 */
import { readFile } from 'node:fs/promises';

const SOURCES = new URL('../../../src/', import.meta.url);
export const CONSTANTS_FILE = new URL('../../base/constants.mjs', import.meta.url);

const USED = {
  'api.h': ['XLA_API_VERSION', 'COMPILE_AS_WRITTEN', 'COMPILE_NOT_IN_PLACE'],
  'value/shape.h': ['MAX_RANK'],
  'hlo/ir/mesh.h': ['MAX_DEVICES'],
  'hlo/text/parser.h': ['MAX_NESTING'],
  'hlo/text/text.h': ['ELIDED_REFUSED', 'ELIDED_ZEROS', 'ELIDED_RANDOM'],
  'derive/batch/batch.h': ['NO_BATCH'],
  'derive/gradient/gradient.h': ['GRADIENT_JVP', 'GRADIENT_VJP', 'GRADIENT_OF_SCALAR'],
  'derive/gradient/options.h': ['CHECKPOINT_NONE', 'CHECKPOINT_SQRT', 'CHECKPOINT_ALL'],
  'runtime/run_state.h': ['RUN_DONE', 'RUN_FAILED', 'WAITED_FOR_HOST'],
  'runtime/scheduler.h': ['WORKER_BROKE_SCHEDULER'],
};

const LIMITS = { INT_MIN: -(2 ** 31), INT_MAX: 2 ** 31 - 1 };

/** The values of a header's enumerators that are numbers, or follow one. */
function enumerators(text) {
  const values = new Map();
  for (const [, body] of text.replace(/\/\*[^]*?\*\//g, '').matchAll(/\benum\b[\s\w]*\{([^}]*)\}/g)) {
    let next = 0;
    for (const row of body.split(',').map((part) => part.trim()).filter(Boolean)) {
      const [name, value] = row.split(/\s*=\s*/);
      next = value === undefined ? next : LIMITS[value] ?? Number(value);
      values.set(name, next++);
    }
  }
  return values;
}

/** @returns {Promise<string>} the file */
export async function constantsFile() {
  const lines = await Promise.all(Object.entries(USED).map(async ([header, names]) => {
    const values = enumerators(await readFile(new URL(header, SOURCES), 'utf8'));
    return names.map((name) => {
      if (!Number.isInteger(values.get(name))) throw new Error(`src/${header} has no constant ${name}`);
      return `export const ${name} = ${values.get(name)};`;
    }).join('\n');
  }));
  return `/** The core's constants, written by \`make declarations\` (bindings/tools/declarations/constants.mjs). */\n${
    lines.join('\n')}\n`;
}
