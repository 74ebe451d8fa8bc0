/** Suggests known names in errors about unknown ones. */

const MAX_LENGTH = 60;

/**
 * Returns the known name nearest to an unknown one; undefined if more than a third of its letters would have to change.
 * @param {string} name
 * @param {Iterable<string>} known
 */
export function suggestion(name, known) {
  if (name.length > MAX_LENGTH) return undefined;
  let nearest;
  let min = Infinity;
  for (const other of known) {
    const steps = distance(name.toLowerCase(), other.toLowerCase());
    if (steps < min && steps <= Math.max(1, Math.round(other.length / 3))) {
      [nearest, min] = [other, steps];
    }
  }
  return nearest;
}

/** Levenshtein's distance: the number of letters to insert, delete or replace. */
export function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = row[j] + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row.at(-1);
}
