/** The rows of sources, tuples, calls and control flow. */
import { API_VERSIONS, quote } from '../base/attribute_text.mjs';
import { copyList } from '../base/options.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import {
  boolean, either, elementType, integer, oneOf, op, opOrOps, ops, optional, overloaded, row, shape, string,
} from './arguments.mjs';
import {
  bodies, body, call, combiner, computation, conditionalOfMany, conditionalOfTwo, whileLoop,
} from './computations.mjs';

const apiVersion = oneOf(...API_VERSIONS.slice(1));

const iota = {
  shaped: row('iota', { shape, iotaDimension: integer }, (emit, { shape, iotaDimension }) =>
    emit([], { iota_dimension: iotaDimension }, shape)),
  vector: row('iota', { type: elementType, size: integer }, (_emit, { type, size }, b) =>
    b.iota(Shape.array(type, [size]), 0)),
};

const [trueComputation, falseComputation] = [body, body];
const conditional = {
  predicated: row(
    'conditional',
    { pred: op, trueOperand: op, trueComputation, falseOperand: op, falseComputation },
    conditionalOfTwo,
  ),
  predicatedWithout: row(
    'conditional',
    { pred: op, trueComputation, falseComputation },
    conditionalOfTwo,
  ),
  indexed: row(
    'conditional',
    { branchIndex: op, branchComputations: bodies, branchOperands: optional(ops) },
    conditionalOfMany,
  ),
};
const conditionalOf = (values) => {
  if (values.length > 3) return conditional.predicated;
  return typeof values[1] === 'function' ? conditional.predicatedWithout : conditional.indexed;
};

/** Returns the shape of a scan's result from that of one step: the outputs get the scanned dimension, of `size`. */
function scanShape(step, carries, dimension, size) {
  const results = step.tupleShapes ?? [step];
  const outputs = results.length - carries;
  const shapes = results.map((result, i) => {
    if (i >= outputs || !result.isArray) return result;
    const { dimensions } = result;
    const stacked = [...dimensions.slice(0, dimension), size, ...dimensions.slice(dimension)];
    return Shape.array(result.elementType, stacked);
  });
  return step.isTuple ? Shape.tuple(shapes) : shapes[0];
}

function withoutDimension(shape, dimension) {
  const others = (list) => list.filter((_, i) => i !== dimension);
  return Shape.array(shape.elementType, others(shape.dimensions), {
    dynamicDimensions: others(shape.dynamicDimensions),
  });
}

export const structure = {
  afterAll: row('after-all', { operands: ops }, (emit, { operands }) => emit(operands)),
  call: row('call', { computation: body, args: ops }, call),
  conditional: overloaded(conditionalOf, Object.values(conditional)),
  createToken: row('after-all', {}, (emit) => emit([])),
  customCall: row(
    'custom-call',
    {
      targetName: string,
      args: ops,
      shape,
      opaque: optional(string),
      hasSideEffect: optional(boolean),
      operandShapesWithLayout: optional(Object.assign(
        (value) => (Array.isArray(value) ? copyList(value).map((entry) => Shape.of(entry)) : undefined),
        { wants: 'an array of shapes', type: 'readonly ShapeLike[]' },
      )),
      computation: optional(computation),
      apiVersion: optional(apiVersion),
    },
    (emit, { targetName, args, shape, ...rest }) =>
      emit(
        args,
        {
          custom_call_target: quote(targetName),
          operand_layout_constraints: rest.operandShapesWithLayout?.map(
            (s) => `${s.withoutLayout()}${s.effectiveLayout}`,
          ),
          to_apply: rest.computation,
          custom_call_has_side_effect: rest.hasSideEffect,
          api_version: rest.apiVersion,
          backend_config: rest.opaque === undefined ? undefined : quote(rest.opaque),
        },
        shape,
      ),
  ),
  getTupleElement: row(
    'get-tuple-element',
    { tupleData: op, index: integer },
    (emit, { tupleData, index }) => emit([tupleData], { index }),
  ),
  iota: overloaded(
    (values) => (ELEMENT_TYPES.has(values[0]) ? iota.vector : iota.shaped), Object.values(iota)),
  optimizationBarrier: row('opt-barrier', { operand: op }, (emit, { operand }) => emit([operand])),
  scan: row(
    'scan',
    {
      inputs: opOrOps, inits: opOrOps,
      computation: combiner(({ inputs, inits, scanDimension }) => [
        ...inputs.map(({ shape }) => withoutDimension(shape, scanDimension)),
        ...inits.map(({ shape }) => shape),
      ]),
      scanDimension: integer,
      scanDimensionSize: optional(integer), isReverse: optional(boolean),
      isAssociative: optional(boolean),
    },
    (emit, { inputs, inits, computation, scanDimension, scanDimensionSize: size, ...rest }) =>
      emit(
        [...inputs, ...inits],
        {
          dimensions: [scanDimension],
          num_carries: inits.length,
          is_reverse: rest.isReverse,
          is_associative: rest.isAssociative,
          to_apply: computation,
        },
        size === undefined
          ? undefined
          : scanShape(computation.resultShape, inits.length, scanDimension, size),
      ),
  ),
  tuple: row('tuple', { elements: ops }, (emit, { elements }) => emit(elements)),
  while: row('while', { condition: body, body, init: either(op, ops) }, whileLoop),
};
