/**
 * The pages of the guides, in the order of their list: [name in the address, title, file], and the folders of
 * tests/guides whose files their code reads. No import: Node reads it, too.
 */
const PAGES = {
  Start: [
    ['getting-started', 'Getting started', 'docs/guides/getting-started.md'],
    ['from-jax', 'From JAX to a page', 'docs/guides/from-jax.md', 'any-size'],
    ['from-frameworks', 'From a framework to a page', 'docs/guides/from-frameworks.md', 'flax pytorch tensorflow'],
    ['from-keras', 'From Keras 3', 'docs/guides/from-keras.md', 'keras'],
    ['from-tensorflow-js', 'From TensorFlow.js', 'docs/guides/from-tensorflow-js.md', 'tensorflow-js'],
    ['from-onnxruntime-web', 'From onnxruntime-web', 'docs/guides/from-onnxruntime-web.md'],
    ['no-build', 'No build step', 'docs/guides/no-build.md'],
    ['hosts', 'Headers, bundlers, hosts', 'docs/hosts.md'],
  ],
  Guides: [
    ['weights', 'Weights', 'docs/guides/weights.md'],
    ['training', 'Train in the page', 'docs/guides/training.md', 'training'],
    ['batch-norm', 'Batch norm and dropout', 'docs/guides/batch-norm.md', 'batch-norm'],
    ['own-drawings', 'Teach a model in the page', 'docs/guides/own-drawings.md', 'own-drawings'],
    ['language-model', 'A language model', 'docs/guides/language-model.md', 'language-model'],
    ['jax-here', 'JAX itself, in a page', 'python/README.md'],
    ['batches', 'Batches and Jacobians', 'docs/guides/batches.md'],
    ['meshes', 'Meshes and collectives', 'docs/meshes.md', 'meshes'],
    ['speed', 'Speed and profiles', 'docs/guides/speed.md'],
    ['how-it-works', 'How it works', 'docs/guides/how-it-works.md'],
  ],
  Reference: [
    ['api', 'API reference', 'bindings/index.d.ts'],
    ['operations', 'Operations', 'docs/operations.md'],
    ['errors', 'Errors', 'docs/errors.md'],
    ['passes', 'Rewrites', 'docs/passes.md'],
    ['differences', 'Differences from XLA:CPU', 'docs/differences.md'],
    ['evaluated', 'What is evaluated', 'docs/evaluated.md'],
  ],
  Background: [
    ['comparison', 'When to use what', 'docs/comparison.md'],
    ['architecture', 'Why it is built so', 'docs/architecture.md'],
    ['large-models', 'Models above 4 GB', 'docs/large-models.md'],
    ['benchmarks', 'How fast', 'tests/bench/README.md'],
    ['programs', 'Whole programs', 'tests/bench/programs/README.md'],
    ['accuracy', 'How exact', 'tests/accuracy/README.md'],
  ],
};

/** { section, name, title, path, folders, files } of each page; files: the folder of the site's files/ that has those of all folders. */
export const GUIDES = Object.entries(PAGES).flatMap(([section, pages]) => pages.map(([name, title, path, folders]) =>
  ({ section, name, title, path, folders: folders?.split(' ') ?? [], files: folders && name })));

/** The anchor of a heading. */
export const slug = (text) => text.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-');
