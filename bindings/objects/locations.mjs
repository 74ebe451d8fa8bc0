/** Adds source locations to the events of a profile. Loaded at the first profile. */

import { readLines } from '../formats/read_lines.mjs';

const METADATA = 'metadata={';
const field = (text, name) => new RegExp(`[{ ]${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\d+))`).exec(text)?.slice(1).find(Boolean);

/** @returns {Map<string, { opName?: string, source?: string }>} the locations in a module's text, by instruction */
export function locationsOf(text) {
  const places = new Map();
  for (const { name, attributes } of readLines(text).computations.flatMap(({ instructions }) => instructions)) {
    const metadata = attributes.find((attribute) => attribute.startsWith(METADATA)) ?? '';
    const [opName, file, line] = ['op_name', 'source_file', 'source_line'].map((key) => field(metadata, key));
    if (!opName && !file) continue;
    places.set(name, { ...(opName && { opName }), ...(file && { source: line ? `${file}:${line}` : file }) });
  }
  return places;
}

/** @param {{ name: string }[]} events @param {string} text of the module as it was compiled */
export function withLocations(events, text) {
  const places = locationsOf(text);
  return places.size ? events.map((event) => ({ ...event, ...places.get(event.name) })) : events;
}
