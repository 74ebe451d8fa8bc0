/** Adds source locations to the events of a profile. Loaded at the first profile. */

import { readLines } from '../formats/read_lines.mjs';

const METADATA = 'metadata={';
const field = (text, name) => new RegExp(`[{ ]${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\d+))`).exec(text)?.slice(1).find(Boolean);

/** @returns {{ opName?: string, source?: string } | null} the location that an instruction's attributes state */
export function locationOf({ attributes }) {
  const metadata = attributes.find((attribute) => attribute.startsWith(METADATA)) ?? '';
  const [opName, file, line] = ['op_name', 'source_file', 'source_line'].map((key) => field(metadata, key));
  return opName || file ? { ...(opName && { opName }), ...(file && { source: line ? `${file}:${line}` : file }) } : null;
}

/** @param {{ name: string }[]} events @param {string} text of the module as it was compiled */
export function withLocations(events, text) {
  const instructions = readLines(text).computations.flatMap((computation) => computation.instructions);
  const places = new Map(instructions.map((instruction) => [instruction.name, locationOf(instruction)]));
  return events.map((event) => ({ ...event, ...places.get(event.name) }));
}
