/**
 * Reads HLO protos as text, XLA's .pbtxt files: an HloModuleProto, HloProto or HloSnapshot as `name: value` and
 * `name { ... }`. The result is the module's bytes, as protobuf.mjs writes them.
 * Source: protobuf.dev/reference/protobuf/textformat-spec
 */
import { API_VERSIONS, textOfBytes, unquotedBytes } from '../base/attribute_text.mjs';
import { XlaError } from '../base/error.mjs';
import { DOT_ALGORITHMS, HLO_MODULE, PRIMITIVE_TYPES } from './hlo_schema.mjs';
import { encode } from './protobuf.mjs';

const MAX_LEVELS = 200;

/** Names of fields that differ in hlo_schema.mjs. If it has several, the message decides. */
const NAMES = {
  tuple_literals: 'tuple', padding_low: 'low', padding_high: 'high', window_reversal: 'reversal',
  edge_padding_low: 'low', edge_padding_high: 'high', interior_padding: 'interior',
  dot_dimension_numbers: 'dotDimensions dot', slice_dimensions: 'slice', padding_config: 'padding',
  operand_ids: 'operands', control_predecessor_ids: 'controlPredecessors', called_computation_ids: 'computations',
  precision_config: 'precision', domain_entry_sharding: 'domainExit', domain_exit_sharding: 'domainEntry',
  operand_shapes_with_layout: 'operandShapes', triangular_solve_options: 'triangularSolve',
  cholesky_options: 'cholesky', comparison_direction: 'direction', custom_call_has_side_effect: 'hasSideEffect',
  output_operand_aliasing: 'operandAliases', custom_call_api_version: 'apiVersion',
  collective_device_list: 'deviceList', replica_ids: 'ids', num_replica_groups: 'groups',
  num_devices_per_group: 'size', iota_reshape_dims: 'reshape iotaReshape', iota_transpose_perm: 'transpose iotaTranspose',
  replica_groups: 'replicaGroups groups', iota_replica_group_list: 'iota', operand_precision: 'operands',
  tile_assignment_dimensions: 'tileDimensions', tile_assignment_devices: 'tileDevices', tuple_shardings: 'tuple',
  output_shape_index: 'output', operand_index: 'operand', operand_shape_index: 'operandIndex', map: 'entries',
  parameter_number: 'parameterNumber parameter', parameter_shape_index: 'parameterIndex',
  entry_computation_name: 'entryName', entry_computation_id: 'entryId', host_program_shape: 'programShape',
  input_output_alias: 'aliases', buffer_donor: 'donors',
};

const bare = (name) => name.replace(/_/g, '').toLowerCase();

/** @returns {[string, any] | undefined} the row of a schema for a field's name in the text */
function rowOf(schema, name) {
  const wanted = [name, ...(NAMES[name]?.split(' ') ?? [])].map(bare);
  if (schema[11]?.[0] === 'f16') wanted.push(bare(name.replace(/s$/, ''))); // a literal's elements: f32s
  // dimensions of dots are called dims
  if (/_dimensions$/.test(name)) wanted.push(bare(name.replace(/dimensions$/, 'dims')));
  if (/_dimension_numbers$/.test(name)) wanted.push(bare(name.replace(/dimension_numbers$/, 'dimensions')));
  return Object.values(schema).find(([own]) => wanted.includes(bare(own)));
}

const numbered = (...names) => names.map((name, i) => [name, i]);
const WORDS = new Map([
  ...Object.entries(PRIMITIVE_TYPES).map(([number, name]) => [name.toUpperCase(), Number(number)]),
  ['OPAQUE_TYPE', 14],
  ...numbered('RNG_INVALID', 'RNG_UNIFORM', 'RNG_NORMAL'), ...numbered('RNG_DEFAULT', 'RNG_THREE_FRY', 'RNG_PHILOX'),
  ...numbered('FFT', 'IFFT', 'RFFT', 'IRFFT'), ...numbered('TRANSPOSE_INVALID', 'NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT'),
  ...numbered('DEFAULT', 'HIGH', 'HIGHEST', 'PACKED_NIBBLE'),
  ...numbered('REPLICATED', 'MAXIMAL', undefined, 'OTHER', 'MANUAL', 'UNKNOWN', 'UNREDUCED'),
  ...numbered('UNDEFINED_ALIAS', 'MAY_ALIAS', 'MUST_ALIAS'),
  ...numbered(...API_VERSIONS),
  ...numbered('ALG_UNSET', ...DOT_ALGORITHMS.slice(1).map((name) => `ALG_${name.toUpperCase()}`)),
]);

/** TUPLE is an element type, and a kind of sharding. */
const wordValue = (word, isSharding) => (word === 'TUPLE' && isSharding ? 2 : WORDS.get(word));

const SPACE = /(?:[\s,;]+|#[^\n]*)*/y;
const TOKEN = /"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'|[-+]?[\d.]+[eE][-+]\d+f?|[-+]?[\w.]+|[{}<>[\]:-]/y;
const CLOSE = { '{': '}', '<': '>' };
const ANY = {};

class Reader {
  at = 0;

  constructor(text) {
    this.text = text;
    this.next();
  }

  next() {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.start = TOKEN.lastIndex = SPACE.lastIndex;
    this.token = TOKEN.exec(this.text)?.[0];
    this.at = this.token === undefined ? this.start : TOKEN.lastIndex;
    if (this.token === undefined && this.start < this.text.length) throw this.fail('a character that has no meaning here');
  }

  fail(problem) {
    const before = this.text.slice(0, this.start).split('\n');
    return new XlaError('INVALID_ARGUMENT', `HLO proto as text: ${problem}`,
      { line: before.length, column: before.at(-1).length + 1 });
  }

  take() {
    const { token } = this;
    if (token === undefined) throw this.fail('the text ends too early');
    this.next();
    return token;
  }

  accept(token) {
    if (this.token !== token) return false;
    this.next();
    return true;
  }

  /** Fields up to `close`; undefined: the end of the text. */
  message(schema, close, level) {
    if (level > MAX_LEVELS) throw this.fail(`more than ${MAX_LEVELS} messages in each other`);
    const message = {};
    while (this.token !== close) {
      const name = this.take();
      if (!/^[A-Za-z_]\w*$/.test(name)) throw this.fail(`expected a field's name before ${JSON.stringify(name)}`);
      this.#field(message, schema === ANY ? undefined : rowOf(schema, name), name, level);
    }
    if (close) this.next();
    return message;
  }

  #field(message, row, fieldName, level) {
    const [name, kind] = row ?? [fieldName, { kind: undefined }]; // fields that do not count are read all the same
    const isList = typeof kind === 'object';
    const add = () => {
      const value = this.#value(isList ? kind.kind : kind, fieldName, level);
      if (!row) return;
      if (isList) (message[name] ??= []).push(value);
      else message[name] = value;
    };
    const hasColon = this.accept(':');
    if (!hasColon && !CLOSE[this.token] && this.token !== '[') throw this.fail(`expected ':' after ${fieldName}`);
    if (this.accept('[')) while (!this.accept(']')) add();
    else add();
  }

  #value(kind, name, level) {
    const open = this.token;
    if (CLOSE[open]) {
      if (kind !== undefined && typeof kind !== 'function') throw this.fail(`${name} is no message`);
      this.next();
      return this.message(kind ? kind() : ANY, CLOSE[open], level + 1);
    }
    if (typeof kind === 'function') throw this.fail(`${name} is a message: expected '{'`);
    if (/^["']/.test(open ?? '')) {
      if (kind !== undefined && kind !== 'string' && kind !== 'bytes') throw this.fail(`${name} is no string`);
      return this.#string(kind);
    }
    if (kind === 'string' || kind === 'bytes') throw this.fail(`${name} is a string`);
    const text = this.accept('-') ? `-${this.take()}` : this.take();
    return kind === undefined ? undefined : this.#number(text, kind, name);
  }

  /** Strings beside each other are one. */
  #string(kind) {
    const bytes = [];
    while (/^["']/.test(this.token ?? '')) for (const byte of unquotedBytes(this.take())) bytes.push(byte);
    const all = Uint8Array.from(bytes);
    return kind === 'bytes' ? all : textOfBytes(all);
  }

  #number(text, kind, name) {
    if (kind === 'bool') {
      if (/^(true|t|True|1)$/.test(text)) return true;
      if (/^(false|f|False|0)$/.test(text)) return false;
    } else if (kind === 'int') {
      if (/^-?(\d+|0x[\da-f]+)$/i.test(text)) {
        const value = text[0] === '-' ? -BigInt(text.slice(1)) : BigInt(text);
        return Number.isSafeInteger(Number(value)) ? Number(value) : value;
      }
      const value = wordValue(text, name === 'type' || name === 'last_tile_dims');
      if (value !== undefined) return value;
    } else {
      const [, sign] = /^([-+]?)inf(inity)?f?$/i.exec(text) ?? [];
      const value = sign === undefined ? Number(text.replace(/f$/i, '')) : Number(`${sign}Infinity`);
      if (!Number.isNaN(value) || /^[-+]?nan/i.test(text)) return value;
    }
    throw this.fail(`${text} is no value of ${name}`);
  }
}

/** Typed arrays where the schema has them. */
function typed(message, schema) {
  for (const [name, kind] of Object.values(schema)) {
    const value = message[name];
    if (value === undefined) continue;
    const single = typeof kind === 'object' ? kind.kind : kind;
    if (typeof single === 'function') for (const part of [value].flat()) typed(part, single());
    else if (kind.Array) {
      const isWide = /^Big/.test(kind.Array.name);
      message[name] = kind.Array.from(value, (item) => (isWide ? BigInt(item) : Number(item)));
    }
  }
  return message;
}

const SNAPSHOT = { 1: ['hlo', () => ({ 1: ['hloModule', () => HLO_MODULE] })], 2: ['hloModule', () => HLO_MODULE] };

/** @param {string} text @returns {Uint8Array} a serialized HloModuleProto */
export function protoOfText(text) {
  const isWrapped = /^(?:\s|#[^\n]*)*hlo/.test(text);
  const message = new Reader(text).message(isWrapped ? SNAPSHOT : HLO_MODULE, undefined, 0);
  const module = isWrapped ? message.hlo?.hloModule ?? message.hloModule : message;
  if (!module?.computations) throw new XlaError('INVALID_ARGUMENT', 'HLO proto as text: there is no hlo_module in it');
  return encode(typed(module, HLO_MODULE), HLO_MODULE);
}
