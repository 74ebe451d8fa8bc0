/** xla-wasm: XLA computations in a browser or in Node. See README.md. */
export { Buffer } from './objects/buffer.mjs';
export { XlaBuilder } from './builder/builder.mjs';
export { Client } from './api/client.mjs';
export { XlaError } from './base/error.mjs';
export { Executable } from './objects/executable.mjs';
export { Literal } from './values/literal.mjs';
export { HloModule } from './objects/module.mjs';
export { XlaOp } from './builder/op.mjs';
export { profileTimes, toChromeTrace } from './objects/profile.mjs';
export { Layout, Shape } from './values/shape.mjs';
export {
  loadWeights, openGguf, readNpy, readNpz, readSafetensors, writeNpy, writeNpz, writeSafetensors,
} from './formats/weights.mjs';
