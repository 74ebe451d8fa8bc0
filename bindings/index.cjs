/**
 * What require('xla-wasm') gives in Node. Node's own require() takes modules; Jest's does not, nor is
 * there an import() in its sandbox. But that shares Buffer with the world outside, and so Buffer's
 * constructor is a Function of that world, where Node's own require() is.
 */
'use strict';

const OuterFunction = Buffer.constructor;
module.exports = OuterFunction === Function
  ? require('../build/node/index.mjs')
  : OuterFunction('return process')().getBuiltinModule('module').createRequire(__filename)('../build/node/index.mjs');
