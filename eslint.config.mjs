import js from '@eslint/js';
import globals from 'globals';

// What Emscripten puts in scope of the functions of a --js-library file.
const emscripten = Object.fromEntries(
  ['addToLibrary', 'mergeInto', 'LibraryManager', 'Module', 'PThread', 'HEAP8', 'HEAPU8', 'HEAP32',
   'HEAPU32', 'HEAPF32', 'HEAPF64', 'HEAP64', 'wasmMemory', 'wasmTable', 'wasmExports',
   'stackSave', 'stackRestore', 'stackAlloc', 'UTF8ToString', 'ENVIRONMENT_IS_PTHREAD',
   'ENVIRONMENT_IS_NODE', 'ENVIRONMENT_IS_WORKER', 'err', 'out']
    .map((name) => [name, 'readonly']));

export default [
  { ignores: ['build/', 'node_modules/'] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: 'module' },
    rules: {
      // A browser has these as globals, so that a forgotten declaration would go unseen.
      'no-restricted-globals':
        ['error', 'event', 'name', 'status', 'length', 'top', 'parent', 'origin', 'find', 'stop'],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-constant-condition': ['error', { checkLoops: false }],
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      'no-var': 'error',
      'prefer-const': ['error', { destructuring: 'all' }],
    },
  },
  // The bindings and the training program run in a page, in a worker and in Node.
  {
    files: ['bindings/**', 'demo/**', 'tests/**', 'web/**', '*.mjs'],
    languageOptions: { globals: { ...globals.browser, ...globals.worker, ...globals.node } },
  },
  // The page has no Node.
  { files: ['web/**'], languageOptions: { globals: { process: 'off', Buffer: 'off' } } },
  {
    files: ['bindings/library.js'],
    languageOptions: { sourceType: 'script', globals: emscripten },
  },
];
