/** Compares the first bytes of a file with those of a format. */
export const startsWith = (bytes, ...start) => start.every((byte, i) => bytes[i] === byte);
export const ascii = (bytes, from, to) => String.fromCharCode(...bytes.subarray(from, to));
