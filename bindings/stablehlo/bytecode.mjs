/**
 * Reads StableHLO as MLIR bytecode into the form of ir.mjs: a portable artifact in VHLO of any version, or the dialects
 * that a current MLIR writes.
 * Source: mlir.llvm.org/docs/BytecodeFormat
 */
import { textOfBytes } from '../base/attribute_text.mjs';
import { XlaError } from '../base/error.mjs';
import { isBytecode } from '../formats/program_text.mjs';
import { ATTRIBUTES, TYPES } from './encodings.mjs';
import { NO_BLOCKS, currentName, Dictionary, flattened, malformed, MAX_LEVELS, Opaque, Value } from './ir.mjs';
import { PROPERTIES } from './properties.mjs';
import { Syntax } from './syntax.mjs';

const MAGIC_LENGTH = 4;
const NEWEST = 6;

const SECTION = {
  STRING: 0, DIALECT: 1, ATTRIBUTE: 2, OFFSET: 3, IR: 4, RESOURCE: 5, RESOURCE_OFFSET: 6,
  VERSION: 7, PROPERTIES: 8,
};

/** The format's version that introduced each part. */
const SINCE = {
  dialectVersions: 1, lazyRegions: 2, useListOrder: 3, knownCounts: 4, properties: 5,
};

const MASK = { ATTRIBUTES: 1, RESULTS: 2, OPERANDS: 4, SUCCESSORS: 8, REGIONS: 16, ORDER: 32, PROPERTIES: 64 };

/** A reading position in bytes. */
class Cursor {
  constructor(bytes, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get atEnd() {
    return this.at >= this.end;
  }

  fail(problem) {
    return malformed(`MLIR bytecode: ${problem} at byte ${this.at}`);
  }

  byte() {
    if (this.at >= this.end) throw this.fail('the end comes too early');
    return this.bytes[this.at++];
  }

  /** Returns a cursor over the next bytes, and moves past them. */
  take(length) {
    if (!(length <= this.end - this.at)) throw this.fail(`${length} bytes that are not there`);
    const part = new Cursor(this.bytes, this.at, this.at + length);
    this.at += length;
    return part;
  }

  subarray(length) {
    const { at, end } = this.take(length);
    return this.bytes.subarray(at, end);
  }

  /** As many zeros at the low end of the first byte as bytes follow. */
  #varint() {
    const first = this.byte();
    if (first & 1) return first >> 1;
    if (first === 0) return this.#little(8);
    const more = 31 - Math.clz32(first & -first);
    const rest = this.#little(more);
    const low = first >> (more + 1);
    return typeof rest === 'bigint'
      ? (rest << BigInt(7 - more)) | BigInt(low) : rest * 2 ** (7 - more) + low;
  }

  #little(count) {
    if (count <= 5) {
      let value = 0;
      for (let i = 0; i < count; i++) value += this.byte() * 2 ** (8 * i);
      return value;
    }
    let value = 0n;
    for (let i = 0; i < count; i++) value |= BigInt(this.byte()) << BigInt(8 * i);
    return value;
  }

  varint() {
    const first = this.bytes[this.at];
    if (first & 1 && this.at < this.end) { // as nearly all numbers
      this.at++;
      return first >> 1;
    }
    const value = Number(this.#varint());
    if (Number.isSafeInteger(value)) return value;
    throw this.fail(`a number that is too large`);
  }

  /** @returns {number | bigint} */
  signed() {
    const value = BigInt(this.#varint());
    const signed = (value >> 1n) ^ -(value & 1n);
    const small = Number(signed);
    return Number.isSafeInteger(small) ? small : signed;
  }

  /** The number of items that follow; each takes a byte or more. */
  count() {
    const count = this.varint();
    if (count > this.end - this.at) throw this.fail(`${count} things where ${this.end - this.at} bytes are left`);
    return count;
  }

  list(item) {
    const count = this.count(), items = [];
    for (let i = 0; i < count; i++) items.push(item());
    return items;
  }

  signedList() {
    return this.list(() => this.signed());
  }

  /** [number, flag] */
  flagged() {
    const value = this.varint();
    return [Math.floor(value / 2), value % 2 === 1];
  }

  text() {
    const end = this.bytes.indexOf(0, this.at);
    if (end < 0 || end >= this.end) throw this.fail('a string without an end');
    const text = new TextDecoder().decode(this.bytes.subarray(this.at, end));
    this.at = end + 1;
    return text;
  }

  align(alignment) {
    if (alignment < 1 || alignment > 2 ** 30 || (alignment & (alignment - 1))) {
      throw this.fail(`an alignment of ${alignment}`);
    }
    while (this.at % alignment) this.byte();
  }

  /** @returns {{ id: number, data: Cursor }} */
  section() {
    const coded = this.byte();
    const length = this.varint();
    if (coded & 128) this.align(this.varint());
    return { id: coded & 127, data: this.take(length) };
  }
}

/** The input of an entry's decoder: its bytes, and the tables that they refer to. */
class Entry extends Cursor {
  constructor(reader, { bytes, at, end }) {
    super(bytes, at, end);
    this.reader = reader;
  }

  attribute() {
    return this.reader.attribute(this.varint(), this);
  }

  optionalAttribute() {
    const [index, isThere] = this.flagged();
    return isThere ? this.reader.attribute(index, this) : undefined;
  }

  type() {
    return this.reader.type(this.varint(), this);
  }

  string() {
    return this.reader.string(this.varint(), this);
  }

  blob() {
    return this.subarray(this.varint());
  }

  resource() {
    const index = this.varint();
    const found = this.reader.resources[index];
    if (found) return found;
    throw this.fail(`resource ${index}, which is not there`);
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {import('./ir.mjs').Module}
 */
export function readBytecode(bytes) {
  // Not a Buffer of Node's: its slice() does not copy.
  return new Reader(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)).module();
}

class Reader {
  #sections = [];
  #strings = [];
  #dialects = [];
  #names = [];
  #tables = { attribute: [], type: [] };
  #depth = 0;
  #properties = [];
  resources = [];

  constructor(bytes) {
    this.file = new Cursor(bytes);
    if (!isBytecode(bytes)) throw this.file.fail('expected the bytes "ML\\xefR"');
    this.file.at = MAGIC_LENGTH;
    this.version = this.file.varint();
    if (this.version > NEWEST) {
      throw new XlaError('UNIMPLEMENTED', `MLIR bytecode of version ${this.version}; versions up to ` +
        `${NEWEST} are known: write it for an older target`);
    }
    this.producer = this.file.text();
    while (!this.file.atEnd) {
      const { id, data } = this.file.section();
      if (this.#sections[id]) throw this.file.fail(`two sections ${id}`);
      this.#sections[id] = data;
    }
  }

  #section(id) {
    const found = this.#sections[id];
    if (found) return found;
    throw this.file.fail(`no section ${id}`);
  }

  module() {
    this.#readStrings(this.#section(SECTION.STRING));
    if (this.#sections[SECTION.PROPERTIES]) this.#readProperties(this.#sections[SECTION.PROPERTIES]);
    this.#readDialects(this.#section(SECTION.DIALECT));
    if (this.#sections[SECTION.RESOURCE_OFFSET]) {
      this.#readResources(this.#sections[SECTION.RESOURCE_OFFSET], this.#section(SECTION.RESOURCE));
    }
    this.#readOffsets(this.#section(SECTION.OFFSET), this.#section(SECTION.ATTRIBUTE));
    const operations = this.#readTop(this.#section(SECTION.IR));
    const [only] = operations;
    const isModule = operations.length === 1 && only.name === 'builtin.module';
    return {
      name: (isModule && only.attributes.sym_name) || 'module',
      attributes: isModule ? only.attributes : {},
      operations: isModule ? (only.regions[0]?.operations ?? []) : operations,
    };
  }

  /* ---- Tables ---- */

  /** Lengths from the last to the first, then the strings, each with a NUL after it. */
  #readStrings(cursor) {
    const count = cursor.count();
    let { end } = cursor;
    for (let i = count - 1; i >= 0; i--) {
      const size = cursor.varint();
      if (size < 1 || size > end - cursor.at) throw cursor.fail('a string that is too long');
      this.#strings[i] = [end - size, end - 1];
      end -= size;
    }
  }

  string(index, cursor) {
    const found = this.#strings[index];
    if (!found) throw cursor.fail(`string ${index}, which is not there`);
    if (typeof found === 'string') return found;
    const text = textOfBytes(this.file.bytes.subarray(...found));
    this.#strings[index] = text;
    return text;
  }

  #readProperties(cursor) {
    if (cursor.atEnd) return;
    const count = cursor.count();
    for (let i = 0; i < count; i++) this.#properties.push(cursor.take(cursor.varint()));
  }

  #readDialects(cursor) {
    const count = cursor.count();
    for (let i = 0; i < count; i++) {
      if (this.version < SINCE.dialectVersions) {
        this.#dialects.push(this.string(cursor.varint(), cursor));
        continue;
      }
      const [index, hasVersion] = cursor.flagged();
      this.#dialects.push(this.string(index, cursor));
      if (hasVersion) cursor.section();
    }
    if (this.version >= SINCE.knownCounts) cursor.varint();
    while (!cursor.atEnd) {
      const dialect = this.#dialect(cursor);
      cursor.list(() => {
        const [index, isRegistered] = this.version < SINCE.properties
          ? [cursor.varint(), true] : cursor.flagged();
        const name = `${dialect}.${this.string(index, cursor)}`;
        this.#names.push({ name, current: currentName(name), isRegistered, attributes: new Map() });
      });
    }
  }

  #dialect(cursor) {
    const name = this.#dialects[cursor.varint()];
    if (name === undefined) throw cursor.fail('a dialect that is not there');
    return name;
  }

  #readResources(offsets, data) {
    const group = (isKept) => {
      offsets.list(() => {
        this.string(offsets.varint(), offsets);
        const entry = data.take(offsets.varint());
        const kind = offsets.byte();
        if (isKept) this.resources.push(kind === 0 && !entry.atEnd ? blobOf(entry) : null);
      });
    };
    const externals = offsets.varint();
    for (let i = 0; i < externals; i++) {
      this.string(offsets.varint(), offsets);
      group(false);
    }
    while (!offsets.atEnd) {
      this.#dialect(offsets);
      group(true);
    }
  }

  #readOffsets(offsets, data) {
    const counts = { attribute: offsets.varint(), type: offsets.varint() };
    for (const kind of ['attribute', 'type']) {
      const table = this.#tables[kind];
      while (table.length < counts[kind]) {
        const dialect = this.#dialect(offsets);
        const many = offsets.list(() => {
          const [length, isCustom] = offsets.flagged();
          table.push({ dialect, isCustom, data: data.take(length), state: 'unread' });
        });
        if (!many.length) throw offsets.fail('an empty group');
      }
    }
  }

  attribute(index, cursor) {
    return this.#resolved('attribute', index, cursor);
  }

  type(index, cursor) {
    return this.#resolved('type', index, cursor);
  }

  #resolved(kind, index, cursor) {
    const entry = this.#tables[kind][index];
    if (entry?.state === 'read') return entry.value;
    if (!entry) throw cursor.fail(`${kind} ${index}, which is not there`);
    if (entry.state === 'reading') throw cursor.fail(`${kind} ${index} is a part of itself`);
    if (this.#depth >= MAX_LEVELS) throw cursor.fail(`more than ${MAX_LEVELS} levels`);
    entry.state = 'reading';
    this.#depth++;
    try {
      entry.value = this.#decoded(kind, entry);
      entry.state = 'read';
      return entry.value;
    } finally {
      this.#depth--;
      if (entry.state === 'reading') entry.state = 'unread';
    }
  }

  #decoded(kind, { dialect, isCustom, data }) {
    const own = new Entry(this, data);
    if (!isCustom) return written(kind, dialect, own);
    const code = own.varint();
    const decode = (kind === 'type' ? TYPES : ATTRIBUTES)[dialect]?.[code];
    if (decode) return decode(own);
    const text = `${kind} ${code} of the dialect ${dialect}`;
    return kind === 'type' ? { kind: 'opaque', text } : new Opaque(text);
  }

  /* ---- Operations ---- */

  #readTop(cursor) {
    const entry = new Entry(this, cursor);
    const scope = { values: [] };
    return this.#block(entry, scope, { next: 0, end: 0 }).operations;
  }

  /** @param {{ next: number, end: number }} own which of the scope's values the region defines */
  #block(cursor, scope, own) {
    const [count, hasArguments] = cursor.flagged();
    const values = hasArguments ? this.#blockArguments(cursor) : [];
    this.#define(cursor, scope, own, values);
    if (hasArguments && this.version >= SINCE.useListOrder && cursor.byte()) {
      skipOrder(cursor, values.length);
    }
    const operations = [];
    for (let i = 0; i < count; i++) operations.push(this.#operation(cursor, scope, own));
    return { arguments: values, operations };
  }

  #blockArguments(cursor) {
    return cursor.list(() => {
      const elides = this.version >= SINCE.knownCounts;
      const [index, hasLocation] = elides ? cursor.flagged() : [cursor.varint(), true];
      const value = new Value(this.type(index, cursor));
      if (hasLocation) value.location = this.#location(cursor);
      return value;
    });
  }

  #define(cursor, scope, own, values) {
    if (own.end === 0) return; // the outermost block: no operation refers to its values
    for (const value of values) {
      if (own.next >= own.end) throw cursor.fail('more values than the region has');
      scope.values[own.next++] = value;
    }
  }

  #location(cursor) {
    const index = cursor.varint();
    return () => {
      try {
        const { name, file, fileLine } = this.attribute(index, cursor);
        return { name, file, fileLine };
      } catch {
        return {};
      }
    };
  }

  #operation(cursor, scope, own) {
    const known = this.#names[cursor.varint()];
    if (!known) throw cursor.fail('an operation whose name is not there');
    const mask = cursor.byte();
    const operation = {
      name: known.current, operands: [], results: [], attributes: {}, regions: [],
      location: this.#location(cursor),
    };
    operation.attributes = this.#attributes(cursor, mask, known);
    if (mask & MASK.RESULTS) {
      operation.results = cursor.list(() => this.type(cursor.varint(), cursor))
        .map((type, i) => new Value(type, operation, i));
    }
    if (mask & MASK.OPERANDS) {
      operation.operands = cursor.list(() => {
        const value = scope.values[cursor.varint()];
        if (value) return value;
        throw cursor.fail(`${operation.name} uses a value before it is there`);
      });
    }
    if (mask & MASK.SUCCESSORS) throw noBlocks();
    if (mask & MASK.ORDER) skipOrder(cursor, operation.results.length);
    const [count, isIsolated] = mask & MASK.REGIONS ? cursor.flagged() : [0, false];
    this.#define(cursor, scope, own, operation.results);
    if (count) operation.regions = this.#regions(cursor, scope, count, isIsolated);
    return operation;
  }

  /** The attributes of an operation. Operations of one name often have equal ones, which are read once. */
  #attributes(cursor, mask, known) {
    const dictionary = mask & MASK.ATTRIBUTES ? cursor.varint() : -1;
    const properties = mask & MASK.PROPERTIES ? cursor.varint() : -1;
    const key = `${dictionary} ${properties}`, before = known.attributes.get(key);
    if (before) return before;
    const all = Object.create(null);
    if (dictionary >= 0) Object.assign(all, this.attribute(dictionary, cursor)?.entries);
    if (properties >= 0) {
      if (known.isRegistered) Object.assign(all, this.#propertiesOf(known.name, properties, cursor));
      else {
        const value = this.attribute(properties, cursor);
        if (value instanceof Dictionary) Object.assign(all, value.entries);
      }
    }
    const made = flattened(all);
    known.attributes.set(key, made);
    return made;
  }

  /** Attributes without their names, in the order of these. */
  #propertiesOf(name, index, cursor) {
    const data = this.#properties[index];
    if (!data) throw cursor.fail(`properties of ${name} that are not there`);
    const own = new Entry(this, data);
    const names = PROPERTIES.get(name) ?? [];
    // Older versions of the dialects lack the marked attributes.
    const isOlder = countOf(data) < names.length;
    const all = {};
    for (const attribute of names) {
      if (own.atEnd) break;
      if (isOlder && attribute.endsWith('+')) continue;
      const isOptional = attribute.endsWith('?') || attribute.endsWith('+');
      const value = isOptional ? own.optionalAttribute() : own.attribute();
      if (value !== undefined) all[attribute.replace(/[?+]$/, '')] = value;
    }
    return all;
  }

  #regions(cursor, scope, count, isIsolated) {
    if (this.#depth >= MAX_LEVELS) throw cursor.fail(`more than ${MAX_LEVELS} levels`);
    this.#depth++;
    let from = cursor;
    if (isIsolated && this.version >= SINCE.lazyRegions) {
      const { id, data } = cursor.section();
      if (id !== SECTION.IR) throw cursor.fail('a region that is no section of operations');
      from = new Entry(this, data);
    }
    if (count > this.file.bytes.length) throw cursor.fail(`${count} regions`);
    const inner = isIsolated ? { values: [] } : scope;
    const regions = Array.from({ length: count }, () => this.#region(from, inner));
    this.#depth--;
    return regions;
  }

  #region(cursor, scope) {
    const blocks = cursor.varint();
    if (blocks === 0) return { arguments: [], operations: [] };
    const count = cursor.varint();
    if (count > this.file.bytes.length) throw cursor.fail(`a region of ${count} values`);
    if (blocks > 1) throw noBlocks();
    const start = scope.values.length;
    const own = { next: start, end: start + count };
    scope.values.length = own.end;
    const region = this.#block(cursor, scope, own);
    scope.values.length = start;
    return region;
  }
}

/** How many numbers there are. */
function countOf(data) {
  const cursor = new Cursor(data.bytes, data.at, data.end);
  let count = 0;
  for (; !cursor.atEnd; count++) cursor.varint();
  return count;
}

const noBlocks = () =>
  new XlaError('UNIMPLEMENTED', NO_BLOCKS);

/** Skips the order of values' uses, which has no meaning here. */
function skipOrder(cursor, valueCount) {
  const several = valueCount > 1;
  const count = several ? cursor.count() : 1;
  for (let i = 0; i < count; i++) {
    if (several) cursor.varint();
    const [uses] = cursor.flagged();
    for (let k = 0; k < uses; k++) cursor.varint();
  }
}

function blobOf(entry) {
  const alignment = entry.varint();
  const size = entry.varint();
  entry.align(alignment);
  return entry.subarray(size);
}

/** An entry in the spelling of MLIR text. */
function written(kind, dialect, entry) {
  const text = entry.text();
  try {
    const syntax = new Syntax(text);
    return kind === 'type' ? syntax.type() : syntax.attribute();
  } catch (error) {
    if (!(error instanceof XlaError)) throw error;
    return kind === 'type' ? { kind: 'opaque', text } : new Opaque(text);
  }
}
