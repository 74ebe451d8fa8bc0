/** Jacobians and Hessians: derivatives of batches of unit vectors. */
import { invalidArgument } from '../base/error.mjs';
import { checkOptions, kind } from '../base/options.mjs';
import { isFloat, Shape } from '../values/shape.mjs';
import { batch } from './batches.mjs';
import { differentiate, maxTrips, parameterNumbers, wrt } from './gradients.mjs';

const direction = kind("'reverse' or 'forward'", (value) => (value === 'reverse' || value === 'forward' ? value : undefined));
export const HESSIAN_OPTIONS = { wrt, maxTrips };
export const JACOBIAN_OPTIONS = { ...HESSIAN_OPTIONS, mode: direction };

/** The unit vectors of an array's space: [size, ...dimensions]. */
function units(b, { elementType, dimensions: sizes, elementCount: n }) {
  const square = Shape.array('s32', [n, n]);
  const ones = b.convertElementType(b.eq(b.iota(square, 0), b.iota(square, 1)), elementType);
  return b.reshape(ones, [n, ...sizes]);
}

const zeros = (b, { elementType, dimensions: sizes }) => b.broadcast(b.constantR0(0, elementType), sizes);

function checkReal(operation, what, shape) {
  if (shape.isArray && /^b?f/.test(shape.elementType)) return;
  throw invalidArgument(operation, `${what} has shape ${shape}; a Jacobian is that of real floating-point arrays`);
}

/**
 * Adds the Jacobian of a program to a builder: by columns, the Jacobian-vector products of the unit vectors of a
 * parameter ('forward'), or by rows, the vector-Jacobian products of those of a result ('reverse').
 * @param {any} b XlaBuilder
 * @param {import('../objects/module.mjs').HloModule} module
 * @param {any[]} args XlaOps: the program's arguments
 * @param {{ wrt?: any[], mode?: 'reverse' | 'forward', maxTrips?: number }} asked of JACOBIAN_OPTIONS
 * @returns {any[][]} for each floating-point result, for each of wrt: [...result's dimensions, ...parameter's dimensions]
 */
export function jacobianOf(b, module, args, asked, operation = 'jacobian') {
  const { parameters, resultShape } = module;
  const numbers = parameterNumbers(operation, parameters, asked.wrt);
  const inputs = numbers.map((number) => parameters[number].shape);
  const all = resultShape.isTuple ? resultShape.tupleShapes : [resultShape];
  const outputs = all.filter(isFloat);
  numbers.forEach((number, i) => checkReal(operation, `parameter ${number} "${parameters[number].name}"`, inputs[i]));
  outputs.forEach((shape) => checkReal(operation, 'a result', shape));
  const byColumns = asked.mode === 'forward';
  const derived = byColumns
    ? differentiate(module, 'jvp', { wrt: numbers })
    : differentiate(module, 'vjp', { wrt: numbers, maxTrips: asked.maxTrips });
  const [from, to, before] = byColumns ? [inputs, outputs, all.length] : [outputs, inputs, 0];
  const parts = from.map((shape, k) => {
    const seeds = from.map((other, i) => (i === k ? units : zeros)(b, other));
    const mapped = batch(derived, {
      in: [...parameters.map(() => null), ...from.map((_, i) => (i === k ? 0 : null))],
      out: [...new Array(before).fill(null), ...to.map(() => (byColumns ? -1 : 0))],
      size: shape.elementCount,
    });
    const products = b.call(mapped, [...args, ...seeds]);
    return to.map((other, i) => b.reshape(b.getTupleElement(products, before + i),
      byColumns ? [...other.dimensions, ...shape.dimensions] : [...shape.dimensions, ...other.dimensions]));
  });
  return outputs.map((_, o) => inputs.map((__, i) => (byColumns ? parts[i][o] : parts[o][i])));
}

/**
 * Builds the program of client.jacobian().
 * @param {(name: string) => any} newBuilder makes an XlaBuilder
 * @param {import('../objects/module.mjs').HloModule} module
 * @param {object} [options] of JACOBIAN_OPTIONS
 * @returns {import('../objects/module.mjs').HloModule}
 */
export function jacobianModule(newBuilder, module, options) {
  const asked = checkOptions('jacobian', options, JACOBIAN_OPTIONS);
  const b = newBuilder('jacobian');
  const args = module.parameters.map(({ shape, name }, number) => b.parameter(number, shape.withoutLayout(), name));
  return b.build(b.tuple(jacobianOf(b, module, args, asked).flat()));
}

/** Builds the program of client.hessian(): the Jacobian of the gradient. The parameters are jacobianModule()'s. */
export function hessianModule(newBuilder, module, options) {
  const gradient = differentiate(module, 'gradient', options);
  return jacobianModule(newBuilder, gradient, { wrt: options?.wrt, mode: 'forward' });
}
