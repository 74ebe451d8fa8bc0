/** xla-wasm: XLA computations in a browser or in Node. See README.md. */
export { Buffer } from './buffer.mjs';
export { XlaBuilder } from './builder.mjs';
export { Client } from './client.mjs';
export { XlaError } from './error.mjs';
export { Executable } from './executable.mjs';
export { Literal } from './literal.mjs';
export { HloModule } from './module.mjs';
export { XlaOp } from './op.mjs';
export { profileTimes, toChromeTrace } from './profile.mjs';
export { Layout, Shape } from './shape.mjs';
export {
  loadWeights, readNpy, readNpz, readSafetensors, writeNpy, writeNpz, writeSafetensors,
} from './weights.mjs';
