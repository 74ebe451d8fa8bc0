/** What require('xla-wasm/stablehlo') gives in Node: see ../index.cjs. */
'use strict';

const OuterFunction = Buffer.constructor;
module.exports = OuterFunction === Function
  ? require('../../build/node/stablehlo.mjs')
  : OuterFunction('return process')().getBuiltinModule('module').createRequire(__filename)('../../build/node/stablehlo.mjs');
