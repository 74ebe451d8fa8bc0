/**
 * Functions that people expect beside XLA's operations, a row each as in operations.mjs: they are written out in
 * operations when they are called, so the core, and every other XLA, knows nothing of them.
 */
import { overloaded } from '../arguments.mjs';
import { isOp } from '../op.mjs';
import { arrays } from './arrays.mjs';
import { sums } from './einsum.mjs';
import { layers } from './layers.mjs';
import { random } from './random.mjs';
import { extremes, reductions } from './reductions.mjs';

const isOperand = (value) => isOp(value) || ['number', 'bigint', 'boolean'].includes(typeof value);

/** max(x) and max(x, { axis }) reduce; max(x, y) compares element by element. */
const withReduction = (binary, reduction) => overloaded(
  (values) => (isOp(values[0]) && !isOperand(values[1]) ? reduction : binary), [binary, reduction]);

/** All functions by method name, given the table of operations. */
export const functionsBeside = (operations) => ({
  ...reductions,
  ...layers,
  ...arrays,
  ...sums,
  ...random,
  max: withReduction(operations.max, extremes.max),
  min: withReduction(operations.min, extremes.min),
});
