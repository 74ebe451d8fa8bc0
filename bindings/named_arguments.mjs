/** Arguments by name: an object, or a tree of objects and arrays, whose leaves are arguments. */
import { describe, invalidArgument } from './error.mjs';
import { isPlainObject } from './options.mjs';

/**
 * Names as they are compared: JAX's "params['w1']" is in HLO text "params__w1__.1", and in a tree
 * params.w1 or 'params.w1'.
 */
const plain = (name) => name.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '');

/** Removes the number that XLA appends to make a name unique. */
const withoutNumber = (name) => name.replace(/\.\d+$/, '');

/** The leaves of a tree that a name can mean, each with the key at the top that leads to it. */
function meant(node, rest, top, found) {
  if (rest === '') {
    found.push({ value: node, top });
    return;
  }
  if (!isPlainObject(node) && !Array.isArray(node)) return;
  for (const key of Object.keys(node)) {
    const own = plain(key);
    if (rest !== own && !rest.startsWith(`${own}_`)) continue;
    meant(node[key], rest.slice(own.length + 1), top ?? key, found);
  }
}

/**
 * @param {readonly { name: string, shape: any }[]} parameters
 * @param {Record<string, any>} tree
 * @returns {any[]} one argument for each parameter
 */
export function argumentsByName(parameters, tree) {
  const used = new Set();
  const missing = [];
  const args = parameters.map(({ name, shape }) => {
    const found = [];
    meant(tree, plain(name), undefined, found);
    if (!found.length) meant(tree, plain(withoutNumber(name)), undefined, found);
    if (!found.length) missing.push(`${name}: ${shape}`);
    if (found.length > 1) {
      throw invalidArgument('execute', `${found.length} arguments can be meant by the name ${name}`);
    }
    used.add(found[0]?.top);
    return found[0]?.value;
  });
  if (missing.length) {
    throw invalidArgument('execute', `no argument is named ${missing.join(', ')}; there are ` +
      describe(Object.keys(tree)));
  }
  const unknown = Object.keys(tree).filter((key) => !used.has(key));
  if (!unknown.length) return args;
  const names = parameters.map(({ name }) => name).join(', ') || 'none';
  throw invalidArgument('execute', `there is no parameter ${unknown.join(', ')}; there are ${names}`);
}
