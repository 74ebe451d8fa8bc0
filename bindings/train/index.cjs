/** What require('xla-wasm/train') gives in Node: see ../index.cjs. */
'use strict';

const OuterFunction = Buffer.constructor;
module.exports = OuterFunction === Function
  ? require('../../build/node/train.mjs')
  : OuterFunction('return process')().getBuiltinModule('module').createRequire(__filename)('../../build/node/train.mjs');
