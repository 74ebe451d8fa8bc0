/**
 * Operations whose pretty form is not the common one of text.mjs: a function each, which reads what follows the name.
 * It gets the reader, the operation's name, and what the reader does with values:
 *
 *     operand()                 reads %name: a value that is defined
 *     valueName()               reads %name: one that is to be defined
 *     define(name, value, at)   defines it; `at` is its place, for errors
 *     types(operands)           reads the types after the colon
 *     location(at)              reads loc(...), if it is there
 *
 * and returns { operands, attributes, regions, results }, without what is empty.
 */
import { currentName, Dictionary, Opaque, Value } from './ir.mjs';
import { MOVES } from './sharding.mjs';
import { shardyText } from './syntax.mjs';
import { scalarType, tensor, typeText } from './types.mjs';

function builtinModule({ reader }) {
  const attributes = Object.create(null);
  if (reader.peek('@')) attributes.sym_name = reader.symbol().name;
  if (reader.acceptWord('attributes')) Object.assign(attributes, reader.dictionary());
  return { attributes, regions: [reader.region({ isolated: true })], results: [] };
}

function func({ reader, define, valueName, location }) {
  const attributes = Object.create(null);
  const visibility = ['public', 'private', 'nested'].find((word) => reader.acceptWord(word));
  if (visibility) attributes.sym_visibility = visibility;
  attributes.sym_name = reader.symbol().name;
  const named = [];
  reader.expect('(');
  const inputs = [];
  const argAttributes = [];
  reader.list(')', () => {
    const at = reader.at;
    const name = reader.peek('%') ? valueName() : undefined;
    if (name !== undefined) reader.expect(':');
    inputs.push(reader.type());
    argAttributes.push(reader.peek('{') ? reader.dictionary() : {});
    const value = new Value(inputs.at(-1));
    value.location = location(at);
    named.push({ name, value, at });
  });
  const results = [];
  const resultAttributes = [];
  if (reader.accept('->')) {
    const one = () => {
      results.push(reader.type());
      resultAttributes.push(reader.peek('{') ? reader.dictionary() : {});
    };
    if (reader.accept('(')) reader.list(')', one);
    else results.push(reader.type());
  }
  if (reader.acceptWord('attributes')) Object.assign(attributes, reader.dictionary());
  attributes.function_type = { kind: 'function', inputs, results };
  attributes.arg_attrs = argAttributes.map((entries) => new Dictionary(entries));
  attributes.res_attrs = resultAttributes.map((entries) => new Dictionary(entries));
  const isNamed = named.some(({ name }) => name !== undefined); // or else the block names them
  const args = () => (isNamed ? named : []).map(({ name, value, at }) => {
    define(name, value, at);
    return value;
  });
  const regions = reader.peek('{') ? [reader.region({ args, isolated: true })] : [];
  if (reader.peek('{') && !reader.peek('{-#')) Object.assign(attributes, reader.dictionary()); // VHLO's
  return { attributes, regions, results: [] };
}

/** tensor.cast %a : type to type; unrealized_conversion_cast %a, %b : types to types */
function cast({ reader, operand }) {
  const operands = [];
  while (reader.peek('%')) {
    operands.push(operand());
    reader.accept(',');
  }
  const attributes = reader.peek('{') ? reader.dictionary() : {};
  const types = () => {
    const list = [reader.type()];
    while (reader.accept(',')) list.push(reader.type());
    return list;
  };
  if (reader.accept(':')) types();
  reader.expectWord('to');
  return { operands, attributes, results: types() };
}

/** constant dense<1.0> : tensor<f32>; those of CHLO and arith too, which may be numbers */
function constant({ reader }) {
  const attributes = reader.peek('{') ? reader.dictionary() : Object.create(null);
  if (reader.accept('(')) { // the older form: () {value = ...} : () -> type
    reader.expect(')');
    if (reader.accept('<')) {
      Object.assign(attributes, reader.dictionary());
      reader.expect('>');
    }
    if (reader.peek('{')) Object.assign(attributes, reader.dictionary());
    reader.expect(':');
    return { attributes, results: reader.functionType().results };
  }
  const start = reader.at;
  attributes.value = reader.attribute();
  const { value } = attributes;
  const type = typeof value === 'boolean' ? scalarType('pred') : value?.type;
  if (!type) throw reader.fail('expected the elements of a constant', start);
  // A quantised constant has its own type after that of its elements.
  return { attributes, results: [reader.accept(':') ? reader.type() : type] };
}

function call({ reader, operand }) {
  const callee = reader.symbol();
  reader.expect('(');
  const operands = reader.list(')', operand);
  const attributes = reader.peek('{') ? reader.dictionary() : Object.create(null);
  reader.expect(':');
  return { operands, attributes: { ...attributes, callee }, results: reader.signature(operands) };
}

function customCall({ reader, operand }) {
  const target = reader.symbol().name;
  reader.expect('(');
  const operands = reader.list(')', operand);
  const attributes = reader.peek('{') ? reader.dictionary() : Object.create(null);
  reader.expect(':');
  return { operands, attributes: { ...attributes, call_target_name: target }, results: reader.signature(operands) };
}

function composite({ reader, operand }) {
  const name = reader.string();
  const operands = [];
  while (reader.peek('%')) {
    operands.push(operand());
    reader.accept(',');
  }
  const regions = reader.accept('(') ? reader.list(')', () => reader.region({})) : [];
  const attributes = reader.peek('{') ? reader.dictionary() : Object.create(null);
  reader.expect(':');
  return { operands, regions, attributes: { ...attributes, name }, results: reader.signature(operands) };
}

/** slice %a [0:2, 1:7:3] : ... */
function slice({ reader, operand, types }) {
  const operands = [operand()];
  const [starts, limits, strides] = [[], [], []];
  reader.expect('[');
  reader.list(']', () => {
    starts.push(reader.integer());
    reader.expect(':');
    limits.push(reader.integer());
    strides.push(reader.accept(':') ? reader.integer() : 1);
  });
  const more = reader.peek('{') ? reader.dictionary() : {};
  reader.expect(':');
  const results = types(operands);
  const attributes = { ...more, start_indices: starts, limit_indices: limits, strides };
  return { operands, attributes, results };
}

/** reduce(%a init: %i), (%b init: %j) applies stablehlo.add across dimensions = [0] : type */
function reduce(context) {
  const { reader, operand } = context;
  const [inputs, inits] = [[], []];
  while (reader.accept('(')) {
    inputs.push(operand());
    reader.expectWord('init');
    reader.expect(':');
    inits.push(operand());
    reader.expect(')');
    reader.accept(',');
  }
  const inner = reader.acceptWord('applies') ? currentName(reader.dotted()) : undefined;
  reader.expectWord('across');
  reader.expectWord('dimensions');
  reader.expect('=');
  const dimensions = reader.attribute();
  const more = reader.peek('{') ? reader.dictionary() : {};
  reader.expect(':');
  const operands = [...inputs, ...inits];
  const results = reader.signature(operands);
  const region = inner === undefined ? reducer(context) : simpleReducer(inner, inputs[0], context);
  return {
    operands, attributes: { ...more, dimensions }, regions: [region], results,
  };
}

/** reducer(%a: t, %b: t) (%c: t, %d: t) {...}: pairs, but the region takes all first ones first. */
function reducer({ reader, define, valueName, location }) {
  reader.expectWord('reducer');
  const pairs = [];
  while (reader.accept('(')) {
    pairs.push(reader.list(')', () => {
      const at = reader.at;
      const name = valueName();
      reader.expect(':');
      const value = new Value(reader.type());
      value.location = location(at);
      return { name, value, at };
    }));
  }
  const all = [...pairs.map(([first]) => first), ...pairs.map(([, second]) => second)];
  if (pairs.some((pair) => pair.length !== 2)) throw reader.fail('a reducer takes pairs of values');
  const args = () => all.map(({ name, value, at }) => {
    define(name, value, at);
    return value;
  });
  return reader.region({ args });
}

function simpleReducer(inner, input, { reader, location }) {
  if (!input) throw reader.fail('reduce needs operands');
  const type = tensor(storageOf(input.type, reader), []);
  const args = [new Value(type), new Value(type)];
  const place = location(reader.at);
  const body = { name: inner, operands: args, attributes: {}, regions: [], location: place };
  body.results = [new Value(type, body, 0)];
  const end = {
    name: 'stablehlo.return', operands: body.results, results: [], attributes: {}, regions: [],
    location: place,
  };
  return { arguments: args, operations: [body, end] };
}

function storageOf(type, reader) {
  if (type.kind === 'tensor') return type.elementType;
  throw reader.fail(`reduce takes no ${typeText(type)}`);
}

/** while(%i = %a, ...) : types attributes {...} cond {...} do {...} */
function whileLoop({ reader, define, operand, valueName }) {
  const names = [];
  const operands = [];
  reader.expect('(');
  reader.list(')', () => {
    const at = reader.at;
    names.push({ name: valueName(), at });
    reader.expect('=');
    operands.push(operand());
  });
  const results = [];
  const start = reader.at;
  if (reader.accept(':')) do results.push(reader.type()); while (reader.accept(','));
  reader.checkOperands(results, operands, start);
  const attributes = reader.acceptWord('attributes') ? reader.dictionary() : {};
  const args = () => names.map(({ name, at }, i) => {
    const value = new Value(results[i]);
    define(name, value, at);
    return value;
  });
  reader.expectWord('cond');
  const cond = reader.region({ args });
  reader.expectWord('do');
  const body = reader.region({ args });
  return { operands, attributes, regions: [cond, body], results };
}

/** chlo.top_k(%a, k = 8) : type -> (type, type) */
function topK({ reader, operand }) {
  reader.expect('(');
  const operands = [operand()];
  const attributes = Object.create(null);
  while (reader.accept(',')) {
    const word = reader.identifier();
    reader.expect('=');
    attributes[word] = reader.attribute();
  }
  reader.expect(')');
  if (reader.peek('{')) Object.assign(attributes, reader.dictionary());
  reader.expect(':');
  const start = reader.at;
  reader.checkOperands([reader.type()], operands, start);
  reader.expect('->');
  return { operands, attributes, results: reader.resultTypes() };
}

/** chlo.scan(%a) inits (%b) dimension=0 {...} : (types) -> types */
function scan({ reader, operand }) {
  const list = () => {
    reader.expect('(');
    return reader.list(')', operand);
  };
  const inputs = list();
  reader.expectWord('inits');
  const inits = list();
  const attributes = Object.create(null);
  while (reader.peekWord() && reader.peekWord() !== 'attributes') {
    const word = reader.identifier();
    reader.expect('=');
    attributes[word] = reader.attribute();
    reader.accept(',');
  }
  if (reader.acceptWord('attributes')) Object.assign(attributes, reader.dictionary());
  const region = reader.peek('{') ? reader.region({}) : undefined;
  reader.expect(':');
  const operands = [...inputs, ...inits];
  const results = reader.signature(operands);
  const operandSegmentSizes = [inputs.length, inits.length];
  return {
    operands, regions: region ? [region] : [],
    attributes: { ...attributes, operandSegmentSizes }, results,
  };
}

/** optimization_barrier %a, %b : types; after_all %a, %b : !stablehlo.token */
function listed({ reader, name, operand }) {
  const attributes = reader.peek('{') ? reader.dictionary() : {};
  const operands = [];
  if (reader.accept('(')) reader.expect(')');
  while (reader.peek('%')) {
    operands.push(operand());
    reader.accept(',');
  }
  if (reader.peek('{')) Object.assign(attributes, reader.dictionary());
  const results = [];
  const start = reader.at;
  if (reader.accept(':')) do results.push(reader.type()); while (reader.accept(','));
  if (name !== 'stablehlo.return') return { operands, attributes, results };
  reader.checkOperands(results, operands, start);
  return { operands, attributes, results: [] };
}

/** tuple %a, %b : tuple<...> */
function tuple(context) {
  const parsed = listed(context);
  return { ...parsed, results: parsed.results.slice(-1) };
}

/** sdy.mesh @mesh = <["x"=2]> */
function mesh({ reader }) {
  const sym_name = reader.symbol().name;
  reader.expect('=');
  const mesh = shardy(reader, 'mesh');
  const more = reader.peek('{') ? reader.dictionary() : {};
  return { attributes: { ...more, sym_name, mesh }, results: [] };
}

/** A sharding: <@mesh, [{}]> in an operation on shardings; or with its full name; or an alias. */
function shardy(reader, kind) {
  if (reader.peek('#')) return reader.attribute();
  reader.expect('<');
  return new Opaque(`#sdy.${kind}<${shardyText(reader.balanced('<'))}>`);
}

/**
 * sdy.sharding_constraint %a <@mesh, [{}]> : type, and other operations on one value. The axes that they move
 * may stand before the value, and name=value after it.
 */
function moved({ reader, name, operand, types }) {
  const attributes = Object.create(null);
  while (!reader.peek('%')) {
    const open = ['[', '{'].find((bracket) => reader.accept(bracket));
    if (open) reader.balanced(open);
    else reader.identifier('an operand');
  }
  const operands = [operand()];
  if (reader.peek('<')) attributes.sharding = shardy(reader, 'sharding');
  while (!reader.peek(':') && !reader.peek('{')) {
    const key = reader.identifier();
    reader.expect('=');
    attributes[key] = /[<#]/.test(reader.text[reader.at]) ? shardy(reader, 'sharding') : reader.fieldValue();
  }
  if (reader.peek('{')) Object.assign(attributes, reader.dictionary());
  reader.expect(':');
  const results = types(operands);
  return { operands, attributes, results: name === 'sdy.sharding_group' ? [] : results };
}

/** sdy.manual_computation(%a) in_shardings=[...] out_shardings=[...] manual_axes={...} (%b: t) {} */
function computed({ reader, name: operation, operand, define }) {
  const attributes = Object.create(null);
  if (operation === 'sdy.named_computation') {
    reader.expect('<');
    attributes.name = reader.string();
    reader.expect('>');
  }
  reader.expect('(');
  const operands = reader.list(')', operand);
  while (!reader.peek('(')) {
    const key = reader.identifier();
    reader.expect('=');
    const isAxes = key === 'manual_axes';
    const open = isAxes ? '{' : '[';
    reader.expect(open);
    const text = shardyText(reader.balanced(open));
    attributes[key] = new Opaque(isAxes ? `#sdy<manual_axes{${text}}>` : `#sdy.sharding_per_value<[${text}]>`);
  }
  reader.expect('(');
  const values = [];
  const inner = reader.list(')', () => {
    const at = reader.at;
    const name = reader.sigil('%');
    reader.expect(':');
    const value = new Value(reader.type());
    values.push(value);
    if (reader.peek('{')) reader.dictionary();
    if (reader.peekWord() === 'loc') {
      reader.acceptWord('loc');
      reader.expect('(');
      reader.balanced('(');
    }
    return { name, value, at };
  });
  const args = () => inner.map(({ name, value, at }) => {
    define(name, value, at);
    return value;
  });
  const region = reader.region({ args, isolated: operation === 'sdy.named_computation' });
  if (reader.peek('{')) Object.assign(attributes, reader.dictionary());
  reader.expect(':');
  return { operands, attributes, regions: [region], results: reader.signature(operands) };
}

/** The functions by the operations' names. */
export const OWN_FORMS = {
  'builtin.module': builtinModule,
  'func.func': func,
  'func.call': call,
  'stablehlo.return': listed,
  'stablehlo.constant': constant,
  'chlo.constant': constant,
  'tensor.cast': cast,
  'builtin.unrealized_conversion_cast': cast,
  'stablehlo.custom_call': customCall,
  'stablehlo.composite': composite,
  'stablehlo.slice': slice,
  'stablehlo.reduce': reduce,
  'stablehlo.while': whileLoop,
  'stablehlo.optimization_barrier': listed,
  'stablehlo.after_all': listed,
  'stablehlo.tuple': tuple,
  'chlo.top_k': topK,
  'chlo.scan': scan,
  'mhlo.scan': scan,
  'sdy.mesh': mesh,
  'sdy.sharding_group': moved,
  ...Object.fromEntries(MOVES.map((name) => [`sdy.${name}`, moved])),
  'sdy.manual_computation': computed,
  'sdy.named_computation': computed,
};
