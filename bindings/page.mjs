/** The package as one file, for a page without a bundler: build/dist/xla-wasm.js. */
export * from './index.mjs';
export { adam, adamw, clipByNorm, sgd, trainStep } from './train/index.mjs';
