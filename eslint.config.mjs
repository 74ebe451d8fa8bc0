/** Rules of `make lint-js`. */
import js from '@eslint/js';
import globals from 'globals';
import { readFileSync } from 'node:fs';

import { callsRule } from './.ci/calls_rule.mjs';

// What is in scope of the functions of a --js-library file: what Emscripten always has, and what the
// file itself defines or depends on, all of which is written there as $name.
const library = readFileSync(new URL('bindings/host/library.js', import.meta.url), 'utf8');
const emscripten = Object.fromEntries(
  ['addToLibrary', 'Module', 'PThread', 'HEAP8', 'HEAPU8', 'HEAP32', 'HEAPU32', 'HEAPF32', 'HEAPF64',
   'HEAP64', 'wasmMemory', 'wasmTable', 'wasmExports', '_malloc', '_free', 'ENVIRONMENT_IS_PTHREAD',
   'ENVIRONMENT_IS_NODE', 'ENVIRONMENT_IS_WORKER',
   ...Array.from(library.matchAll(/\$(\w+)/g), ([, name]) => name)]
    .map((name) => [name, 'readonly']));

export default [
  { ignores: ['build/', 'node_modules/', 'examples/**/*.jsx'] },
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
    files: ['.ci/**', 'bindings/**', 'demo/**', 'examples/**', 'python/**', 'tests/**', 'web/**', '*.mjs'],
    languageOptions: { globals: { ...globals.browser, ...globals.worker, ...globals.node } },
  },
  {
    files: ['bindings/**'],
    plugins: { core: { rules: { calls: callsRule } } },
    rules: { 'core/calls': 'error' },
  },
  {
    files: ['demo/**'],
    rules: { 'max-lines-per-function': ['error', { max: 45, skipComments: true }] },
  },
  {
    files: ['tests/**'],
    rules: {
      'max-len': ['error', { code: 150, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true, ignoreUrls: true }],
    },
  },
  // The page has no Node.
  {
    files: ['web/**'],
    languageOptions: { globals: { ...globals.serviceworker, process: 'off', Buffer: 'off' } },
  },
  {
    files: ['bindings/host/library.js'],
    languageOptions: { sourceType: 'script', globals: emscripten },
  },
];
