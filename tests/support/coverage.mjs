/** What tests reach: the golden programs, one after the other, and the names that stand in tests. */
import { readdir, readFile } from 'node:fs/promises';

import { readGolden } from './golden.mjs';

const TESTS = new URL('../', import.meta.url);

/** The names that stand in a file of tests/api, core, corpus or runtime. @returns {Promise<Set<string>>} */
export async function namedByTests() {
  const texts = await Promise.all(['api', 'core', 'corpus', 'runtime'].map(async (folder) => {
    const files = (await readdir(new URL(folder, TESTS))).filter((file) => file.endsWith('.test.mjs'));
    return Promise.all(files.map((file) => readFile(new URL(`${folder}/${file}`, TESTS), 'utf8')));
  }));
  return new Set(texts.flat().join('\n').match(/(?<![\w-])[a-z]+(?:-[a-z]+)*(?![\w-])/g));
}

/** All cases of the golden corpus. */
export async function* goldenCases() {
  const folder = new URL('golden/', TESTS);
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.golden')).sort()) {
    yield* await readGolden(new URL(file, folder));
  }
}
