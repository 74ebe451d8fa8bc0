/** client.load(): a program in whatever form it comes. Loaded itself when it is first called. */
import { invalidArgument, withPlace, XlaError } from '../base/error.mjs';
import { isText, kindOfText } from '../formats/program_text.mjs';
import { contentOf, gunzip, isGzip, programsOfJaxExport, refusal } from '../host/sources.mjs';
import { PLATFORMS, RENAME } from '../objects/load_options.mjs';
import { annotate } from '../objects/module.mjs';

/**
 * @param {import('./client.mjs').Client} client
 * @param {any} source as of client.load()
 * @param {{ maxBytes?: number, arguments?: import('../values/shape.mjs').Shape[],
 *   elided?: 'zeros' | 'random', entry?: string, platform?: string }} options as of client.load()
 * @returns {Promise<import('../objects/module.mjs').HloModule>}
 */
export async function load(client, source, { maxBytes, ...options }) {
  let { content, name } = await contentOf(source);
  if (typeof content !== 'string' && isGzip(content)) content = await gunzip(content, maxBytes);
  if (typeof content === 'string') return loadText(client, content, kindOfText(content), options, name);
  const refused = refusal(content, name);
  if (refused) throw refused;
  const { isBytecode } = await import('../stablehlo/index.mjs');
  const programs = isBytecode(content) ? [{ program: content }] : programsOfJaxExport(content);
  if (programs.length) return loadWithGradients(client, programs, options);
  if (!isText(content)) {
    refuseChoices(options, 'an HLO proto');
    return loadProto(client, content);
  }
  const head = new TextDecoder().decode(content.subarray(0, 100000));
  return loadText(client, content, kindOfText(head), options, name);
}

/** The first program, with the next ones as its vector-Jacobian products. */
async function loadWithGradients(client, [{ program, platforms }, ...vjps], options, forward, order = 0) {
  const { parseStableHlo } = await import('../stablehlo/index.mjs');
  let module;
  try {
    module = parseStableHlo(client, program, { ...options, [RENAME]: forward && namesAfter(forward, order), [PLATFORMS]: platforms });
  } catch (error) {
    throw withPlace(error);
  }
  if (vjps.length) annotate(module, { vjp: await loadWithGradients(client, vjps, options, module, order + 1).catch((error) => error) });
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

async function loadProto(client, bytes) {
  try {
    return await client.parseHloProto(bytes);
  } catch (error) {
    if (!/at byte|no HloModuleProto/.test(error.message)) throw error;
    throw invalidArgument('load', 'these bytes are no program that is known: no HLO proto, MLIR bytecode or file of ' +
      `jax.export; is the file whole? (As a proto: ${error.message.replace(/^parseHloProto: /, '')}.)`);
  }
}

async function loadProtoText(client, content) {
  const { protoOfText } = await import('../formats/proto_text.mjs');
  return client.parseHloProto(protoOfText(typeof content === 'string' ? content : new TextDecoder().decode(content)));
}

function loadText(client, content, kind, options, name) {
  const { elided } = options;
  if (kind === 'stablehlo') return client.parseStableHlo(content, options);
  refuseChoices(options, 'HLO');
  if (kind === 'hlo') return client.parseHlo(content, { elided });
  if (kind === 'proto') return loadProtoText(client, content);
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
