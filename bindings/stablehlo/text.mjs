/**
 * Reads StableHLO text, in MLIR's generic form and in the pretty one, into the form of ir.mjs.
 * A pretty operation is operands, words and clauses (`dims = [0]`) in any order up to the colon;
 * tables map clauses to attributes. Operations with another form have a function each (own_forms.mjs).
 */
import { XlaError } from '../base/error.mjs';
import { suggestion } from '../base/names.mjs';
import { withoutBlobs } from './blobs.mjs';
import { currentName, flattened, NO_BLOCKS, Value } from './ir.mjs';
import { OWN_FORMS } from './own_forms.mjs';
import { Syntax } from './syntax.mjs';
import { typeText } from './types.mjs';

/** The message about a word without "=": after an unknown name with two lists, it is the x between these. */
function strayWord(word, attributes, bare) {
  const last = Object.keys(attributes).at(-1);
  const pairs = Object.keys(PAIRS);
  if (word !== 'x' || !Array.isArray(attributes[last])) return `"${word}" does not belong to ${bare}`;
  return `${bare} has no ${last}; ${nameAdvice(last, pairs)}`;
}

const nameAdvice = (name, known) => {
  const near = suggestion(name, known);
  return near ? `did you mean ${near}?` : `there are ${known.join(', ')}`;
};

/** The attribute of a clause whose name differs from it. */
const CLAUSES = {
  'broadcast_in_dim': { dims: 'broadcast_dimensions' },
  'dynamic_broadcast_in_dim': { dims: 'broadcast_dimensions' },
  'transpose': { dims: 'permutation' },
  'reverse': { dims: 'dimensions' },
  'broadcast': { sizes: 'broadcast_sizes' },
  'concatenate': { dim: 'dimension' },
  'iota': { dim: 'iota_dimension' },
  'dynamic_iota': { dim: 'iota_dimension' },
  'get_dimension_size': { dim: 'dimension' },
  'set_dimension_size': { dim: 'dimension' },
  'dynamic_slice': { sizes: 'slice_sizes' },
  'pad': {
    low: 'edge_padding_low', high: 'edge_padding_high', interior: 'interior_padding',
  },
  'fft': { type: 'fft_type', length: 'fft_length' },
  'rng': { distribution: 'rng_distribution' },
  'rng_bit_generator': { algorithm: 'rng_algorithm' },
  'dot_general': { precision: 'precision_config' },
  'dot': { precision: 'precision_config' },
  'einsum': { config: 'einsum_config' },
  'unary_einsum': { config: 'einsum_config' },
  'convolution': { dim_numbers: 'dimension_numbers' },
};

/** The attributes that bare words give, in order. */
const WORDS = { compare: ['comparison_direction', 'compare_type'] };

/** x in `batching_dims = [0] x [0]` */
const PAIRS = {
  batching_dims: ['lhs_batching_dimensions', 'rhs_batching_dimensions'],
  contracting_dims: ['lhs_contracting_dimensions', 'rhs_contracting_dimensions'],
};

const WINDOW = {
  stride: 'window_strides', pad: 'padding', lhs_dilate: 'lhs_dilation', rhs_dilate: 'rhs_dilation',
  reverse: 'window_reversal',
};

/** Dialects whose operations are read in the generic form only. */
const DIALECTS = /^(stablehlo|chlo|mhlo|vhlo|func|builtin|sdy)\.|^(arith\.constant|tensor\.cast)$/;

const DEFAULT_DIALECT = { unrealized_conversion_cast: 'builtin.unrealized_conversion_cast', return: 'func.return', call: 'func.call', func: 'func.func' };

/**
 * @param {string | Uint8Array} source or its UTF-8 bytes
 * @param {'zeros' | 'random'} [elided] values for constants that are left out
 * @returns {import('./ir.mjs').Module}
 */
export function readText(source, elided = undefined) {
  const { text, blobs } = withoutBlobs(source);
  const reader = new Reader(text, blobs);
  reader.elided = elided;
  return reader.module();
}

class Reader extends Syntax {
  #scopes = [];
  #locations = new Map(); // #loc1 -> its text

  module() {
    const operations = [];
    while (!this.atEnd) {
      if (this.peek('#')) this.#alias('#');
      else if (this.peek('!')) this.#alias('!');
      else if (this.accept('{-#')) this.#resources();
      else operations.push(...this.#inScope(() => [this.operation()]));
    }
    for (const fill of this.late) fill();
    const [only] = operations;
    const isModule = operations.length === 1 && only.name === 'builtin.module';
    return {
      name: (isModule && only.attributes.sym_name) || 'module',
      attributes: isModule ? only.attributes : {},
      operations: isModule ? only.regions[0].operations : operations,
    };
  }

  #alias(sign) {
    const name = this.sigil(sign);
    this.expect('=');
    if (sign === '!') {
      this.typeAliases.set(name, this.type());
    } else if (this.peek('loc')) {
      this.acceptWord('loc');
      this.expect('(');
      this.#locations.set(name, this.balanced('('));
    } else this.attributeAliases.set(name, this.attribute());
  }

  /** {-# dialect_resources: { builtin: { key: "0x..." } } #-} */
  #resources() {
    const entries = (level) => {
      this.list('}', () => {
        const key = this.peek('"') ? this.string() : this.dotted('the name of a resource');
        this.expect(':');
        if (this.accept('{')) return this.nested(() => entries(level + 1));
        const start = this.at;
        if (!this.peek('"')) return this.identifier();
        const bytes = this.hexString();
        // The first four bytes state the alignment of the rest.
        if (level === 2 && bytes) this.resources.set(key, bytes.subarray(4));
        else if (level === 2) throw this.fail('expected bytes in hexadecimal', start);
        return undefined;
      });
    };
    this.list('#-}', () => {
      this.dotted('a section');
      this.expect(':');
      this.expect('{');
      entries(1);
    });
  }

  /* ---- Values ---- */

  #inScope(body, isolated = true) {
    const before = this.#scopes;
    this.#scopes = isolated ? [new Map()] : [...before, new Map()];
    try {
      return body();
    } finally {
      this.#scopes = before;
    }
  }

  #define(name, value, at) {
    const scope = this.#scopes.at(-1);
    if (scope.has(name)) throw this.fail(`%${name} is defined twice`, at);
    scope.set(name, value);
  }

  #operand() {
    const start = this.at;
    const name = this.#valueName();
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const value = this.#scopes[i].get(name);
      if (value) return value;
    }
    throw this.fail(`%${name} is not defined`, start);
  }

  /** "0", "arg0", "0#1" */
  #valueName() {
    const name = this.sigil('%');
    return this.accept('#') ? `${name}#${this.integer()}` : name;
  }

  /* ---- Locations ---- */

  /** loc(...), if it is there. */
  #location(at) {
    let text;
    if (this.acceptWord('loc')) {
      this.expect('(');
      text = this.balanced('(');
    }
    return () => ({ ...this.placeOf(at), ...this.#named(text, 0) });
  }

  /** The name and the file of a location's text, following aliases. */
  #named(text, depth) {
    if (!text || depth > 20) return {};
    const alias = /^#(\w+)$/.exec(text);
    if (alias) return this.#named(this.#locations.get(alias[1]), depth + 1);
    const file = /^"((?:[^"\\]|\\.)*)":(\d+)/.exec(text);
    if (file) return { file: file[1], fileLine: Number(file[2]) };
    const named = /^"((?:[^"\\]|\\.)*)"(?:\(([^]*)\))?$/.exec(text);
    if (!named) return {};
    return { ...this.#named(named[2]?.trim(), depth + 1), name: named[1] };
  }

  /* ---- Operations ---- */

  operation() {
    return this.nested(() => this.#operation());
  }

  #operation() {
    const start = this.at;
    const names = [];
    if (this.peek('%')) {
      do {
        const at = this.at;
        const name = this.sigil('%');
        const count = this.accept(':') ? this.integer() : undefined;
        if (count > 1e5) throw this.fail(`${count} results`, at);
        for (let i = 0; i < (count ?? 1); i++) names.push({ name, i: count === undefined ? -1 : i, at });
      } while (this.accept(','));
      this.expect('=');
    }
    const generic = this.peek('"');
    const written = generic ? this.string() : this.#customName();
    const name = currentName(written);
    if (name.startsWith('cf.')) this.#noBlocks();
    const parsed = generic ? this.#generic(name) : this.#ownForm(name, start);
    const operation = {
      name, operands: parsed.operands ?? [], results: [], regions: parsed.regions ?? [],
      attributes: flattened(parsed.attributes ?? {}),
      location: parsed.location ?? this.#location(start),
    };
    const { results } = parsed;
    if (names.length && names.length !== results.length) {
      throw this.fail(`${name} has ${results.length} results, not ${names.length}`, start);
    }
    operation.results = results.map((type, i) => new Value(type, operation, i));
    names.forEach((result, i) => {
      const value = operation.results[i];
      if (result.i <= 0) this.#define(result.name, value, result.at);
      if (result.i >= 0) this.#define(`${result.name}#${result.i}`, value, result.at);
    });
    return operation;
  }

  #customName() {
    const start = this.at;
    const word = this.dotted();
    if (word.includes('.')) return word;
    if (word === 'module') return 'builtin.module';
    if (Object.hasOwn(DEFAULT_DIALECT, word)) return DEFAULT_DIALECT[word];
    throw this.fail(word === 'HloModule'
      ? 'this is HLO text, not StableHLO: use parseHlo' : `there is no operation "${word}"`, start);
  }

  /** (%a, %b) <{properties}> ({regions}) {attributes} : (types) -> types */
  #generic(name) {
    this.expect('(');
    const operands = this.list(')', () => this.#operand());
    if (this.accept('[')) this.#noBlocks();
    let attributes = Object.create(null);
    if (this.accept('<')) {
      attributes = this.dictionary();
      this.expect('>');
    }
    const isolated = name === 'func.func' || name === 'builtin.module';
    const regions = this.accept('(')
      ? this.list(')', () => this.region({ isolated })) : [];
    if (this.peek('{')) Object.assign(attributes, this.dictionary());
    this.expect(':');
    return { operands, attributes, regions, results: this.signature(operands) };
  }

  /** (types of the operands) -> types of the results, which are returned. */
  signature(operands) {
    const start = this.at;
    const { inputs, results } = this.functionType();
    this.checkOperands(inputs, operands, start);
    return results;
  }

  #noBlocks() {
    const { message, line, column } = this.fail(NO_BLOCKS);
    throw new XlaError('UNIMPLEMENTED', message, { line, column });
  }

  /** { ^bb0(%a: type): operations }; `args` where another place names the arguments. */
  region({ args, isolated = false }) {
    return this.#inScope(() => {
      this.expect('{');
      const values = args?.() ?? [];
      if (this.peek('^')) {
        this.sigil('^');
        if (this.accept('(')) values.push(...this.list(')', () => this.#blockArgument()));
        this.expect(':');
      }
      const operations = [];
      while (!this.accept('}')) {
        if (this.atEnd) throw this.fail("nothing closes '{'");
        if (this.peek('^')) this.#noBlocks();
        operations.push(this.operation());
      }
      return { arguments: values, operations };
    }, isolated);
  }

  #blockArgument() {
    const at = this.at;
    const name = this.#valueName();
    this.expect(':');
    const value = new Value(this.type());
    this.#define(name, value, at);
    value.location = this.#location(at);
    return value;
  }

  /** The types after the colon: of everything, or (operands) -> results. */
  #types(operands) {
    const start = this.at;
    if (this.peek('(')) {
      const inputs = this.#parenthesised();
      if (!this.accept('->')) return inputs;
      this.checkOperands(inputs, operands, start);
      return this.resultTypes();
    }
    const types = [this.type()];
    while (this.accept(',')) types.push(this.type());
    return this.accept('->') ? this.resultTypes() : types;
  }

  #parenthesised() {
    this.expect('(');
    return this.list(')', () => this.type());
  }

  /** Checks the types that an operation names for its operands against those with which they were defined. */
  checkOperands(types, operands, at) {
    if (types.length !== operands.length) throw this.fail(`${types.length} types for ${operands.length} operands`, at);
    const i = types.findIndex((type, k) => typeText(type) !== typeText(operands[k].type));
    if (i >= 0) throw this.fail(`operand ${i} is said to be ${typeText(types[i])}; it is ${typeText(operands[i].type)}`, at);
  }

  /** Reads an operation's own form. Operations of other dialects, which may have any syntax, are UNIMPLEMENTED. */
  #ownForm(name, start) {
    try {
      return this.#custom(name);
    } catch (error) {
      if (DIALECTS.test(name) || !(error instanceof XlaError)) throw error;
      throw new XlaError('UNIMPLEMENTED', `${name} is no operation of StableHLO or CHLO: lower the program ` +
        'to these where it comes from', { ...this.placeOf(start), operation: name });
    }
  }

  #custom(name) {
    const special = OWN_FORMS[name];
    if (special) return this.#special(special, name);
    const bare = name.slice(name.indexOf('.') + 1);
    const operands = [];
    const regions = [];
    let attributes = Object.create(null);
    const words = [...(WORDS[bare] ?? [])];
    while (!this.peek(':') && !this.atEnd) {
      if (this.peek('%')) operands.push(this.#operand());
      else if (this.accept(',') || this.accept('(') || this.accept(')')) continue;
      else if (this.peek('{')) attributes = { ...attributes, ...this.dictionary() };
      else if (this.peek('@')) attributes.callee = this.symbol();
      else if (this.accept('[')) {
        attributes.index = this.integer();
        this.expect(']');
      } else if (this.peekWord()) this.#clause(bare, attributes, words);
      else throw this.fail(`expected operands, attributes or ':', found ${this.found()}`);
    }
    let results = [];
    const typesAt = this.at;
    if (this.accept(':')) results = this.#types(operands);
    if (bare === 'return') this.checkOperands(results, operands, typesAt);
    return { operands, attributes, regions, results: resultsOf(bare, results, operands) };
  }

  #clause(bare, attributes, words) {
    const start = this.at;
    const word = this.identifier();
    if (!this.accept('=')) {
      const name = words.shift();
      if (!name) throw this.fail(strayWord(word, attributes, bare), start);
      attributes[name] = word;
    } else if (PAIRS[word]) {
      const [lhs, rhs] = PAIRS[word];
      attributes[lhs] = this.attribute();
      this.expectWord('x');
      attributes[rhs] = this.attribute();
    } else if (word === 'window') {
      for (const [key, value] of Object.entries(this.dictionary(true))) {
        attributes[WINDOW[key] ?? key] = value;
      }
    } else if (word === 'dim_numbers') {
      Object.assign(attributes, this.convolutionDimensions());
    } else if (word === 'format') {
      const [, exponent, mantissa] = /^e(\d+)m(\d+)$/.exec(this.identifier()) ?? [];
      if (!exponent) throw this.fail('expected a format such as e5m10', start);
      Object.assign(attributes, { exponent_bits: Number(exponent), mantissa_bits: Number(mantissa) });
    } else if (word === 'algorithm' && this.peek('<')) {
      this.expect('<');
      const { fields } = this.struct('dot_algorithm');
      Object.assign(attributes, fields);
    } else attributes[CLAUSES[bare]?.[word] ?? word] = this.peek('"') ? this.string() : this.fieldValue();
  }

  /** Calls one of the functions of own_forms.mjs with the private methods that it needs. */
  #special(read, name) {
    return read({
      reader: this,
      name,
      operand: () => this.#operand(),
      define: (valueName, value, at) => this.#define(valueName, value, at),
      valueName: () => this.#valueName(),
      types: (operands) => this.#types(operands),
      location: (at) => this.#location(at),
    });
  }
}

/** The result types that the short forms of types leave out. */
function resultsOf(bare, types, operands) {
  switch (bare) {
    case 'select': case 'broadcast_select': return types.slice(-1);
    case 'return': case 'func.return': return [];
    case 'complex': return types;
    case 'after_all': case 'optimization_barrier': case 'create_token': return types;
    default: return types.length > 1 && operands.length === types.length ? types.slice(-1) : types;
  }
}
