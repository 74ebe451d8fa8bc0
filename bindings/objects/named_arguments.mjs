/**
 * Arguments by name: an object, or a tree of objects and arrays, whose leaves are arguments. The rule below matches
 * names of values with names of parameters in execute(), in --input, and on the page that opens programs.
 *
 *   1. A name is compared without the characters between its parts: JAX's "params['w1']" is "params__w1__.1" in HLO
 *      text, params.w1 in a tree, params/w1 in a file. Flax's nnx appends .value, which may be left out.
 *   2. Equal names match.
 *   3. Else a name matches the only parameter whose name ends with it, or with whose name it ends, at a boundary of parts.
 *   4. Else the call fails; the error lists both sides.
 */
import { about, invalidArgument } from '../base/error.mjs';
import { distance } from '../base/names.mjs';
import { isPlainObject, MAX_ENTRIES } from '../base/options.mjs';

const plain = (name) => name.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '');

/** Returns the forms of a parameter's name: unchanged, without XLA's number at the end, without .value. */
function formsOf(name) {
  const numberless = name.replace(/\.\d+$/, ''), bare = numberless.replace(/\.value$/, '');
  return [...new Set([name, numberless, bare])].map(plain);
}

/** Returns a parameter's name as a path: params__Conv_0____w__.1 is params.Conv_0.w. */
export const pathOf = (name) => name.replace(/\.\d+$/, '').replace(/[^A-Za-z0-9]+/g, (between) => (between === '_' ? '_' : '.'))
  .replace(/^[._]+|[._]+$/g, '').replace(/\.value$/, '');

/** Finds the values of a tree that match a name, each with its path and its key at the top of the tree. */
function matches(node, rest, path, found) {
  if (rest === '') {
    found.push({ value: node, path });
    return;
  }
  if (!isPlainObject(node) && !Array.isArray(node)) return;
  for (const key of Object.keys(node)) {
    const own = plain(key);
    if (rest !== own && !rest.startsWith(`${own}_`)) continue;
    matches(node[key], rest.slice(own.length + 1), [...path, key], found);
  }
}

/** Whether a list holds arguments. A sparse list takes long to walk; it counts as an argument, which is then refused. */
const isTree = (list) => 0 in list && list.length <= MAX_ENTRIES &&
  list.every((item) => item !== null && typeof item === 'object' && !Array.isArray(item));

const isArgument = (value) => !isPlainObject(value) && !(Array.isArray(value) && isTree(value));

/** Returns all arguments of a tree, as matches() does. A list of numbers is an argument; a list of arrays is a tree. */
function leavesOf(node, path = [], found = [], around = new Set()) {
  if (path.length && isArgument(node)) {
    found.push({ value: node, path });
  } else if (!around.has(node)) { // a tree may be a part of itself
    around.add(node);
    for (const key of Object.keys(node)) leavesOf(node[key], [...path, key], found, around);
  }
  return found;
}

const endsWith = (name, end) => end !== '' && name.endsWith(`_${end}`);

/**
 * Pairs parameters with the arguments of a tree.
 * @param {readonly { name: string, shape: any }[]} parameters
 * @param {Record<string, any>} tree
 * @param {string} operation for errors
 * @returns {({ value: any, path: string[] } | undefined)[]} one for each parameter
 */
export function pairArguments(parameters, tree, operation) {
  const pairs = parameters.map(({ name }) => {
    for (const form of formsOf(name)) {
      const found = [];
      matches(tree, form, [], found);
      if (found.length > 1) throw ambiguous(operation, name, found.map(({ path }) => path.join('.')));
      if (found.length) return found[0];
    }
    return undefined;
  });
  if (!pairs.includes(undefined)) return pairs;
  const taken = new Set(pairs.map((pair) => pair?.value));
  const rest = leavesOf(tree).filter(({ value }) => !taken.has(value))
    .map((leaf) => ({ ...leaf, form: plain(leaf.path.join('.')) }));
  const takers = new Map();
  parameters.forEach(({ name }, i) => {
    if (pairs[i]) return;
    for (const form of formsOf(name)) {
      const found = rest.filter((leaf) => endsWith(form, leaf.form) || endsWith(leaf.form, form));
      if (found.length > 1) throw ambiguous(operation, name, found.map(({ path }) => path.join('.')));
      if (!found.length) continue;
      const [leaf] = found;
      if (takers.has(leaf)) {
        throw invalidArgument(operation, `the name ${leaf.path.join('.')} can mean the parameters ${takers.get(leaf)} and ${
          name}: write more of the name`);
      }
      takers.set(leaf, name);
      pairs[i] = leaf;
      break;
    }
  });
  return pairs;
}

const ambiguous = (operation, name, paths) => invalidArgument(operation, `${paths.length} arguments match the name ${
  name}: ${paths.slice(0, 3).join(', ')}; give it by its whole name`);

/**
 * Returns the functions and names that named_table.mjs needs. They are passed to it, since importing them there would
 * split the package's bundle into more files.
 * @param {({ value: any, path: string[] } | undefined)[]} [pairs] those that are known
 */
export const sidesOf = (parameters, tree, pairs = pairArguments(parameters, tree, 'execute')) =>
  ({ parameters, pairs, leaves: leavesOf(tree), plain, distance, inside: () => insideOf(parameters, tree) });

/** Returns the key at the top of a tree whose removal would make the most names match: { key, count }. */
function insideOf(parameters, tree) {
  const counts = Object.keys(tree).filter((key) => isPlainObject(tree[key])).map((key) => ({ key, count: countOf(parameters, tree[key]) }));
  return counts.sort((a, b) => b.count - a.count)[0];
}

/** Returns the number of parameters that have an argument in a tree; 0 if a name is ambiguous. */
function countOf(parameters, tree) {
  try {
    return pairArguments(parameters, tree, 'execute').filter(Boolean).length;
  } catch {
    return 0;
  }
}

/** @returns {XlaError} to be thrown: some parameters have no argument; advice.mjs adds a table of both sides */
export function missing(operation, parameters, pairs) {
  const lacking = parameters.filter((_, i) => !pairs[i]);
  const names = firstOf(lacking.map(({ name, shape }) => `${name}: ${shape}`));
  return about(invalidArgument(operation, `no argument is named ${names}`), { isUnnamed: true });
}

const MAX_NAMES = 4;
/** The first of a list of names, as text for an error. */
export const firstOf = (names) => `${names.slice(0, MAX_NAMES).join(', ') || 'none'}${names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''}`;

/**
 * @param {readonly { name: string, shape: any }[]} parameters
 * @param {Record<string, any>} tree
 * @param {string} [operation] for errors
 * @returns {any[]} one argument for each parameter
 */
export function argumentsByName(parameters, tree, operation = 'execute') {
  const pairs = pairArguments(parameters, tree, operation);
  if (pairs.includes(undefined)) throw missing(operation, parameters, pairs);
  const used = new Set(pairs.map(({ path }) => path[0]));
  const unknown = Object.keys(tree).filter((key) => !used.has(key));
  if (!unknown.length) return pairs.map(({ value }) => value);
  throw invalidArgument(operation, `there is no parameter ${firstOf(unknown)}; there are ${firstOf(parameters.map(({ name }) => name))}`);
}
