/**
 * The entry of the StableHLO reader, `xla-wasm/stablehlo`. client.load() and client.parseStableHlo()
 * import it at first use.
 */
import { guarded } from '../base/boundary.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { checkOptions } from '../base/options.mjs';
import { isBytecode as hasMagic } from '../formats/program_text.mjs';
import { LOAD_OPTIONS, PLATFORMS, RENAME } from '../objects/load_options.mjs';
import { readBytecode } from './bytecode.mjs';
import { lower } from './lower.mjs';
import { readText } from './text.mjs';

/**
 * Reads StableHLO, with CHLO, as text or as MLIR bytecode.
 * @param {import('../api/client.mjs').Client} client
 * @param {string | Uint8Array} source bytes are bytecode or UTF-8
 * @param {object} [options]
 * @param {(import('../values/shape.mjs').Shape | string)[]} [options.arguments] shapes of the arguments, for
 *   programs of unknown sizes
 * @param {'zeros' | 'random'} [options.elided] values for constants that the text leaves out
 * @param {string} [options.entry] the function that runs, instead of @main
 * @param {string} [options.platform] of an export for several platforms
 * @returns {import('../objects/module.mjs').HloModule}
 */
export const parseStableHlo = guarded((client, source, options) => {
  if (typeof client?.builder !== 'function') {
    throw invalidArgument('parseStableHlo', `client must be a Client; got ${describe(client)}`);
  }
  const checked = checkOptions('parseStableHlo', options, LOAD_OPTIONS);
  if (typeof source !== 'string' && source?.BYTES_PER_ELEMENT !== 1) {
    throw invalidArgument('parseStableHlo', `source must be text or a Uint8Array; got ${describe(source)}`);
  }
  const isText = typeof source === 'string' || !hasMagic(source);
  return lower(client, isText ? readText(source, checked.elided) : readBytecode(source), { ...checked, rename: options?.[RENAME], platforms: options?.[PLATFORMS] });
}, 'parseStableHlo');

export const isBytecode = guarded(hasMagic, 'isBytecode');
