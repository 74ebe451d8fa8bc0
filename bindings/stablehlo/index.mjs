/**
 * StableHLO's way in: `xla-wasm/stablehlo`, which client.load() and client.parseStableHlo() import
 * when they need it.
 */
import { isBytecode, readBytecode } from './bytecode.mjs';
import { lower } from './lower.mjs';
import { readText } from './text.mjs';

/**
 * Reads StableHLO, with CHLO, as text or as MLIR bytecode.
 * @param {import('../client.mjs').Client} client
 * @param {string | Uint8Array} source bytes are bytecode or UTF-8
 * @param {object} [options]
 * @param {(import('../shape.mjs').Shape | string)[]} [options.arguments] shapes of the arguments, for
 *   programs of unknown sizes
 * @returns {import('../module.mjs').HloModule}
 */
export function parseStableHlo(client, source, options) {
  const isText = typeof source === 'string' || !isBytecode(source);
  return lower(client, isText ? readText(source) : readBytecode(source), options);
}

export { isBytecode };
