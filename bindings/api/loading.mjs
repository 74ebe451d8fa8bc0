/** client.load(): a program in whatever form it comes. Loaded itself when it is first called. */
import { factsOf, invalidArgument, withPosition, XlaError } from '../base/error.mjs';
import { part } from '../base/part.mjs';
import { refusal } from '../formats/foreign.mjs';
import { gunzip, gunzipNow, isGzip } from '../formats/inflate.mjs';
import { programsOfJaxExport } from '../formats/jax_export.mjs';
import { isBytecode, isText, kindOfText } from '../formats/program_text.mjs';
import { contentNow, contentOf } from '../host/sources.mjs';
import { PLATFORMS, RENAME } from '../objects/load_options.mjs';
import { annotate } from '../objects/module.mjs';
import { protoReader, stablehlo } from './parts.mjs';

const protoText = part(() => import('../formats/proto_text.mjs'));

/** Parts that each kind of program needs; kinds that are not here need none. */
const NEEDS = { programs: [stablehlo], stablehlo: [stablehlo], binary: [protoReader], proto: [protoReader, protoText] };

/**
 * @param {import('./client.mjs').Client} client
 * @param {any} source as in client.load()
 * @param {{ maxBytes?: number, arguments?: import('../values/shape.mjs').Shape[],
 *   elided?: 'zeros' | 'random', entry?: string, platform?: string }} options as in client.load()
 * @returns {Promise<import('../objects/module.mjs').HloModule>}
 */
export async function load(client, source, { maxBytes, ...options }) {
  let { content, name } = await contentOf(source);
  if (isPacked(content)) content = await gunzip(content, maxBytes);
  const kind = kindOf(content, name);
  for (const needed of NEEDS[kind] ?? []) await needed.later();
  return read(client, kind, content, name, options);
}

/** As load(), without waiting. */
export function loadNow(client, source, { maxBytes, ...options }) {
  let { content, name } = contentNow(source, 'loadSync');
  if (isPacked(content)) content = gunzipNow(content, maxBytes);
  return read(client, kindOf(content, name), content, name, options);
}

const isPacked = (content) => typeof content !== 'string' && isGzip(content);

/** 'programs' of MLIR bytecode, 'binary' for a proto, or the kind of the text. */
function kindOf(content, name) {
  if (typeof content === 'string') return kindOfText(content);
  const refused = refusal(content, name);
  if (refused) throw refused;
  if (isBytecode(content) || programsOfJaxExport(content).length) return 'programs';
  return isText(content) ? kindOfText(new TextDecoder().decode(content.subarray(0, 100000))) : 'binary';
}

/** Reads a program. The parts that its kind needs are loaded. */
function read(client, kind, content, name, options) {
  if (kind === 'programs') {
    return readWithGradients(client, isBytecode(content) ? [{ program: content }] : programsOfJaxExport(content), options);
  }
  if (kind !== 'binary') return readText(client, content, kind, options, name);
  refuseChoices(options, 'an HLO proto');
  return readProto(client, content);
}

/** The first program, with the next ones as its vector-Jacobian products. */
function readWithGradients(client, [{ program, platforms }, ...vjps], options, forward, order = 0) {
  const { parseStableHlo } = stablehlo.now('load');
  let module;
  try {
    module = parseStableHlo(client, program, { ...options, [RENAME]: forward && namesAfter(forward, order), [PLATFORMS]: platforms });
  } catch (error) {
    throw withPosition(error);
  }
  if (!vjps.length) return module;
  let vjp;
  try {
    vjp = readWithGradients(client, vjps, options, module, order + 1);
  } catch (error) {
    vjp = error;
  }
  annotate(module, { vjp });
  return module;
}

/**
 * Names for the parameters of a vector-Jacobian product, which JAX numbers: args_and_out_cts_flat_jax[0] and on. They are
 * those of the forward program, then cotangent_0 and on, a result each. If JAX has left out parameters that nothing
 * uses, the numbers do not say which they are, and the names stay.
 * @param {import('../objects/module.mjs').HloModule} forward
 * @param {number} order 1 for the product of a function, 2 for the product of that
 */
function namesAfter(forward, order) {
  const { parameters, resultShape } = forward;
  const wanted = [...parameters.map(({ shape }) => shape), ...(resultShape.isTuple ? resultShape.tupleShapes : [resultShape])];
  const nameOf = (number) => parameters[number]?.name ?? `cotangent${order > 1 ? order : ''}_${number - parameters.length}`;
  return (names, shapes) => {
    const numbers = names.map((name) => Number(/^args_and_out_cts_flat_jax\D*(\d+)\D*$/.exec(name)?.[1] ?? NaN));
    const isWhole = numbers.at(-1) === wanted.length - 1 && numbers.every((number, i) => wanted[number]?.compatible(shapes[i]));
    return isWhole ? numbers.map(nameOf) : undefined;
  };
}

/** Options that choose a part of a StableHLO program have no meaning for HLO. */
function refuseChoices({ entry, platform }, what) {
  if (entry !== undefined) throw invalidArgument('load', `entry is for StableHLO, whose functions have names; ${what} says itself where it begins`);
  if (platform !== undefined) throw invalidArgument('load', `platform is for files of jax.export; ${what} is for one platform`);
}

function readProto(client, content) {
  try {
    return client.parseHloProtoSync(content);
  } catch (error) {
    if (!factsOf(error).isNoProto) throw error;
    throw invalidArgument('load', 'these bytes are no program that is known: no HLO proto, MLIR bytecode or file of ' +
      `jax.export; is the file whole? (As a proto: ${error.message.replace(/^parseHloProto: /, '')}.)`);
  }
}

function readProtoText(client, content) {
  const { protoOfText } = protoText.now('load');
  return client.parseHloProtoSync(protoOfText(typeof content === 'string' ? content : new TextDecoder().decode(content)));
}

function readText(client, content, kind, options, name) {
  const { elided } = options;
  if (kind === 'stablehlo') return client.parseStableHloSync(content, options);
  refuseChoices(options, 'HLO');
  if (kind === 'hlo') return client.parseHlo(content, { elided });
  if (kind === 'proto') return readProtoText(client, content);
  const head = typeof content === 'string' ? new TextEncoder().encode(content.slice(0, 1000)) : content;
  const refused = refusal(head, name);
  if (refused) throw refused;
  try {
    return client.parseHlo(content, { elided });
  } catch (error) {
    const { code, message, line, column, operation } = error;
    throw new XlaError(code, `${message}; this text is neither HLO, which begins with HloModule, nor StableHLO, ` +
      'with module or func.func', { line, column, operation });
  }
}
