/** The table in errors of names that do not match: the program's parameters beside the given names. Loaded for it only. */
import { describe } from '../base/error.mjs';

const MAX_LENGTH = 60;
const MAX_KNOWN = 500;
const MAX_ROWS = 20;

/**
 * Returns the known names nearest to an unknown one, the nearest first.
 * @param {string} name
 * @param {readonly string[]} known
 * @param {number} count how many, at most
 * @param {(from: string, to: string) => number} distance of names.mjs
 */
export function nearest(name, known, count, distance) {
  const end = (text) => text.toLowerCase().slice(-MAX_LENGTH);
  return known.slice(0, MAX_KNOWN).map((other) => ({ other, steps: distance(end(name), end(other)) }))
    .sort((a, b) => a.steps - b.steps).slice(0, count).map(({ other }) => other);
}

/**
 * @param {object} sides of sidesOf()
 * @returns {string} the text after "no argument is named x"
 */
export function tableOfNames({ parameters, pairs, leaves, plain, distance, inside }) {
  const lacking = parameters.filter((_, i) => !pairs[i]);
  const used = new Set(pairs.map((pair) => pair?.value));
  const free = leaves.filter(({ value }) => !used.has(value)).map(({ path, value }) => ({ name: path.join('.'), value }));
  const better = inside();
  if (better?.count > pairs.filter(Boolean).length) {
    return `without "${better.key}" in front, ${better.count} of the ${parameters.length} names would fit`;
  }
  const near = nearest(plain(lacking[0].name), free.map(({ name }) => name), 3, distance);
  const rows = [
    ...lacking.map(({ name, shape }) => [`${name}: ${shape}`, 'missing']),
    ...parameters.map(({ name, shape }, i) => pairs[i] && [`${name}: ${shape}`, `${pairs[i].path.join('.')}: ${sizeOf(pairs[i].value)}`])
      .filter(Boolean),
    ...free.map(({ name, value }) => ['not used', `${name}: ${sizeOf(value)}`]),
  ];
  const width = Math.min(60, Math.max(...rows.map(([wanted]) => wanted.length)));
  const lines = rows.slice(0, MAX_ROWS).map(([wanted, has]) => `\n  ${wanted.padEnd(width)}  ${has}`);
  if (rows.length > MAX_ROWS) lines.push(`\n  and ${rows.length - MAX_ROWS} more`);
  return `${near.length ? `the nearest given names are ${near.join(', ')}; ` : ''}the program wants, and is given:${lines.join('')}`;
}

const sizeOf = (value) => (value?.shape ? String(value.shape) : describe(value));
