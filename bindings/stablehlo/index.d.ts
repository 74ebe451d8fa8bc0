/** What client.load() and client.parseStableHlo() import when they first need it. */
import type { Client, HloModule, LoadOptions } from '../index.js';

/** Reads StableHLO with CHLO: text, its UTF-8 bytes, or MLIR bytecode. */
export function parseStableHlo(
  client: Client, source: string | Uint8Array, options?: LoadOptions,
): HloModule;
export function isBytecode(bytes: Uint8Array): boolean;
