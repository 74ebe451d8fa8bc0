/**
 * bindings/base/calls.mjs: the names of the core's functions from src/api.h. A wrong name is an
 * import that does not exist, and from a name an editor finds its declaration.
 */
import { readFile } from 'node:fs/promises';

const HEADER = new URL('../../../src/api.h', import.meta.url);
export const CALLS_FILE = new URL('../../base/calls.mjs', import.meta.url);

/** @returns {{ name: string, declaration: string, line: number, count: number }[]} the functions of api.h, in order */
export function declared(header) {
  return [...header.matchAll(/^XLA_API ([^(]*?)(xla_\w+)\(([^)]*)\);/gm)].map(({ 1: result, 2: name, 3: list, index }) => ({
    name,
    declaration: `${result}${name}(${list})`.replace(/\s+/g, ' '),
    line: header.slice(0, index).split('\n').length,
    count: list === 'void' ? 0 : list.split(',').length,
  }));
}

export const readDeclared = async () => declared(await readFile(HEADER, 'utf8'));

/** @returns {Promise<string>} the file */
export async function callsFile() {
  const lines = (await readDeclared()).map(({ name, declaration }) => `/** src/api.h: ${declaration} */\nexport const ${name} = '${name}';`);
  return `/**
 * The names of the core's functions, for Core.call(); src/api.h documents each. Written by
 * \`make declarations\` (bindings/tools/declarations/calls.mjs).
 */
${lines.join('\n')}
`;
}
