/** Encodes a view's state for an address: JSON, deflated, in the letters that addresses allow. */

async function transformed(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @returns {Promise<string>} letters, digits, - and _ */
export async function pack(state) {
  const json = new TextEncoder().encode(JSON.stringify(state));
  const bytes = await transformed(json, new CompressionStream('deflate-raw'));
  let letters = '';
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Inverts pack(); rejects if pack() did not make the text. */
export async function unpack(text) {
  const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const json = await transformed(bytes, new DecompressionStream('deflate-raw'));
  return JSON.parse(new TextDecoder().decode(json));
}
