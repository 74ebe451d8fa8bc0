/** Relaxed SIMD in Node 20, whose functions and products are then fused. */
import { setFlagsFromString } from 'node:v8';

/** Turns on relaxed SIMD, which Node 20 has behind a flag. Before a client is created. */
export function allowRelaxedSimd() {
  if (parseInt(process.versions.node) < 21) setFlagsFromString('--experimental-wasm-relaxed-simd');
}
