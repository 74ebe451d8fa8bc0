/** The code blocks of the documents, and the scenes in which tests run them. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** @returns {Promise<{ section: string, language: string, text: string }[]>} a document's blocks, in order */
export async function blocksOf(page) {
  const text = await readFile(`${ROOT}${page}`, 'utf8');
  let section = '';
  return Array.from(text.matchAll(/^## (.*)$|^```(\w*)\n([^]*?)^```$/gm), ([, heading, language, code]) => {
    if (heading !== undefined) section = heading;
    return heading === undefined && { section, language, text: code };
  }).filter(Boolean);
}

/** Every document with code that users write. */
export const DOCUMENTS = ['README.md', 'bindings/stablehlo/README.md', ...await markdownIn('docs'), ...await markdownIn('docs/guides')];

async function markdownIn(folder) {
  return (await readdir(`${ROOT}${folder}`)).filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`);
}

/**
 * Blocks that belong together: a document's, or a section's. Python runs where its modules are installed. What it wrote
 * is kept in tests/guides/NAME, with its text (export.py) and its output (output.txt): node tests/guides/write.mjs NAME.
 */
export const SCENES = [
  { page: 'README.md', name: 'readme' },
  { page: 'bindings/stablehlo/README.md', name: 'stablehlo' },
  { page: 'docs/guides/from-frameworks.md', section: 'Flax', name: 'flax' },
  { page: 'docs/guides/from-frameworks.md', section: 'Flax NNX', name: 'flax-nnx' },
  { page: 'docs/guides/from-frameworks.md', section: 'PyTorch', name: 'pytorch' },
  { page: 'docs/guides/from-frameworks.md', section: 'TensorFlow', name: 'tensorflow' },
  { page: 'docs/guides/from-jax.md', section: 'A batch of any size', name: 'any-size' },
  { page: 'docs/guides/batch-norm.md', name: 'batch-norm' },
  { page: 'docs/guides/from-keras.md', name: 'keras' },
  { page: 'docs/guides/from-tensorflow-js.md', name: 'tensorflow-js' },
  { page: 'docs/guides/training.md', name: 'training' },
  { page: 'docs/guides/own-drawings.md', name: 'own-drawings' },
  { page: 'docs/guides/language-model.md', name: 'language-model' },
  { page: 'docs/meshes.md', name: 'meshes' },
  ...DOCUMENTS.filter((page) => !/README|from-(frameworks|keras|tensorflow-js|jax)|training|own-drawings|language-model|batch-norm|meshes/.test(page)).map((page) => ({ page })),
];

/** Blocks that no scene runs, and why: [document, section, language, reason] */
export const ELSEWHERE = [
  ['docs/guides/own-drawings.md', 'Export the model', 'python', 'Flax is not there; demo/gallery/export.py made the file of the same model'],
  ['docs/guides/from-jax.md', '1. Train, and export', 'python', 'page_guides.test.mjs runs it'],
  ['docs/guides/from-jax.md', '2. The page', 'html', 'page_guides.test.mjs runs it'],
  ['docs/guides/from-jax.md', '3. Look at it', 'sh', 'npm install, and a server'],
  ['docs/guides/weights.md', 'GGUF', 'js', 'a file of somewhere else; gguf.test.mjs has one'],
  ['docs/hosts.md', 'Threads in a page', 'js', 'package.test.mjs builds a site with it'],
  ['docs/hosts.md', 'A client in a worker', 'js', 'package.test.mjs builds a site of it'],
];
export const isElsewhere = (page, { section, language }) =>
  ELSEWHERE.some(([of, at, kind]) => of === page && at === section && kind === language);

/** The name of the file that a block is, as its first line says: // worker.mjs */
export const fileNameOf = ({ text }) => /^\/\/ (\w[\w.]*\.mjs)\n/.exec(text)?.[1];

/** The blocks of a scene, by language; `files` are the scripts that pages load. */
export async function sceneOf({ page, section }) {
  const all = (await blocksOf(page)).filter((block) => !isElsewhere(page, block) && (!section || block.section === section));
  const groups = Object.fromEntries(['python', 'js', 'html', 'sh'].map((language) => [language, all.filter((block) => block.language === language)]));
  return { ...groups, js: groups.js.filter((block) => !fileNameOf(block)), files: groups.js.filter(fileNameOf) };
}

export const pythonOf = async (scene) => (await sceneOf(scene)).python.map(({ text }) => text).join('\n');
