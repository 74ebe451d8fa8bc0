/**
 * Programs that real XLA:CPU is known to compute wrongly. The fuzzer compares them with the evaluator instead.
 */
import { attributeOf, HloLines } from '../../bindings/objects/hlo_lines.mjs';

const WRAPS = new Set(['add', 'subtract', 'multiply', 'divide', 'negate', 'abs', 'not', 'shift-left', 'power']);
const PASSES = new Set([
  'broadcast', 'reshape', 'transpose', 'slice', 'reverse', 'copy', 'concatenate', 'pad', 'select', 'clamp', 'minimum', 'maximum',
  'get-tuple-element', 'tuple', 'convert', 'bitcast-convert', 'dynamic-slice', 'gather',
]);

/** Whether an array of bytes comes from arithmetic whose results wrap, in the loop that reads it. */
function isWrapped(computation, name, seen = new Set()) {
  if (seen.has(name)) return false;
  seen.add(name);
  const line = computation.instructions.find((each) => each.name === name);
  if (!line) return false;
  if (/^[su]8\[/.test(line.shape) && WRAPS.has(line.opcode)) return true;
  return (PASSES.has(line.opcode) || WRAPS.has(line.opcode)) && line.operands.some((operand) => isWrapped(computation, operand, seen));
}

/** XLA:CPU computes in wider registers, and does not wrap values that a minimum or maximum reads: x / x, -x. */
function wrappedExtremes(program) {
  const isExtreme = (name) => program.computation(name)?.instructions.some(({ opcode }) => opcode === 'minimum' || opcode === 'maximum');
  return program.computations.some((computation) => computation.instructions.some((line) =>
    /^(reduce|reduce-window)$/.test(line.opcode) && /[su]8\[/.test(line.shape) && isExtreme(attributeOf(line, 'to_apply')) &&
    line.operands.some((operand) => isWrapped(computation, operand))));
}

const FAULTS = { 'minima and maxima of bytes that wrap': wrappedExtremes };

/** @param {string} text HLO @returns {string | undefined} the fault of XLA that a program may show */
export function knownFault(text) {
  const program = HloLines.parse(text);
  return Object.keys(FAULTS).find((name) => FAULTS[name](program));
}
