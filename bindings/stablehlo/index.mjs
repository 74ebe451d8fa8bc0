/** Reads StableHLO: loaded by client.load() and client.parseStableHlo() when they are first called. */
import { lower } from './lower.mjs';
import { readText } from './text.mjs';

/**
 * @param {import('../client.mjs').Client} client
 * @param {string} text
 * @param {object} [options] see lower()
 */
export function parseStableHloText(client, text, options) {
  return lower(client, readText(text), options);
}
