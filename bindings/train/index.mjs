/** Training of a loss: optimisers, and a step that keeps its state on the device. `xla-wasm/train`. */
export { adam, adamw, clipByNorm, sgd } from './optimisers.mjs';
export { trainStep } from './step.mjs';
