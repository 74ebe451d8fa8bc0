/**
 * Lowers programs in the form of ir.mjs to HLO, through builders, by each operation's row in the
 * tables (operations.mjs and others). The core infers shapes, so a program of unknown sizes is lowered
 * for the sizes of its arguments, as if it had been written for them.
 */
import { bytesOfText, metadataText, quote } from '../base/attribute_text.mjs';
import { XlaError } from '../base/error.mjs';
import { suggestion } from '../base/names.mjs';
import { collect, emit as emitInto, header } from '../builder/builder.mjs';
import { XlaOp } from '../builder/op.mjs';
import { rulesOf } from '../derive/gradient_rules.mjs';
import { shardingTextOfBytes } from '../formats/hlo_proto_sharding.mjs';
import { coreOf } from '../objects/handle.mjs';
import { annotate } from '../objects/module.mjs';
import { pairArguments, pathOf } from '../objects/named_arguments.mjs';
import { chlo, chloArity } from './chlo.mjs';
import { collectives } from './collectives.mjs';
import { Context } from './context.mjs';
import { control } from './control.mjs';
import { dynamic } from './dynamic.mjs';
import { Frame, tupled, untupled } from './frame.mjs';
import { Dictionary, malformed, nameOf } from './ir.mjs';
import { constantOfKnown, foldKnown } from './known.mjs';
import { EntryLayouts, inLayout, laidOutBy } from './layouts.mjs';
import { arity, operations } from './operations.mjs';
import { quantized, throughRealTypes } from './quantized.mjs';
import { checkShardings, headerOf, sharded } from './sharding.mjs';
import { isQuantized, isStatic, shapeOf, storageType, typeText } from './types.mjs';

/** @type {Record<string, (c: Context) => any>} by name, what an operation becomes */
const ROWS = { ...operations, ...control, ...collectives, ...dynamic, ...chlo, ...quantized, ...sharded };
const ARITY = { ...arity, ...chloArity };

/** The max operations of a function that is inlined. */
const SMALL = 4;
const MAX_CALLS = 200; // in each other
/** Calls that are deeper than this are made from the inside out: a function at each multiple of this height first. */
const CALLS_AT_ONCE = 50;
const EXAMPLE_SIZE = 8;

/** JAX's name of the argument that says for which of an export's platforms the program runs. */
const PLATFORM = '_platform_index';

/** Operations that end a region with their operands as its results. */
const ENDS = new Set(['stablehlo.return', 'func.return']);

/**
 * @param {import('../api/client.mjs').Client} client
 * @param {import('./ir.mjs').Module} module
 * @param {object} [options]
 * @param {(import('../values/shape.mjs').Shape | string)[]} [options.arguments] the sizes for which a program of unknown sizes is
 *   wanted
 * @param {string} [options.entry] another function than @main
 * @param {string} [options.platform] which of the platforms that the file is for; by default the CPU
 * @param {string[]} [options.platforms] these, as an export lists them
 * @returns {import('../objects/module.mjs').HloModule}
 */
export function lower(client, module, options = {}) {
  try {
    return lowered(new Lowering(client, module, options, true));
  } catch {
    return lowered(new Lowering(client, module, options, false));
  }
}

function lowered(lowering) {
  try {
    return lowering.entry();
  } finally {
    lowering.clear();
  }
}

export class Lowering {
  #client;
  #functions = new Map(); // name -> operation
  #calls = new Map(); // name -> how many
  #callees = new Map(); // name -> names
  #made = new Map(); // name -> HloModule
  #checked = new Set(); // attributes, which operations may share
  #garbage = [];
  #depth = 0;
  #options;

  /** @param {boolean} collects whether instructions are checked together, so that an error may have another's place */
  constructor(client, module, options, collects) {
    this.collects = collects;
    this.#client = client;
    this.module = module;
    this.#options = options;
    for (const operation of module.operations) {
      if (operation.name === 'func.func') this.#functions.set(nameOf(operation.attributes.sym_name), operation);
    }
    this.header = headerOf(module);
    this.isDynamic = false;
    this.folds = false; // whether integers are computed while the program is lowered
    for (const operation of this.#functions.values()) {
      this.#check(operation);
      this.#callees.set(nameOf(operation.attributes.sym_name), this.#survey(operation.regions));
    }
  }

  /** Counts calls, and detects unknown sizes, and sizes that are operands. Returns the functions that are called. */
  #survey(regions) {
    const pending = [...regions], callees = [];
    while (pending.length) {
      const region = pending.pop();
      this.isDynamic ||= region.arguments.some(({ type }) => !isStatic(type));
      for (const operation of region.operations) {
        this.#check(operation);
        const callee = nameOf(operation.attributes.callee ?? operation.attributes.decomposition);
        if (callee !== undefined) {
          this.#calls.set(callee, (this.#calls.get(callee) ?? 0) + 1);
          callees.push(callee);
        }
        this.isDynamic ||= Object.hasOwn(dynamic, operation.name) || operation.results.some(({ type }) => !isStatic(type));
        if (operation.name === 'stablehlo.set_dimension_size') this.collects = false; // the result has another shape than it declares
        pending.push(...operation.regions);
      }
    }
    return callees;
  }

  /** Makes some of the functions that call others so deeply that the stack would not do: the inner ones first. */
  #makeDeep() {
    const heights = new Map(), pending = [...this.#functions.keys()].map((name) => [name, false]);
    while (pending.length) {
      const [name, isDone] = pending.pop(), callees = this.#callees.get(name) ?? [];
      if (isDone) {
        heights.set(name, 1 + Math.max(0, ...callees.map((callee) => heights.get(callee))));
      } else if (!heights.has(name)) {
        heights.set(name, 0); // a function that calls itself is found later
        pending.push([name, true], ...callees.map((callee) => [callee, false]));
      }
    }
    const deep = [...heights].filter(([, height]) => height % CALLS_AT_ONCE === 0).sort(([, a], [, b]) => a - b);
    if (Math.max(...heights.values()) <= MAX_CALLS) return;
    for (const [name] of deep) this.#make(name, this.function(name).regions[0].arguments.map(({ type }) => shapeOf(type, `an argument of @${name}`)));
  }

  #check(operation) {
    if (this.#checked.has(operation.attributes)) return;
    try {
      checkShardings(this.module, operation);
      this.#checked.add(operation.attributes);
    } catch (error) {
      throw located(error, operation);
    }
  }

  /** Disposes the intermediate modules and builders. */
  clear() {
    for (const thing of this.#garbage) thing.dispose();
    this.#garbage = [];
  }

  builder(name) {
    const builder = this.#client.builder(name);
    this.#garbage.push(builder);
    if (this.collects && !this.isDynamic) collect(builder);
    if (this.header) header(builder, this.header);
    return builder;
  }

  /* ---- Functions ---- */

  function(name) {
    const found = this.#functions.get(name);
    if (!found) throw malformed(`there is no function @${name}`);
    if (found.regions[0]?.operations.length) return found;
    throw new XlaError('UNIMPLEMENTED', `function @${name} has no body`);
  }

  #main() {
    const wanted = this.#options.entry?.replace(/^@/, '') ?? 'main';
    if (this.#functions.has(wanted)) return this.function(wanted);
    const open = [...this.#functions].filter(([, f]) => f.attributes.sym_visibility !== 'private').map(([name]) => name);
    const isGiven = this.#options.entry !== undefined;
    if (!isGiven && open.length === 1) return this.function(open[0]);
    const near = isGiven ? suggestion(wanted, [...this.#functions.keys()]) : undefined;
    const names = open.length ? `public ones are ${open.map((name) => `@${name}`).join(', ')}` : 'none is public';
    const remedy = open.length ? `: choose one, as in load(source, { entry: '${near ?? open[0]}' })` : '';
    throw malformed(`the program has no function @${wanted}; ${near ? `did you mean @${near}? ` : ''}${names}${remedy}`);
  }

  /** The number of the platform for which the program is lowered; undefined if it has no such argument, or keeps it. */
  #platformNumber(isAsked) {
    const { platform, platforms } = this.#options;
    if (!platforms) {
      if (platform === undefined) return undefined;
      throw malformed(isAsked ? `platform: the source does not list its platforms; leave platform out and give their number as the argument ${PLATFORM}`
        : 'platform: only files of jax.export list the platforms that they are for');
    }
    const wanted = platform ?? 'cpu';
    const number = platforms.findIndex((name) => name === wanted || (wanted === 'gpu' && /^(cuda|rocm)$/.test(name)));
    if (number < 0 && (isAsked || platform !== undefined)) {
      throw malformed(`the program was exported for ${platforms.join(', ')}, not for ${wanted}: choose one, as in load(source, { platform: '${platforms[0]}' })`);
    }
    return isAsked ? number : undefined;
  }

  entry() {
    const main = this.#main();
    const region = main.regions[0];
    const number = this.#platformNumber(region.arguments.some((_, i) => isPlatform(main, i)));
    this.folds = this.isDynamic || number !== undefined;
    if (!this.folds) this.#makeDeep();
    const values = region.arguments.filter((_, i) => number === undefined || !isPlatform(main, i));
    const place = (value) => region.arguments.indexOf(value);
    const own = values.map((value, i) => value.location?.().name ?? this.#nameInside(region, value) ??
      (isPlatform(main, place(value)) ? PLATFORM : `arg${i}`));
    const shapes = this.#argumentShapes(values, own);
    const layouts = new EntryLayouts(this.module, main);
    const builder = this.builder(this.module.name);
    const frame = new Frame(builder);
    const names = this.#options.rename?.(own, shapes) ?? own;
    values.forEach((value, i) => {
      frame.set(value, builder.parameter(i, laidOutBy(shapes[i], layouts.of('parameter', place(value))), names[i]));
    });
    for (const value of region.arguments.filter((one) => !values.includes(one))) {
      const constant = builder.constantR0(number, shapeOf(value.type, 'the platform').elementType);
      frame.set(value, constant);
      frame.known.set(constant, [BigInt(number)]);
    }
    const results = this.#results(main, frame).map((op, i) => inLayout(builder, op, layouts.of('result', i)));
    const module = builder.build(tupled(builder, results));
    annotate(module, { resultNames: resultNamesOf(main) });
    return module;
  }

  /** The name of an argument in the function that it is passed on to, as by exports of unknown sizes. */
  #nameInside(region, value) {
    const call = region.operations.find(({ name, operands }) => name === 'func.call' && operands.includes(value));
    const callee = call && this.#functions.get(nameOf(call.attributes.callee));
    return callee?.regions[0]?.arguments[call.operands.indexOf(value)]?.location?.().name;
  }

  #argumentShapes(values, names) {
    const given = this.#givenShapes(values, names);
    return values.map(({ type }, i) => {
      if (given[i]) return checkedArgument(given[i], type, `argument ${i} (${names[i]})`);
      if (isStatic(type)) return shapeOf(type, `argument ${i}`);
      const missing = names.flatMap((name, k) => (given[k] || isStatic(values[k].type) ? [] : `${pathOf(name)}: '${openShape(values[k].type, EXAMPLE_SIZE)}'`));
      const error = malformed(`argument ${i} (${names[i]}) is ${typeText(type)}: say for which sizes the program is wanted, ` +
        `as in load(source, { arguments: { ${missing.slice(0, 8).join(', ')} } })`);
      const parameters = names.map((name, k) => ({ name, shape: openShape(values[k].type, '?') }));
      throw Object.defineProperty(error, 'parameters', { value: parameters }); // for xla-wasm info and the demo
    });
  }

  /** The shapes of the option `arguments`: by name, a list for all arguments, or one for those of unknown sizes. */
  #givenShapes(values, names) {
    const given = this.#options.arguments ?? [];
    if (!Array.isArray(given)) {
      const pairs = pairArguments(names.map((name) => ({ name })), given, 'load');
      const used = new Set(pairs.map((pair) => pair?.value));
      const stray = Object.keys(given).find((name) => !used.has(given[name]));
      if (stray !== undefined) {
        const open = names.filter((_, i) => !isStatic(values[i].type));
        throw malformed(`arguments: there is no argument ${stray}; ${open.length ? `those of unknown sizes are ${open.join(', ')}` : 'none has an unknown size'}`);
      }
      return pairs.map((pair) => pair?.value);
    }
    const unknown = values.flatMap(({ type }, i) => (isStatic(type) ? [] : [i]));
    if (!given.length || given.length === values.length) return given;
    if (given.length === unknown.length) return values.map((_, i) => given[unknown.indexOf(i)]);
    throw malformed(`arguments has ${given.length} shapes; the program takes ${values.length}, of which ${unknown.length} ` +
      `are of unknown sizes: ${unknown.map((i) => names[i]).join(', ') || 'none'}`);
  }

  /** The results of a function with these operands; `from` is the operation that calls it. */
  call(name, frame, operands, from) {
    const target = this.function(name);
    const region = target.regions[0];
    if (region.arguments.length !== operands.length) {
      throw malformed(`@${name} takes ${region.arguments.length} operands, not ${operands.length}`);
    }
    operands.forEach((op, i) => checkResult(op, region.arguments[i].type, `operand ${i} of @${name}`));
    if (this.#depth >= MAX_CALLS) throw malformed(`@${name} calls itself, or is called too deeply`);
    this.#depth++;
    try {
      const isOnce = this.#calls.get(name) === 1;
      const isShort = isOnce || region.operations.length <= SMALL;
      const hasRule = rulesOf(coreOf(frame.builder)).has(name);
      const takesPlatform = this.folds && region.arguments.some((_, i) => isPlatform(target, i));
      if (this.isDynamic || takesPlatform || (isShort && !hasRule && !this.#made.has(name))) {
        return this.#inline(frame, target, operands, from);
      }
      return this.#called(name, frame, operands);
    } finally {
      this.#depth--;
    }
  }

  #inline(frame, target, operands, from) {
    const inner = new Frame(frame.builder);
    inner.path = pathIn(frame, from?.location().name);
    inner.known = frame.known;
    inner.terms = frame.terms;
    target.regions[0].arguments.forEach((value, i) => inner.set(value, operands[i]));
    return this.#results(target, inner);
  }

  #called(name, frame, operands) {
    if (!this.#made.has(name)) this.#make(name, operands.map(({ shape }) => shape));
    const computation = this.#made.get(name);
    const result = emitInto(frame.builder, 'call', operands, { to_apply: computation }, undefined, computation.result);
    return computation.resultCount === 1 ? [result] : untupled(frame.builder, result);
  }

  #make(name, shapes) {
    const target = this.function(name), region = target.regions[0], builder = this.builder(name), inner = new Frame(builder);
    region.arguments.forEach((value, i) => inner.set(value, builder.parameter(i, shapes[i], `arg${i}`)));
    const result = tupled(builder, this.#results(target, inner));
    this.#made.set(name, this.keep(builder.build(result)));
    this.#made.get(name).result = result.shape;
    this.#made.get(name).resultCount = this.resultCount(region);
  }

  resultCount(region) {
    return region.operations.at(-1).operands.length;
  }

  keep(module) {
    this.#garbage.push(module);
    return module;
  }

  /* ---- Bodies ---- */

  /** Lowers the body of a function. Its results must be those that the function declares. */
  #results({ attributes, regions: [region] }, frame) {
    const made = this.body(frame, region);
    const { results } = attributes.function_type ?? {};
    if (!results) return made;
    const name = nameOf(attributes.sym_name), end = region.operations.find((operation) => ENDS.has(operation.name));
    try {
      if (made.length !== results.length) throw malformed(`@${name} returns ${made.length} result${made.length === 1 ? '' : 's'}; it declares ${results.length}`);
      made.forEach((op, i) => checkResult(op, results[i], `result ${i} of @${name}`));
    } catch (error) {
      throw located(error, end);
    }
    return made;
  }

  /** Lowers a region and returns the operands of its last operation. */
  body(frame, region) {
    const { operations: list } = region;
    for (const operation of list) {
      if (ENDS.has(operation.name)) return operation.operands.map((value) => this.value(frame, value));
      this.#operation(frame, operation);
    }
    throw malformed('a region ends without a return');
  }

  value(frame, value) {
    const found = frame.values.get(value);
    if (found) return found;
    const known = this.knownOutside(frame, value);
    if (known) {
      const constant = constantOfKnown(frame.builder, ...known);
      frame.set(value, constant);
      frame.known.set(constant, known[1]);
      return constant;
    }
    const remade = this.#remade(frame, value, 0);
    if (remade) return remade;
    throw malformed(`a region uses a value from outside: ${value.owner?.name ?? 'an argument'} of ` +
      typeText(value.type));
  }

  /** [op, elements] of a value of an outer computation whose elements are known. */
  knownOutside(frame, value) {
    for (let outer = frame.outer; outer; outer = outer.outer) {
      const op = outer.values.get(value);
      if (op) return outer.known.has(op) ? [op, outer.known.get(op)] : undefined;
    }
    return undefined;
  }

  /** Repeats an operation on constants in the region that uses its result. */
  #remade(frame, value, depth) {
    const { owner } = value;
    if (!owner || depth > 20 || owner.regions.length || !frame.outer) return undefined;
    if (/token|rng|recv|infeed|custom_call|call$/.test(owner.name)) return undefined;
    for (const operand of owner.operands) {
      if (!frame.values.has(operand) && !this.#remade(frame, operand, depth + 1)) return undefined;
    }
    this.#operation(frame, owner);
    return frame.values.get(value);
  }

  #operation(frame, operation) {
    try {
      const results = this.results(frame, operation);
      if (results.length !== operation.results.length) {
        throw malformed(`gives ${results.length} results; ${operation.results.length} are declared`);
      }
      results.forEach((op, i) => {
        checkResult(op, operation.results[i].type);
        frame.set(operation.results[i], op);
      });
    } catch (error) {
      throw located(error, operation);
    }
  }

  /** @returns {XlaOp[]} */
  results(frame, operation) {
    const row = ROWS[operation.name];
    if (!row) throw unknownOperation(operation.name);
    const { length } = operation.operands;
    const wanted = ARITY[operation.name];
    if (wanted !== undefined && length !== wanted) throw malformed(`takes ${wanted} operands, not ${length}`);
    const operands = operation.operands.map((value) => this.value(frame, value));
    const context = new Context(this, frame, operation, operands);
    const isThroughFloats = !quantized[operation.name] &&
      (operation.operands.some(({ type }) => isQuantized(type)) ||
        operation.results.some(({ type }) => isQuantized(type)));
    const made = isThroughFloats ? throughRealTypes(context, row) : row(context);
    const results = Array.isArray(made) ? made : this.#split(context, made);
    if (this.folds) foldKnown(context, results);
    return results;
  }

  /** Splits a tuple if the operation declares several results. */
  #split({ b, operation }, made) {
    const isOne = operation.results.length === 1;
    if (!made) return [];
    const isTuple = made.shape.isTuple && !(isOne && operation.results[0].type.kind === 'tuple');
    return isTuple ? untupled(b, made) : [made];
  }

  /**
   * A region as a computation: its parameters, then one for each captured value.
   * @param {import('./ir.mjs').Region} region
   * @param {Shape[]} shapes of its arguments
   * @param {string} name
   */
  computation(frame, region, shapes, name) {
    if (region.arguments.length !== shapes.length) {
      throw malformed(`a region takes ${region.arguments.length} arguments, not ${shapes.length}`);
    }
    const builder = this.builder(name);
    const inner = new Frame(builder, frame);
    region.arguments.forEach((value, i) => inner.set(value, builder.parameter(i, shapes[i])));
    const results = this.body(inner, region);
    return this.keep(builder.build(tupled(builder, results)));
  }

  emit(frame, opcode, operands, attributes, shape, operation, expected) {
    return emitInto(frame.builder, opcode, operands, Object.assign(common(frame, operation), attributes), shape, expected);
  }
}

/** The name of an operation as XLA spells it after a call is inlined: below the names of the calls. */
const pathIn = ({ path }, name) => (path && name ? `${path}/${name}` : path || name || '');

/** XLA's sharding: text, or the bytes of an OpSharding. */
function shardingOf(value) {
  if (typeof value !== 'string') return undefined;
  return value.startsWith('{') ? value : shardingTextOfBytes(bytesOfText(value));
}

/** XLA's form of attributes for tools: texts by name. */
function frontendText(value) {
  if (!(value instanceof Dictionary)) return undefined;
  const entries = Object.entries(value.entries).filter(([, text]) => typeof text === 'string');
  return entries.length ? `{${entries.map(([name, text]) => `${name}=${quote(text)}`).join(',')}}` : undefined;
}

/** Shardings, names and attributes for tools are kept as they are. */
function common(frame, operation) {
  if (!operation) return {};
  const { name, ...place } = operation.location();
  return {
    sharding: shardingOf(operation.attributes['mhlo.sharding']),
    metadata: metadataText({ name: pathIn(frame, name), ...place }),
    frontend_attributes: frontendText(operation.attributes['mhlo.frontend_attributes']),
  };
}

/** Whether an argument of a function is the number of the platform. */
const isPlatform = ({ attributes: { arg_attrs: all } }, i) =>
  Array.isArray(all) && all[i]?.entries?.['jax.global_constant'] === PLATFORM;

/** The paths in JAX's names of results: "features.0" of `result['features'][0]`. None, if they are numbers only. */
function resultNamesOf(main) {
  const { res_attrs: all } = main.attributes;
  const infos = (Array.isArray(all) ? all : []).map((attributes) => attributes?.entries?.['jax.result_info']);
  const names = infos.map((info) => (typeof info === 'string' ? pathOf(info.replace(/^result\b/, '')) : ''));
  return names.includes('') || names.every((name) => /^[\d.]+$/.test(name)) ? [] : names;
}

/** The shape of a type as text, with `size` for sizes that are not known: f32[?,3]. */
const openShape = (type, size) => (type.kind === 'tensor' ? `${storageType(type)}[${(type.dimensions ?? [-1]).map((n) => (n < 0 ? size : n))}]` : typeText(type));

function checkedArgument(shape, type, what) {
  const fits = type.kind === 'tensor' && shape.isArray && shape.elementType === storageType(type) &&
    (!type.dimensions || (type.dimensions.length === shape.rank && type.dimensions.every((n, d) =>
      (n >= 0 ? n === shape.dimensions[d] : !(type.bounds?.[d] < shape.dimensions[d])))));
  if (fits || type.kind === 'token') return shape;
  throw malformed(`arguments: ${what} is given as ${shape}; the program takes ${typeText(type)}`);
}

/** Checks the declared type against the inferred shape; undeclared parts match anything. */
function checkResult(op, type, noun = 'the result') {
  const { shape } = op;
  if (type.kind !== 'tensor' || !(op instanceof XlaOp) || (isStatic(type) && shape === shapeOf(type, noun))) return;
  const fits = shape.elementType === storageType(type) &&
    (!type.dimensions || (type.dimensions.length === shape.rank &&
      type.dimensions.every((n, i) => n < 0 || n === shape.dimensions[i])));
  if (!fits) throw malformed(`${noun} is declared ${typeText(type)}, but is ${shape}`);
}

function unknownOperation(name) {
  const near = suggestion(name, Object.keys(ROWS));
  if (near) return new XlaError('INVALID_ARGUMENT', `there is no operation ${name}; did you mean ${near}?`, { operation: name });
  return new XlaError('UNIMPLEMENTED', `there is no way to run ${name}: programs must be StableHLO ` +
    'with CHLO', { operation: name });
}

/** Adds the program's operation and its location to an error of the core. */
function located(error, operation) {
  if (!(error instanceof XlaError)) return error;
  if (error.located) return error;
  const { line, column, name } = operation.location();
  const of = name && !line ? `${operation.name} (${name})` : operation.name;
  const message = error.message.startsWith(`${operation.name}:`) ? error.message : `${of}: ${error.message}`;
  const made = new XlaError(error.code, message, {
    operation: operation.name, line, column, cause: error.cause,
  });
  Object.defineProperty(made, 'located', { value: true });
  return made;
}
