/**
 * Which elements of the arguments does each element of the results depend on? Found by running the
 * program itself: once for each element, with that one made NaN (integers: another number), and
 * looking at what changes. So it holds for any program, and follows the editor.
 */
import { Literal } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/types.mjs';
import { runProgram } from '../shared/run_program.mjs';

const MOST_SOURCES = 320;
const MOST_RESULTS = 1600;

/* Order decides there, and NaN has one; effects and random numbers differ from run to run. */
const NOT_TRACED = /\s(sort|topk|infeed|outfeed|rng|rng-get-and-update-state|custom-call|rng-bit-generator)\(/;

const isFloat = (type) => ['float', 'complex'].includes(ELEMENT_TYPES.get(type).kind);

/** One more and one less: an index may be at the end, where it is held. */
const neighbours = (value) => (typeof value === 'bigint' ? [value + 1n, value - 1n] : [value + 1, value - 1]);

/** Copies of a literal with one element disturbed, in the ways that its type has. */
function disturbed(literal, index) {
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
  const others = { float: [NaN], pred: [!before] }[type.kind] ?? neighbours(before);
  return others.flatMap((value) => copyWith((data) => type.write(data, index, value)));
}

/** Numbers of the results' elements that tell the disturbance. */
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

const plain = (literal) => ({ type: literal.shape.elementType, dimensions: [...literal.shape.dimensions], text: String(literal.shape), data: literal.data });
const isArray = (value) => value?.shape?.isArray === true;

/**
 * @returns {Promise<{ sources: object[], results: object[], links: number[][] } | { why: string }>}
 *   `sources` and `results`: { device, name, isIndex, first, ...array }, where `first` is the number
 *   of its first element; `links`: for each element of the results, the numbers of those of the sources
 */
export async function trace(client, executable, { inputs, text, isStale }) {
  const reason = NOT_TRACED.exec(text);
  if (reason) return { why: `There is no picture of programs with ${reason[1]}.` };
  if (executable.resultShape.isDynamic) return { why: 'There is no picture of results with dynamic dimensions.' };
  const base = await runProgram(client, executable, { inputs, text });
  const devices = base.args.map((args) => args.map((argument) => (isArray(argument) ? argument : null)));
  const sources = [];
  let sourceCount = 0;
  devices.forEach((args, device) => args.forEach((literal, parameter) => {
    if (!literal) return;
    sources.push({ device, parameter, name: executable.parameters[parameter].name, literal, first: sourceCount });
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
  if (sourceCount > MOST_SOURCES || resultCount > MOST_RESULTS) return { why: `Pictures are of small programs: up to ${MOST_SOURCES} elements of arguments, ${MOST_RESULTS} of results. This one has ${sourceCount} and ${resultCount}.` };
  if (!resultCount) return { why: 'There is nothing to draw.' };
  const links = Array.from({ length: resultCount }, () => []);
  for (const { device, parameter, literal, first } of sources) {
    for (let i = 0; i < literal.shape.elementCount; i++) {
      if (isStale()) return { why: '' };
      const found = new Set();
      for (const other of disturbed(literal, i)) {
        const args = base.args.map((own, d) => own.map((value, p) => (d === device && p === parameter ? other : value)));
        for (const at of touched(await leavesOf(executable, args), base.outputs)) found.add(at);
      }
      for (const at of found) links[at].push(first + i);
    }
  }
  const hasFloats = sources.some(({ literal }) => isFloat(literal.shape.elementType));
  return {
    sources: sources.map(({ literal, ...source }) => ({ ...source, ...plain(literal), isIndex: hasFloats && !isFloat(literal.shape.elementType) })),
    results,
    links,
  };
}

async function leavesOf(executable, args) {
  const outputs = await executable.executeReplicas(args);
  return outputs.map((results) => results.flatMap((result) => result.leaves()));
}
