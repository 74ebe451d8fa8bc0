/**
 * Finds the elements of the arguments on which each element of the results depends. It runs the program
 * once for each element, with that one made NaN (integers: another number), and compares the results.
 * So it works for any program.
 */
import { Literal } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { runProgram } from './run_program.mjs';

const MAX_SOURCES = 320;
const MAX_RESULTS = 1600;

/* Effects and random numbers differ from run to run. */
const NOT_TRACED = /\s(infeed|outfeed|rng|rng-get-and-update-state|custom-call|rng-bit-generator)\(/;

/* These sort NaN to a fixed place, so an element is changed by less than its distance to the others instead. */
const ORDERED = /\s(sort|topk)\(/;

const isFloat = (type) => ['float', 'complex'].includes(ELEMENT_TYPES.get(type).kind);

/** One more and one less: at the end of its range an index is clamped, so one of the two changes nothing. */
const neighbours = (value) => (typeof value === 'bigint' ? [value + 1n, value - 1n] : [value + 1, value - 1]);

/** A third of the way to the nearest other number; where there is none, half of one. */
function nudge(value, literal, type) {
  let gap = Infinity;
  for (let i = 0; i < literal.shape.elementCount; i++) {
    const distance = Math.abs(type.read(literal.data, i) - value);
    if (distance > 0 && distance < gap) gap = distance;
  }
  return gap < Infinity ? gap / 3 : 0.5;
}

/** Copies of a literal with one element disturbed, in the ways that its type has. */
function disturbed(literal, index, isOrdered) {
  const type = ELEMENT_TYPES.get(literal.shape.elementType);
  const copyWith = (write) => {
    const copy = Literal.from(literal.data.slice(), literal.shape);
    return write(copy.data) ? [copy] : [];
  };
  if (type.kind === 'complex') {
    return copyWith((data) => {
      data[2 * index] = NaN;
      return true;
    });
  }
  const before = type.read(literal.data, index);
  const float = () => (isOrdered ? [before + nudge(before, literal, type)] : [NaN]);
  const others = type.kind === 'float' ? float() : type.kind === 'pred' ? [!before] : neighbours(before);
  return others.flatMap((value) => copyWith((data) => type.write(data, index, value)));
}

/** Numbers of the results' elements that a disturbance changes. */
function touched(outputs, base) {
  const found = [];
  let at = 0;
  outputs.forEach((leaves, device) => leaves.forEach((literal, leaf) => {
    const { data } = literal;
    const was = base[device][leaf].data;
    const type = ELEMENT_TYPES.get(literal.shape.elementType);
    const count = literal.shape.elementCount;
    for (let i = 0; i < count; i++) {
      let isTouched = false;
      for (let lane = 0; lane < type.lanes; lane++) {
        const [now, before] = [data[i * type.lanes + lane], was[i * type.lanes + lane]];
        if (!Object.is(now, before)) isTouched = true;
      }
      if (isTouched) found.push(at + i);
    }
    at += count;
  }));
  return found;
}

const plain = (literal) => ({
  type: literal.shape.elementType, dimensions: [...literal.shape.dimensions], text: String(literal.shape), data: literal.data,
});
const isArray = (value) => value?.shape?.isArray === true;

/** Disturbs each element of the sources. Returns those on which each element of the results depends; null: it is stale. */
async function linksOf(program, base, { sources, resultCount, isOrdered, isStale }) {
  const links = Array.from({ length: resultCount }, () => []);
  for (const { device, parameter, literal, first } of sources) {
    for (let i = 0; i < literal.shape.elementCount; i++) {
      if (isStale()) return null;
      const found = new Set();
      for (const other of disturbed(literal, i, isOrdered)) {
        const args = base.args.map((own, d) => own.map((value, p) => (d === device && p === parameter ? other : value)));
        const { outputs } = await program.execute(args);
        for (const at of touched(outputs, base.outputs)) found.add(at);
      }
      for (const at of found) links[at].push(first + i);
    }
  }
  return links;
}

/**
 * @param {import('./loaded_program.mjs').LoadedProgram} program
 * @param {{ inputs: any[], isStale: () => boolean }} options `inputs` as of runProgram
 * @returns {Promise<{ sources: object[], results: object[], links: number[][] } | { why: string }>}
 *   `sources` and `results`: { device, name, isIndex, first, ...array }, where `first` is the number
 *   of its first element; `links`: for each element of the results, the numbers of those of the sources; `isOrdered`:
 *   elements were moved so little that their order stayed
 */
export async function trace(program, { inputs, isStale }) {
  const text = program.parts.map(({ source }) => source).join('\n');
  const reason = NOT_TRACED.exec(text);
  if (reason) return { why: `There is no picture of programs with ${reason[1]}.` };
  if (program.parts.some(({ executable }) => executable.resultShape.isDynamic)) {
    return { why: 'There is no picture of results with dynamic dimensions.' };
  }
  const isOrdered = ORDERED.test(text);
  const base = await runProgram(program, { inputs });
  const sources = [];
  let sourceCount = 0;
  base.args.forEach((args, device) => args.forEach((literal, parameter) => {
    if (!isArray(literal)) return;
    const { firstParameter } = program.partOf(device);
    sources.push({ device, parameter, name: program.parameters[firstParameter + parameter].name, literal, first: sourceCount });
    sourceCount += literal.shape.elementCount;
  }));
  const results = [];
  let resultCount = 0;
  base.outputs.forEach((leaves, device) => leaves.forEach((literal, leaf) => {
    if (!isArray(literal)) return;
    results.push({ device, name: leaves.length > 1 ? `result ${leaf}` : 'result', first: resultCount, ...plain(literal) });
    resultCount += literal.shape.elementCount;
  }));
  if (base.outputs.flat().some((literal) => !isArray(literal))) return { why: 'There is no picture of programs that return tokens.' };
  if (sourceCount > MAX_SOURCES || resultCount > MAX_RESULTS) return { why: `Pictures are of small programs: up to ${MAX_SOURCES} elements of arguments, ${MAX_RESULTS} of results. This one has ${sourceCount} and ${resultCount}.` };
  if (!resultCount) return { why: 'There is nothing to draw.' };
  const links = await linksOf(program, base, { sources, resultCount, isOrdered, isStale });
  if (!links) return { why: '' };
  const hasFloats = sources.some(({ literal }) => isFloat(literal.shape.elementType));
  return {
    sources: sources.map(({ literal, ...source }) => ({ ...source, ...plain(literal), isIndex: hasFloats && !isFloat(literal.shape.elementType) })),
    results,
    links,
    isOrdered,
  };
}
