/** Adds source locations to the events of a profile. Loaded at the first profile. */

const METADATA = /^ *(?:ROOT )?%?([^\s=]+) = .*?, metadata=\{((?:"(?:[^"\\]|\\.)*"|[^"}])*)\}/gm;
const field = (text, name) => new RegExp(`(?:^| )${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\d+))`).exec(text)?.slice(1).find(Boolean);

/** @returns {Map<string, { opName?: string, source?: string }>} the locations in a module's text, by instruction */
export function locationsOf(text) {
  const places = new Map();
  for (const [, instruction, metadata] of text.matchAll(METADATA)) {
    const [opName, file, line] = ['op_name', 'source_file', 'source_line'].map((name) => field(metadata, name));
    if (!opName && !file) continue;
    places.set(instruction, { ...(opName && { opName }), ...(file && { source: line ? `${file}:${line}` : file }) });
  }
  return places;
}

/** @param {{ name: string }[]} events @param {string} text of the module as it was compiled */
export function withLocations(events, text) {
  const places = locationsOf(text);
  return places.size ? events.map((event) => ({ ...event, ...places.get(event.name) })) : events;
}
