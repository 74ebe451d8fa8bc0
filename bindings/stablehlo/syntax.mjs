/** Reads types and attributes of MLIR text. */
import { XlaError } from '../base/error.mjs';
import { typeByOtherName } from '../values/types.mjs';
import { elementsOfBytes, elementsOfText, inventedElements } from './elements.mjs';
import { Dense, DenseArray, Dictionary, Float, Integer, Opaque, Struct, SymbolName, UNIT } from './ir.mjs';
import { Lexer } from './lexer.mjs';
import { COMPLEX, elementTypeOf, FOREIGN, foreignTensor, REAL, scalarType, storageType, tensor, typeText } from './types.mjs';
import { vhloAttribute, vhloKind, vhloType } from './vhlo_text.mjs';

const DIMENSION = /(\d+|\?)\s*x/y;

/** Dialects whose attributes this reader understands. */
const STRUCTURED = new Set(['stablehlo', 'chlo', 'mhlo', 'vhlo']);

const NAMES = { conv: convolution, bounds: list, type_extensions: list };

export class Syntax extends Lexer {
  attributeAliases = new Map();
  typeAliases = new Map();
  /** Of dense_resource<...>, by key; filled at the end of the text. @type {Map<string, Uint8Array>} */
  resources = new Map();
  /** Constants to be filled in once the resources are known. @type {(() => void)[]} */
  late = [];
  /** The values that elided constants get. @type {'zeros' | 'random' | undefined} */
  elided = undefined;
  /** Whether attributes are kept as written: those of a backend_config, which a callback reads. */
  #isForeign = false;
  /** The spelling of the last element type, if it differs from HLO's: index, si32. */
  #spelled = undefined;

  /* ---- Types ---- */

  type() {
    return this.nested(() => this.#type());
  }

  #type() {
    if (this.peek('!')) return this.#dialectType();
    if (this.peek('(')) return this.functionType();
    const start = this.at;
    const word = this.identifier('a type');
    switch (word) {
      case 'tensor': return this.tensorType();
      case 'tuple':
        this.expect('<');
        return { kind: 'tuple', types: this.list('>', () => this.type()) };
      case 'none': return { kind: 'none' };
      case 'memref': case 'vector':
        this.expect('<');
        return { kind: 'opaque', text: `${word}<${this.balanced('<')}>` };
      default: {
        const elementType = this.#elementTypeNamed(word);
        if (elementType) return scalarType(elementType, this.#spelled);
        if (FOREIGN.has(word)) return { kind: 'opaque', text: word };
        if (/^[su]?i\d+$|^b?f\d/.test(word)) {
          throw new XlaError('UNIMPLEMENTED', this.fail(`there are no arrays of ${word}`, start).message,
            this.placeOf(start));
        }
        throw this.fail(`expected a type, found "${word}"`, start);
      }
    }
  }

  #dialectType() {
    const name = this.sigil('!');
    if (this.typeAliases.has(name)) return this.typeAliases.get(name);
    if (/^(stablehlo|mhlo)\.token$/.test(name)) return { kind: 'token' };
    if (name === 'quant.uniform') return tensor(this.#quantized(), []);
    const vhlo = vhloKind(name);
    const type = vhlo && vhloType(this, vhlo);
    if (type) return type;
    if (/\.(future|async_bundle)$/.test(name) && this.accept('<')) {
      return { kind: 'future', types: this.list('>', () => this.type()) };
    }
    const text = this.accept('<') ? `!${name}<${this.balanced('<')}>` : `!${name}`;
    return { kind: 'opaque', text };
  }

  functionType() {
    const inputs = this.#typesInParentheses();
    this.expect('->');
    return { kind: 'function', inputs, results: this.resultTypes() };
  }

  #typesInParentheses() {
    this.expect('(');
    return this.list(')', () => this.type());
  }

  resultTypes() {
    return this.peek('(') ? this.#typesInParentheses() : [this.type()];
  }

  /** <2x?xf32, encoding> */
  tensorType() {
    this.expect('<');
    if (this.accept('*')) {
      this.expect('x');
      const elementType = this.elementType();
      this.expect('>');
      return { kind: 'tensor', dimensions: null, elementType, bounds: null };
    }
    const dimensions = [];
    for (;;) {
      DIMENSION.lastIndex = this.at;
      const found = DIMENSION.exec(this.text);
      if (!found) break;
      this.at = DIMENSION.lastIndex;
      dimensions.push(found[1] === '?' ? -1 : Number(found[1]));
      if (dimensions.at(-1) > Number.MAX_SAFE_INTEGER) throw this.fail('a size that is too large');
      this.skipSpace();
    }
    const foreign = FOREIGN.has(this.peekWord()) ? this.identifier() : undefined;
    const elementType = foreign ?? this.elementType();
    const spelled = this.#spelled;
    const encoding = this.accept(',') ? this.attribute() : null;
    this.expect('>');
    if (foreign) return foreignTensor(dimensions, foreign);
    const bounds = encoding instanceof Struct ? encoding.list : null;
    const fits = bounds?.length === dimensions.length;
    const type = tensor(elementType, dimensions, fits ? bounds : null);
    return spelled ? { ...type, spelled } : type;
  }

  /** Reads the element type of a tensor. */
  elementType() {
    if (this.peek('!')) {
      const start = this.at;
      const type = this.#dialectType();
      this.#spelled = type.spelled;
      if (type.kind === 'tensor' && !type.dimensions.length) return type.elementType;
      throw this.fail(`${typeText(type)} is no type of elements`, start);
    }
    const start = this.at;
    const word = this.identifier('a type of elements');
    const elementType = this.#elementTypeNamed(word);
    if (elementType) return elementType;
    const meant = typeByOtherName(word)?.replace(/^s(?=\d)/, 'i').replace(/^u(?=\d)/, 'ui').replace('pred', 'i1');
    const { message } = this.fail(`there are no arrays of ${word}${meant ? `; did you mean ${meant}?` : ''}`, start);
    throw new XlaError('UNIMPLEMENTED', message, this.placeOf(start));
  }

  #elementTypeNamed(word) {
    this.#spelled = /^(index|si\d+)$/.test(word) ? word : undefined;
    if (word !== 'complex') return elementTypeOf(word);
    this.expect('<');
    const start = this.at;
    const part = this.elementType();
    this.expect('>');
    if (COMPLEX[part]) return COMPLEX[part];
    throw this.fail(`complex numbers are of f32 or f64, not ${part}`, start);
  }

  /** !quant.uniform<i8<-127:127>:f32:1, {0.1:3, 0.2}> */
  #quantized() {
    this.expect('<');
    const start = this.at;
    const word = this.identifier('a type');
    const storage = elementTypeOf(word.replace(/^u(?=\d)/, 'ui'));
    if (!storage || !/^[su]/.test(storage)) throw this.fail(`${word} is no type of integers`, start);
    const [, bits] = /(\d+)/.exec(storage);
    let [low, high] = storage[0] === 's' ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
    if (this.accept('<')) {
      low = this.integer();
      this.expect(':');
      high = this.integer();
      this.expect('>');
    }
    this.expect(':');
    const expressed = this.elementType();
    const type = { kind: 'quantized', storage, expressed, low, high, dimension: -1 };
    if (this.accept(':')) this.#quantizedAxes(type);
    this.expect(',');
    const pairs = this.#scales();
    this.expect('>');
    const flat = pairs.flat(Infinity);
    return { ...type, scales: flat.map((p) => p.scale), zeroPoints: flat.map((p) => p.zeroPoint) };
  }

  #quantizedAxes(type) {
    if (!this.accept('{')) {
      type.dimension = this.integer();
      return;
    }
    type.blockSizes = this.list('}', () => {
      const dimension = this.integer();
      this.expect(':');
      return [dimension, this.integer()];
    });
  }

  #scales() {
    if (this.accept('{')) return this.nested(() => this.list('}', () => this.#scales()).flat());
    const start = this.at;
    const scale = Number(this.number());
    if (!(scale > 0)) throw this.fail('expected a scale, which is positive', start);
    return [{ scale, zeroPoint: this.accept(':') ? this.integer() : 0 }];
  }

  /* ---- Attributes ---- */

  attribute() {
    return this.nested(() => (this.#isForeign ? this.#foreignAttribute() : this.#attribute()));
  }

  /** Keeps attributes without a form here as text, such as a number of 24 bits or another dialect's attribute. */
  #foreignAttribute() {
    const start = this.at;
    try {
      const value = this.#attribute();
      const text = this.text.slice(start, this.at);
      const hasForm = text[0] === '#' ? !/[<.]/.test(text) : !(value.kind && text.includes('!quant'));
      if (hasForm) return value;
    } catch (error) {
      if (error.code !== 'UNIMPLEMENTED') throw error;
    }
    this.at = start;
    return new Opaque(this.untilComma());
  }

  #attribute() {
    const c = this.text[this.at];
    switch (c) {
      case '"': {
        const start = this.at;
        const text = this.string();
        if (!this.accept(':')) return text;
        this.type();
        return this.#isForeign ? this.#verbatim(start) : text;
      }
      case '[':
        this.at++;
        this.skipSpace();
        return this.list(']', () => this.attribute());
      case '{': return new Dictionary(this.dictionary());
      case '@': return this.symbol();
      case '#': return this.#dialectAttribute();
      case '!': case '(': return this.type();
      default:
    }
    if (c !== undefined && /[-\d]/.test(c)) return this.#number();
    return this.#word();
  }

  symbol() {
    const parts = [this.sigil('@')];
    while (this.peek('::@')) {
      this.at += 2;
      parts.push(this.sigil('@'));
    }
    return new SymbolName(parts.join('::'));
  }

  /** { key = value, unit }; with a comma after the last entry, where MLIR takes one */
  dictionary(takesLastComma = false) {
    this.expect('{');
    const entries = Object.create(null);
    this.list('}', () => {
      if (takesLastComma && this.peek('}')) return;
      const key = this.peek('"') ? this.string() : this.dotted('a name');
      entries[key] = this.accept('=') ? this.#valueOf(key) : UNIT;
    });
    return entries;
  }

  #valueOf(key) {
    const before = this.#isForeign;
    this.#isForeign ||= /^(mhlo\.)?backend_config$/.test(key);
    try {
      return this.attribute();
    } finally {
      this.#isForeign = before;
    }
  }

  #verbatim(start) {
    return new Opaque(this.text.slice(start, this.at).trim());
  }

  /** A number; in clauses no type follows, and a colon means something else. */
  #number(isTyped = true) {
    const start = this.at;
    const text = this.number();
    if (text === undefined) throw this.fail(`expected an attribute, found ${this.found()}`);
    const isFloat = /[.]/.test(text) && !/^-?0x/i.test(text);
    const type = isTyped && this.accept(':') ? this.type() : null;
    if (type?.kind === 'opaque') throw new XlaError('UNIMPLEMENTED', `there are no arrays of ${type.text}`, this.placeOf(start));
    const elementType = type ? type.elementType : isFloat ? 'f64' : 's64';
    if (typeof elementType !== 'string') throw this.fail('a number of no number\'s type', start);
    if (REAL[elementType]) throw this.fail(`${text} is no ${elementType}`, start);
    const data = this.#elements(start, [text], elementType);
    return scalarOf(elementType, data, type);
  }

  #word() {
    const start = this.at;
    const word = this.peekWord();
    switch (word) {
      case 'true': case 'false':
        this.acceptWord(word);
        return word === 'true';
      case 'unit':
        this.acceptWord(word);
        return UNIT;
      case 'dense': return this.#dense();
      case 'dense_resource': return this.#denseResource();
      case 'array': return this.#array();
      case 'loc': {
        this.acceptWord('loc');
        this.expect('(');
        return new Opaque(`loc(${this.balanced('(')})`);
      }
      case 'opaque':
        this.identifier();
        return this.peek('<') ? this.#opaque(start) : this.#verbatim(start);
      case 'affine_map': case 'affine_set': case 'strided': case 'sparse':
      case 'distinct':
        this.identifier();
        if (this.accept('[')) this.balanced('[');
        if (this.accept('<')) this.balanced('<');
        if (this.accept(':')) this.type();
        return this.#verbatim(start);
      case undefined: throw this.fail(`expected an attribute, found ${this.found()}`, start);
      default: return this.type();
    }
  }

  /** array<i64: 1, 2> */
  #array() {
    this.acceptWord('array');
    this.expect('<');
    const start = this.at;
    const elementType = this.elementType();
    const type = scalarType(elementType, this.#spelled);
    const texts = this.accept(':')
      ? this.list('>', () => this.number() ?? this.identifier('a number')) : [];
    if (!texts.length) this.accept('>');
    if (typeof elementType !== 'string') throw this.fail(`there are no arrays of ${typeText(type)}`, start);
    const data = this.#elements(start, texts, elementType);
    return new DenseArray({ ...type, dimensions: [texts.length] }, data, false);
  }

  /* ---- Constants ---- */

  #dense() {
    const start = this.at;
    this.acceptWord('dense');
    this.expect('<');
    const isHex = this.peek('"');
    const literal = isHex ? this.hexString() : this.#denseItems();
    this.expect('>');
    this.expect(':');
    const type = this.#arrayType();
    const data = isHex
      ? this.#denseOfHex(literal, type, start) : this.#denseOfItems(literal, type, start);
    return new Dense(type, data.data, data.splat, data.bytes);
  }

  #arrayType() {
    const start = this.at;
    const type = this.acceptWord('vector') ? { ...this.tensorType(), container: 'vector' } : this.type();
    const known = type.kind === 'tensor' && type.dimensions?.every((n) => n >= 0);
    if (!known) throw this.fail(`${typeText(type)} is no type of a constant`, start);
    return type;
  }

  /** The numbers, and the sizes of the lists around them. */
  #denseItems() {
    const texts = [];
    const sizes = [];
    if (this.peek('>')) return { texts, sizes: [0], isEmpty: true };
    const item = (level) => {
      if (this.accept('[')) {
        const items = this.nested(() => this.list(']', () => item(level + 1)));
        if (sizes[level] !== undefined && sizes[level] !== items.length) {
          throw this.fail(`lists of ${sizes[level]} and of ${items.length} items beside each other`);
        }
        sizes[level] = items.length;
      } else if (this.accept('(')) {
        texts.push(this.#scalar());
        this.expect(',');
        texts.push(this.#scalar());
        this.expect(')');
      } else texts.push(this.#scalar());
    };
    item(0);
    return { texts, sizes };
  }

  #elements(start, texts, elementType) {
    return this.#placed(start, () => elementsOfText(texts, elementType));
  }

  /** Returns the result of `make`; adds the location to an error that it throws. */
  #placed(start, make) {
    try {
      return make();
    } catch (error) {
      throw error instanceof XlaError ? this.fail(error.message, start) : error;
    }
  }

  #scalar() {
    return this.number() ?? this.identifier('a number');
  }

  #denseOfItems({ texts, sizes, isEmpty }, type, start) {
    const elementType = storageType(type);
    const lanes = REAL[elementType] ? 2 : 1;
    const { dimensions } = type;
    const count = dimensions.reduce((n, size) => n * size, 1);
    if (count === 0 && (isEmpty || !texts.length)) {
      return { data: elementsOfText([], elementType), splat: false };
    }
    const isList = sizes.length > 0;
    const fits = isList ? sizes.length === dimensions.length &&
      sizes.every((size, i) => size === dimensions[i]) : texts.length === lanes;
    if (!fits || (isList && texts.length !== count * lanes)) {
      throw this.fail(`the elements do not make a ${typeText(type)}`, start);
    }
    const data = this.#elements(start, texts, elementType);
    return { data, splat: !isList && dimensions.length > 0 };
  }

  #denseOfHex(bytes, type, start) {
    if (!bytes) throw this.fail('expected bytes in hexadecimal, "0x..."', start);
    const count = type.dimensions.reduce((n, size) => n * size, 1);
    const made = this.#placed(start, () => elementsOfBytes(bytes, storageType(type), count));
    if (made) return made;
    throw this.fail(`${bytes.length} bytes are not the elements of ${typeText(type)}`, start);
  }

  /** Its bytes come at the end of the text. */
  #denseResource() {
    const start = this.at;
    this.acceptWord('dense_resource');
    this.expect('<');
    const key = this.peek('"') ? this.string() : this.dotted('the name of a resource');
    this.expect('>');
    this.expect(':');
    const type = this.#arrayType();
    const dense = new Dense(type, null, false);
    this.late.push(() => {
      const bytes = this.resources.get(key);
      if (!bytes && this.elided) {
        Object.assign(dense, this.#madeUp(type));
        return;
      }
      if (!bytes) {
        throw this.fail(`there is no resource "${key}" at the end of the text; print the program ` +
          "with its large constants, or load it with { elided: 'zeros' } or 'random', which makes values up", start);
      }
      const count = type.dimensions.reduce((n, size) => n * size, 1);
      const made = this.#placed(start, () => elementsOfBytes(bytes, storageType(type), count));
      if (!made) throw this.fail(`resource "${key}" is no ${typeText(type)}`, start);
      Object.assign(dense, { own: made.data, splat: made.splat, bytes: made.bytes });
    });
    return dense;
  }

  /** opaque<"elided_large_const", "0xDEADBEEF"> : type, as MLIR of 2021 leaves constants out */
  #opaque(start) {
    this.expect('<');
    const text = this.balanced('<');
    if (!/^"(elided_large_const|_)"/.test(text) || !this.peek(':')) {
      if (this.accept(':')) this.type();
      return this.#verbatim(start);
    }
    this.expect(':');
    const type = this.#arrayType();
    if (!this.elided) {
      throw this.fail("the constant was left out when the program was printed; print it whole, or load it with { elided: 'zeros' } or " +
        "'random', which makes values up", start);
    }
    const { own, splat } = this.#madeUp(type);
    return new Dense(type, own, splat);
  }

  #madeUp(type) {
    const own = inventedElements(storageType(type), type.dimensions.reduce((n, size) => n * size, 1), this.elided);
    return { own, splat: this.elided === 'zeros' };
  }

  /* ---- Attributes of dialects ---- */

  #dialectAttribute() {
    const start = this.at;
    const name = this.sigil('#');
    if (!name.includes('.') && !this.peek('<')) {
      if (!this.attributeAliases.has(name)) throw this.fail(`there is no alias #${name}`, start);
      return this.attributeAliases.get(name);
    }
    const [dialect, ...rest] = name.split('.');
    if (!this.accept('<')) return new Opaque(`#${name}`);
    if (dialect === 'sdy') return shardyAttribute(name, this.balanced('<'));
    if (!STRUCTURED.has(dialect)) return new Opaque(`#${name}<${this.balanced('<')}>`);
    // #stablehlo<precision HIGH> or #stablehlo.precision<HIGH>
    const kind = rest.length ? rest.join('.') : this.identifier('the name of an attribute');
    const vhlo = vhloKind(`${dialect}.${kind}`);
    if (vhlo) return vhloAttribute(this, vhlo);
    if (!rest.length && this.accept('<')) {
      const value = this.struct(kind);
      this.expect('>');
      return value;
    }
    return this.struct(kind);
  }

  /** Reads the fields up to '>', and takes that. */
  struct(kind) {
    if (NAMES[kind]) return new Struct(kind, ...NAMES[kind](this));
    const fields = Object.create(null);
    const values = [];
    this.list('>', () => {
      const start = this.at;
      if (this.peek('>')) return; // after the last comma
      const word = this.peekWord();
      if (word) {
        this.identifier();
        if (this.accept('=')) {
          fields[word] = this.fieldValue();
          return;
        }
        this.at = start;
      }
      values.push(this.fieldValue());
    });
    const isWord = values.length === 1 && typeof values[0] === 'string' && !Object.keys(fields).length;
    return isWord ? values[0] : new Struct(kind, fields, values);
  }

  /** An attribute, a bare word, a list of them, or a structure without its name. */
  fieldValue() {
    if (this.accept('<')) return this.nested(() => this.struct(''));
    if (this.accept('[')) return this.nested(() => this.list(']', () => this.fieldValue()));
    if (this.accept('(')) return this.#subAxis();
    if (/[-\d]/.test(this.text[this.at] ?? '')) return this.#number(false);
    const word = this.peekWord();
    const isWord = word && !/^(true|false|unit|dense|array|tensor|tuple|dense_resource)$/.test(word) &&
      !elementTypeOf(word);
    if (isWord) return this.identifier();
    return this.attribute();
  }

  /** (2)4, after its bracket: the part of a mesh's axis of size 4 that follows a part of size 2 */
  #subAxis() {
    const preSize = this.integer('a size');
    this.expect(')');
    return new Struct('sub_axis_info', { pre_size: preSize, size: this.integer('a size') });
  }

  /** [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] as the fields of its dimension numbers. */
  convolutionDimensions() {
    const side = (labels) => {
      this.expect('[');
      const found = Object.create(null);
      const spatial = [];
      this.list(']', (at) => {
        const label = this.accept('?') ? '?' : this.number() ?? this.identifier('a dimension');
        if (/^\d\d?$/.test(label)) spatial[label] = at;
        else if (label in labels) found[labels[label]] = at;
        else if (label !== '?') throw this.fail(`${label} is none of ${Object.keys(labels)}`);
      });
      return { found, spatial };
    };
    const input = side({ b: 'batch', f: 'feature' });
    this.expect('x');
    const kernel = side({ i: 'input_feature', o: 'output_feature' });
    this.expect('->');
    const output = side({ b: 'batch', f: 'feature' });
    const fields = Object.create(null);
    const put = (name, { found, spatial }) => {
      for (const [label, at] of Object.entries(found)) fields[`${name}_${label}_dimension`] = at;
      fields[`${name}_spatial_dimensions`] = Array.from(spatial, (at) => at ?? -1);
    };
    put('input', input);
    put('kernel', kernel);
    put('output', output);
    return fields;
  }
}

/** A number's value, as attributes have it: predicates are booleans, the rest knows its type. */
export function scalarOf(elementType, data, type) {
  if (elementType === 'pred') return data[0] === 1;
  if (/^[su]\d/.test(elementType)) {
    const value = Number(data[0]);
    return new Integer(Number.isSafeInteger(value) ? value : data[0], type);
  }
  return new Float(data, type);
}

/** An attribute of Shardy's in one spelling: the names of attributes within it are left out, as MLIR prints it. */
export const shardyText = (body) => body.replace(/#sdy\.sharding\s*</g, '<').replace(/#sdy\.mesh\s*</g, 'mesh<');

function shardyAttribute(name, body) {
  const isInner = name === 'sdy' && /^(sharding|sharding_per_value|mesh)\s*</.test(body); // #sdy<mesh<...>>
  return new Opaque(isInner ? `#sdy.${shardyText(body)}` : `#${name}<${shardyText(body)}>`);
}

/** <[b, 0, f]x[0, i, o]->[b, 0, f]> */
function convolution(syntax) {
  if (syntax.acceptWord('raw')) return [syntax.struct('').fields];
  const fields = syntax.convolutionDimensions();
  syntax.expect('>');
  return [fields];
}

/** <?, 5> or <bounds = [?, 5]> */
function list(syntax) {
  const wrapped = syntax.acceptWord('bounds');
  if (wrapped) {
    syntax.expect('=');
    syntax.expect('[');
  }
  const bounds = syntax.list(wrapped ? ']' : '>', () => (syntax.accept('?') ? -1 : syntax.integer()));
  if (wrapped) syntax.expect('>');
  return [{}, bounds];
}
