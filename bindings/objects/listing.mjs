/** Reads the listing of a compiled program's steps, executable.thunks(). */

const STEP = /^( *)(\w+) (\S+?)(?: \[(?:function (\d+)|.*)\])?:.* ->.*$/gm;

/**
 * Returns the steps of a listing, in its order. Lines of no step are left out: the arena, the parts of loops and branches.
 * @param {string} listing
 * @returns {{ kind: string, name: string, depth: number, functionNumber: number | undefined, line: string }[]} name: of
 *   the instruction; depth: 0 for the entry's own; functionNumber: of the generated function, if the step has one
 */
export function stepsOf(listing) {
  return Array.from(listing.matchAll(STEP), ([line, indent, kind, name, number]) =>
    ({ kind, name, depth: indent.length / 2, functionNumber: number === undefined ? undefined : Number(number), line: line.trim() }));
}
