/** Tests StableHLO: the corpus' JAX programs in every form, the reading of details, and errors. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';

import { Client, XlaError } from '../../bindings/index.mjs';
import { checkCase, readGolden } from '../support/golden.mjs';
import { sample } from '../support/sample.mjs';

const folder = new URL('../golden/', import.meta.url);

/** The programs in stablehlo.gz and dialects.gz, whose format is in golden/stablehlo.py and golden/dialects.py. */
async function readPrograms(file) {
  const bytes = gunzipSync(await readFile(new URL(file, folder)));
  const programs = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const [family, name, form, size] = bytes.toString('utf8', at, end).split(' ');
    at = end + 1 + Number(size);
    programs.push({ family, name, form, bytes: bytes.subarray(end + 1, at) });
  }
  return programs;
}

const stablehlo = await readPrograms('stablehlo.gz'), dialects = await readPrograms('dialects.gz');
const programs = [...stablehlo, ...dialects];
const families = new Map();
for (const { family } of programs) {
  if (families.has(family)) continue;
  const cases = await readGolden(new URL(`${family}.golden`, folder));
  families.set(family, new Map(cases.map((golden) => [golden.name, golden])));
}

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

describe('the corpus of JAX programs', () => {
  const checked = [...sample(stablehlo, 5), ...dialects];
  const forms = Map.groupBy?.(checked, ({ form }) => form) ?? new Map([['all', checked]]);
  for (const [form, list] of forms) {
    test(`${form}: ${list.length} programs`, { timeout: 120_000 }, async () => {
      for (const { family, name, form: own, bytes } of list) {
        const golden = families.get(family).get(name);
        try {
          await checkCase(client, golden, await client.load(bytes));
        } catch (error) {
          throw new Error(`${family} ${name} ${own}: ${error.message}`, { cause: error });
        }
      }
    });
  }
});

async function run(text, args, options) {
  const module = await client.load(text, options);
  const executable = await client.compile(module);
  const results = await executable.execute(args);
  executable.dispose();
  module.dispose();
  return results.map((result) => result.toArray());
}

describe('text', () => {
  /* MLIR's stablehlo-legalize-to-vhlo made the one from the other. */
  test('VHLO becomes what StableHLO becomes', async () => {
    const [text, vhlo] = await Promise.all(['stablehlo', 'vhlo'].map((form) =>
      readFile(new URL(`vhlo/everything.${form}`, folder), 'utf8')));
    assert.equal(String(await client.load(vhlo)), String(await client.load(text)));
    const [func] = vhlo.match(/vhlo\.func_v1 @twice[^]*?\n {2}\}[^\n]*/);
    assert.match(String(await client.load(func.replace('@twice', '@main'))), /all-reduce\(/);
    for (let end = 0; end < vhlo.length; end += 97) {
      await assert.rejects(client.load(vhlo.slice(0, end)), XlaError);
    }
  });

  test('other formats are named, with advice', async () => {
    const program = (body, type = 'tensor<2xf32>') =>
      `func.func @main(%x: ${type}, %p: tensor<i1>) -> ${type} {\n  ${body}\n  return %x : ${type}\n}`;
    for (const [text, message] of [
      [program('cf.br ^bb1(%x : tensor<2xf32>)\n^bb1(%y: tensor<2xf32>):'), /\(cf\) are not StableHLO: loops are stablehlo.while/],
      [program('%c = tensor.extract %p[] : tensor<i1>'), /tensor.extract is no operation of StableHLO or CHLO/],
      [program('%y = arith.addf %x, %x : tensor<2xf32>'), /arith.addf/],
      [program('', 'tensor<2xf6E2M3FN>'), /XLA has no f6E2M3FN: convert the program to f8E4M3FN/],
      [program('%y = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xf6E3M2FN>'), /no f6E3M2FN: convert/],
    ]) await assert.rejects(client.load(text), (error) => error instanceof XlaError && message.test(error.message));
  });

  test('regions use values from outside', async () => {
    const text = `func.func @main(%n: tensor<i32>, %step: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<f32>
      %r:2 = stablehlo.while(%i = %zero, %x = %start) : tensor<i32>, tensor<f32>
        cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1> }
        do { %one = stablehlo.constant dense<1> : tensor<i32>
          %j = stablehlo.add %i, %one : tensor<i32>
          %p = stablehlo.compare GT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %y = "stablehlo.if"(%p) ({
            %d = stablehlo.add %step, %step : tensor<f32>
            stablehlo.return %d : tensor<f32>
          }, { stablehlo.return %step : tensor<f32> }) : (tensor<i1>) -> tensor<f32>
          %z = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %j, %z : tensor<i32>, tensor<f32> }
      return %r#1, %r#0 : tensor<f32>, tensor<i32>
    }`;
    assert.deepEqual(await run(text, [5, 1.5]), [12, 5]);
  });

  test('types, constants and aliases', async () => {
    const text = `#where = loc("x.py":3:1)
    !vector = tensor<2xf32>
    module @types {
      func.func @main() -> (!vector, tensor<2xbf16>, tensor<3xui8>, tensor<2xcomplex<f32>>, tensor<3xi1>, tensor<2xi4>, tensor<f8E4M3FN>, tensor<2x2xi64>) {
        %0 = stablehlo.constant dense<[0x7F800000, -1.5]> : !vector loc(#where)
        %1 = stablehlo.constant dense<"0x803F0040"> : tensor<2xbf16>
        %2 = stablehlo.constant dense<[255, 0xFF, 1]> : tensor<3xui8>
        %3 = stablehlo.constant dense<[(1.0, -2.0), (0.5, 0x7FC00000)]> : tensor<2xcomplex<f32>>
        %4 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
        %5 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
        %6 = stablehlo.constant dense<1.5> : tensor<f8E4M3FN>
        %7 = stablehlo.constant dense_resource<seven> : tensor<2x2xi64>
        return %0, %1, %2, %3, %4, %5, %6, %7 : !vector, tensor<2xbf16>, tensor<3xui8>, tensor<2xcomplex<f32>>, tensor<3xi1>, tensor<2xi4>, tensor<f8E4M3FN>, tensor<2x2xi64>
      }
    }
    {-#
      dialect_resources: { builtin: { seven: "0x080000000700000000000000FFFFFFFFFFFFFFFF02000000000000000300000000000000" } }
    #-}`;
    assert.deepEqual(await run(text, []), [
      [Infinity, -1.5], [1, 2], [255, 255, 1], [[1, -2], [0.5, NaN]], [true, false, true], [-8, 7], 1.5,
      [[7n, -1n], [2n, 3n]],
    ]);
  });

  test('calls, composites and several results', async () => {
    const text = `module {
      func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
        %a:2 = call @both(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
        %b:2 = func.call @both(%a#1) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
        %c = stablehlo.composite "my.double" %b#0 {decomposition = @double} : (tensor<2xf32>) -> tensor<2xf32>
        return %b#1, %c : tensor<2xf32>, tensor<2xf32>
      }
      func.func private @both(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
        %0 = stablehlo.negate %x : tensor<2xf32>
        %1 = stablehlo.abs %0 : tensor<2xf32>
        %2 = stablehlo.add %1, %x : tensor<2xf32>
        %3 = stablehlo.multiply %2, %2 : tensor<2xf32>
        %4 = stablehlo.subtract %3, %x : tensor<2xf32>
        return %0, %4 : tensor<2xf32>, tensor<2xf32>
      }
      func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.add %x, %x : tensor<2xf32>
        return %0 : tensor<2xf32>
      }
    }`;
    assert.deepEqual(await run(text, [[1, -2]]), [[33, 14], [-6, -4]]);
  });

  test('composites of functions that HLO has', async () => {
    const text = (type) => `module {
      func.func @main(%x: tensor<2x${type}>) -> tensor<2x${type}> {
        %0 = stablehlo.composite "chlo.asin" %x {decomposition = @formula, version = 1 : i32} : (tensor<2x${type}>) -> tensor<2x${type}>
        return %0 : tensor<2x${type}>
      }
      func.func private @formula(%x: tensor<2x${type}>) -> tensor<2x${type}> {
        %0 = stablehlo.negate %x : tensor<2x${type}>
        return %0 : tensor<2x${type}>
      }
    }`;
    const opcodes = async (type) => String(await client.parseStableHlo(text(type))).match(/ (asin|negate)\(/g);
    assert.deepEqual(await opcodes('f64'), [' asin(']);
    assert.deepEqual(await opcodes('bf16'), [' asin(']);
    assert.deepEqual(await opcodes('complex<f32>'), [' negate('], 'the formula is faster');
    assert.deepEqual(await opcodes('i32'), [' negate(']);
  });

  test('quantised types', async () => {
    const q = '!quant.uniform<i8:f32, 0.5:-1>';
    const text = `func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi8>) {
      %a = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x${q}>
      %b = stablehlo.uniform_quantize %y : (tensor<3xf32>) -> tensor<3x${q}>
      %c = stablehlo.add %a, %b : tensor<3x${q}>
      %d = stablehlo.uniform_dequantize %c : (tensor<3x${q}>) -> tensor<3xf32>
      %e = stablehlo.bitcast_convert %c : (tensor<3x${q}>) -> tensor<3xi8>
      return %d, %e : tensor<3xf32>, tensor<3xi8>
    }`;
    assert.deepEqual(await run(text, [[1, 2.2, 100], [0.5, -4, 100]]), [[1.5, -2, 64], [2, -5, 127]]);
  });
});

describe('other dialects', () => {
  test('MHLO means what StableHLO means', async () => {
    let count = 0;
    for (const { name, bytes } of sample(programs.filter(({ form }) => form === 'text' || form === 'generic'), 3)) {
      const text = bytes.toString();
      if (text.length > 20000 || /vhlo|stablehlo\.(composite|custom_call @(mhlo|stablehlo))/.test(text)) continue;
      const [own, old] = [await client.load(text), await client.load(text.replaceAll('stablehlo', 'mhlo'))];
      assert.equal(String(old), String(own), name);
      own.dispose();
      old.dispose();
      count++;
    }
    assert.ok(count > 100, `${count} programs`);
  });
  const main = (body, result) => `func.func @main(%x: tensor<2xf32>) -> ${result} {\n ${body}\n }`;
  for (const [name, text, expected] of [
    ['constants of arith', main(`%a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %b = "arith.constant"() <{value = dense<3.0> : tensor<2xf32>}> : () -> tensor<2xf32>
      %c = mhlo.add %x, %a : tensor<2xf32>
      %d = mhlo.multiply %c, %b : tensor<2xf32>
      return %d : tensor<2xf32>`, 'tensor<2xf32>'), [[33, 66]]],
    ['numbers of arith that nothing reads', main(`%c = arith.constant 5 : i32
      %t = arith.constant true
      %f = arith.constant 1.5 : f32
      %i = arith.constant 2 : index
      return %x : tensor<2xf32>`, 'tensor<2xf32>'), [[10, 20]]],
    ['casts', main(`%0 = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
      %1 = "tensor.cast"(%0) : (tensor<?xf32>) -> tensor<2xf32>
      %2:2 = builtin.unrealized_conversion_cast %1, %x : tensor<2xf32>, tensor<2xf32> to tensor<2xf32>, tensor<2xf32>
      %3 = "builtin.unrealized_conversion_cast"(%2#0) : (tensor<2xf32>) -> tensor<2xf32>
      %4 = mhlo.subtract %3, %2#1 {mhlo.x = unit} : tensor<2xf32>
      return %4 : tensor<2xf32>`, 'tensor<2xf32>'), [[0, 0]]],
    ['MHLO as it prints', main(`%0 = mhlo.constant dense<0xFF800000> : tensor<f32>
      %1 = mhlo.reduce(%x init: %0) applies mhlo.maximum across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
      %2 = mhlo.compare GT, %1, %0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = mhlo.acosh %1 : tensor<f32>
      %4 = mhlo.cosh %3 : tensor<f32>
      %5 = mhlo.round_nearest_even %4 : tensor<f32>
      %6 = mhlo.select %2, %5, %0 : tensor<i1>, tensor<f32>
      return %6 : tensor<f32>`, 'tensor<f32>'), [20]],
    ['MHLO of its own, and old spellings', `func.func private @twice(%a: tensor<2 x f32>) -> tensor<2 x f32> {
        %0 = mhlo.add %a, %a : tensor<2 x f32>
        return %0 : tensor<2 x f32> }
      func.func @main(tensor<2xf32>) -> tensor<1x2xf32> {
      ^bb0(%x: tensor<2xf32>):
        %0 = "mhlo.async_start"(%x) {called_computation = @twice, execution_thread = "main"} : (tensor<2xf32>) -> !mhlo.async_bundle<tensor<2xf32>, tensor<2xf32>>
        %1 = "mhlo.async_update"(%0) {called_computation = @twice, execution_thread = "main"} : (!mhlo.async_bundle<tensor<2xf32>, tensor<2xf32>>) -> !mhlo.async_bundle<tensor<2xf32>, tensor<2xf32>>
        %2 = "mhlo.async_done"(%1) {called_computation = @twice, execution_thread = "main"} : (!mhlo.async_bundle<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
        %3 = "mhlo.fusion"(%2) ({
        ^bb0(%b: tensor<2xf32>):
          %c = mhlo.negate %b : tensor<2xf32>
          mhlo.return %c : tensor<2xf32>
        }) {fusion_kind = #mhlo<fusion_kind kLoop>} : (tensor<2xf32>) -> tensor<2xf32>
        %4 = "mhlo.create_token"() : () -> !mhlo.token
        %5 = "mhlo.add_dependency"(%3, %4) : (tensor<2xf32>, !mhlo.token) -> tensor<2xf32>
        %6 = "mhlo.bitcast"(%5) : (tensor<2xf32>) -> tensor<1x2xf32>
        return %6 : tensor<1x2xf32> }`, [[[-20, -40]]]],
    ['convolutions whose dimensions are numbered', main(`%0 = mhlo.reshape %x : (tensor<2xf32>) -> tensor<1x2x1xf32>
      %k = mhlo.constant dense<3.0> : tensor<1x1x1xf32>
      %1 = "mhlo.convolution"(%0, %k) {batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #mhlo.conv<raw
        input_batch_dimension = 0, input_feature_dimension = 2, input_spatial_dimensions = [1], kernel_input_feature_dimension = 1,
        kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0], output_batch_dimension = 0,
        output_feature_dimension = 2, output_spatial_dimensions = [1],>} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>) -> tensor<1x2x1xf32>
      return %1 : tensor<1x2x1xf32>`, 'tensor<1x2x1xf32>'), [[[[30], [60]]]]],
  ]) test(name, async () => assert.deepEqual(await run(text, [[10, 20]]), expected));
  test('casts to another type are refused', () => assert.rejects(
    client.load(main('%0 = tensor.cast %x : tensor<2xf32> to tensor<3xf32>\n return %0 : tensor<3xf32>', 'tensor<3xf32>')),
    { code: 'INVALID_ARGUMENT', message: /tensor.cast.*declared tensor<3xf32>, but is f32\[2\]/ }));
});

describe('what HLO says otherwise', () => {
  const factored = (result = '', module = '') => `module @m ${module} {
    func.func public @main(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>${result}, tensor<2xf32>) {
      %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%x) {mhlo.backend_config = {},
        operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
        result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]}
        : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
      return %0#0, %0#1 : tensor<3x2xf32>, tensor<2xf32>
    }
  }`;
  const LISTS = 'mhlo.xla_entry_computation_result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]';
  for (const [name, text, layout] of [
    ["results are row-major, even LAPACK's", factored(), ''],
    ['results are as the module says: row-major', factored(' {mhlo.layout_mode = "default"}'), ''],
    ['results are as the result says', factored(' {mhlo.layout_mode = "{0,1}"}'), '{0,1}'],
    ['results are as the module says', factored('', `attributes {${LISTS}}`), '{0,1}'],
  ]) {
    test(name, async () => {
      const executable = await client.compile(await client.load(text));
      const [q] = await executable.execute([[[1, 2], [3, 4], [5, 7]]]);
      assert.equal(String(q.shape), `f32[3,2]${layout}`);
      const [a, b] = q.toArray().map((row) => row[0]);
      assert.ok(Math.abs(a + Math.sqrt(35)) < 1e-5, `${a}`);
      assert.ok(Math.abs(b - 3 / (1 + Math.sqrt(35))) < 1e-5, `${b}`);
      assert.deepEqual([q.data[0], q.data[layout ? 1 : 2]], [a, b]);
    });
  }
  test('arguments are laid out as the module says', async () => {
    const module = await client.load(`func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }`);
    const [y] = await (await client.compile(module)).execute([Float32Array.of(1, 2, 3, 4, 5, 6)]);
    assert.deepEqual([...y.data], [1, 3, 5, 2, 4, 6]);
    await assert.rejects(client.load('func.func @main(%x: tensor<2xf32> {mhlo.layout_mode = "odd"}) -> tensor<2xf32> { return %x : tensor<2xf32> }'),
      { code: 'INVALID_ARGUMENT', message: /mhlo.layout_mode of parameter 0/ });
  });
  test('reductions in a wider type', async () => {
    const text = `func.func @main(%x: tensor<4xi8>, %z: tensor<i8>) -> tensor<i32> {
      %0 = "stablehlo.reduce"(%x, %z) ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>): %1 = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %1 : tensor<i32>
      }) {dimensions = array<i64: 0>} : (tensor<4xi8>, tensor<i8>) -> tensor<i32>
      return %0 : tensor<i32> }`;
    assert.deepEqual(await run(text, [[100, 100, 100, 27], 1]), [328]);
  });

  test('numbers as their bits, and back', async () => {
    const rows = [['f64', 64, [-3, 5], 0xc008000000000000n], ['ui8', 8, [200, 5], 200n], ['i4', 4, [-3, 5], 13n]];
    for (const [type, bits, x, word] of rows) {
      const text = `func.func @main(%x: tensor<2x${type}>) -> (tensor<2x${type}>, tensor<2x${bits}xi1>) {
        %0 = stablehlo.bitcast_convert %x : (tensor<2x${type}>) -> tensor<2x${bits}xi1>
        %1 = stablehlo.bitcast_convert %0 : (tensor<2x${bits}xi1>) -> tensor<2x${type}>
        return %1, %0 : tensor<2x${type}>, tensor<2x${bits}xi1> }`;
      const [same, all] = await run(text, [x]);
      assert.deepEqual(same, x);
      assert.equal(BigInt(`0b${all[0].map(Number).reverse().join('')}`), word);
    }
  });

  test('maximum, minimum and cube root of complex numbers', async () => {
    const type = 'tensor<3xcomplex<f32>>';
    const text = `func.func @main(%x: ${type}, %y: ${type}) -> (${type}, ${type}, ${type}) {
      %0 = stablehlo.maximum %x, %y : ${type}
      %1 = stablehlo.minimum %x, %y : ${type}
      %2 = stablehlo.cbrt %x : ${type}
      return %0, %1, %2 : ${type}, ${type}, ${type} }`;
    const [x, y] = [[[1, 2], [1, 5], [-8, 0]], [[1, 3], [2, -9], [-9, 7]]];
    const [most, least, [root]] = await run(text, [x, y]);
    assert.deepEqual([most, least], [[y[0], y[1], x[2]], [x[0], x[1], y[2]]]);
    const third = Math.atan2(2, 1) / 3;
    const size = 5 ** (1 / 6);
    assert.ok(Math.hypot(root[0] - size * Math.cos(third), root[1] - size * Math.sin(third)) < 1e-6, root);
  });

  test('hyperbolic functions of complex numbers', async () => {
    const text = `func.func @main(%x: tensor<complex<f64>>) -> (tensor<complex<f64>>, tensor<complex<f64>>) {
      %0 = chlo.cosh %x : tensor<complex<f64>> -> tensor<complex<f64>>
      %1 = chlo.sinh %x : tensor<complex<f64>> -> tensor<complex<f64>>
      return %0, %1 : tensor<complex<f64>>, tensor<complex<f64>> }`;
    const [a, b] = [0.75, -1.25];
    const want = [
      [Math.cosh(a) * Math.cos(b), Math.sinh(a) * Math.sin(b)],
      [Math.sinh(a) * Math.cos(b), Math.cosh(a) * Math.sin(b)],
    ];
    const got = await run(text, [[a, b]]);
    got.flat().forEach((value, i) => assert.ok(Math.abs(value - want.flat()[i]) < 1e-14, `${got}, not ${want}`));
  });

  /* By mpmath with 60 digits; at poles and infinities by SciPy 1.17.1. */
  describe('zeta and polygamma below zero', () => {
    const X = [-16.5, -9.5, -8.5, -2.25, -0.5, -0.125, -100.25, 0.25, 3.75];
    const POLYGAMMA = {
      1: [9.810797812993576, 9.769687445030232, 9.75860711262026, 19.37941051186914, 8.934802200544679,
        66.00574095792491, 19.729283325349364, 17.19732915450711, 0.3053398526902531],
      2: [-0.0034572203720343105, -0.00997514424771517, -0.012307845807709338, 123.89694977406016, -0.82879664423432,
        1020.541052766333, 124.0250082069177, -129.32773993753693, -0.09254633851589927],
      3: [194.81777568693104, 194.81619198176773, 194.81545533916983, 1558.4550231887144, 193.40909103400244,
        24586.858905496254, 1558.5454545884686, 1538.7821440091884, 0.05570526074539451],
      4: [-7.163194669369115e-05, -0.0005950601190094067, -0.0009052254233853626, 24481.479910902563,
        -3.4742498266672253, 786384.0070758504, 24481.574782764288, -24584.375388637935, -0.04995784901655511],
    };
    const FACTORIAL = [1, 1, 2, 6, 24];
    const EDGES = [-0, -1, -2, -1e6, -Infinity, -1e20, Infinity];
    const of = (name, type, { length }) =>
      `func.func @main(%n: tensor<${length}x${type}>, %x: tensor<${length}x${type}>) -> tensor<${length}x${type}> {
      %0 = chlo.${name} %n, %x : tensor<${length}x${type}>, tensor<${length}x${type}> -> tensor<${length}x${type}>
      return %0 : tensor<${length}x${type}> }`;
    const near = (got, want, error, sizes = want) => got.forEach((value, i) => assert.ok(
      Math.abs(value - want[i]) <= error * Math.abs(sizes[i]), `at ${X[i]}: ${value}, not ${want[i]}`));
    /** The largest term of polygamma(n, x), to which reverse mode, whose sums are in another order, is exact. */
    const largestTerm = (n) => X.map((x) => FACTORIAL[n] / Math.abs(x - Math.min(0, Math.round(x))) ** (n + 1));

    for (const [type, error] of [['f64', 1e-14], ['f32', 2e-6]]) {
      for (const n of [1, 2, 3]) {
        test(`polygamma(${n}, x) of ${type} and its slope`, async () => {
          const orders = X.map(() => n), ones = X.map(() => 1);
          const module = await client.load(of('polygamma', type, X));
          const forward = await client.compile(client.jvp(module, { wrt: 1 }));
          const [value, slope] = (await forward.execute([orders, X, ones])).map((result) => result.toArray());
          const backward = await client.compile(client.vjp(module, { wrt: 1 }));
          const [cotangent] = (await backward.execute([orders, X, ones])).map((result) => result.toArray());
          near(value, POLYGAMMA[n], error);
          near(slope, POLYGAMMA[n + 1], 3 * error);
          near(cotangent, POLYGAMMA[n + 1], 3 * error, largestTerm(n + 1));
        });
      }

      test(`poles and infinities of ${type}`, async () => {
        const values = (name, n) => run(of(name, type, EDGES), [EDGES.map(() => n), EDGES]);
        const poles = (pole) => [...Array(6).fill(pole), 0];
        assert.deepEqual(await values('polygamma', 1), [poles(Infinity)]);
        assert.deepEqual(await values('zeta', 2), [poles(Infinity)]);
        assert.deepEqual(await values('zeta', 3), [poles(Infinity)]);
        const [even] = await values('polygamma', 2);
        assert.deepEqual(even.map((x) => x + 0), poles(-Infinity));
      });
    }
  });

  test('types that HLO lacks, where nothing is computed with them', async () => {
    const text = `module attributes {a = tf32} {
      func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
      func.func private @other(%x: tensor<2xf6E2M3FN>) -> tensor<2xf6E2M3FN> { return %x : tensor<2xf6E2M3FN> } }`;
    assert.deepEqual(await run(text, [2]), [2]);
    await assert.rejects(client.load(text.replace('@main', '@m').replace('private @other', '@main')),
      /values of type tensor<2xf6E2M3FN>/);
  });

  test('groups along parts of the axes of a mesh', async () => {
    const groups = (axes) => `sdy.mesh @mesh = <["x"=4, "y"=2]>
      func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.all_reduce"(%x) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>): %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [${axes}]>
      } : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32> }`;
    const rows = [
      ['#stablehlo.axis_ref<name = "y">', '{{0,1},{2,3},{4,5},{6,7}}'],
      ['#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>', '{{0,4},{1,5},{2,6},{3,7}}'],
      ['#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>, #stablehlo.axis_ref<name = "y">', '{{0,1,2,3},{4,5,6,7}}'],
    ];
    for (const [axes, expected] of rows) {
      const module = await client.load(`module attributes {mhlo.num_partitions = 8 : i32} { ${groups(axes)} }`);
      assert.ok(String(module).includes(`replica_groups=${expected}`), `${axes}: ${module}`);
    }
    await assert.rejects(client.load(groups('#stablehlo.axis_ref<name = "x", sub_axis_info = (3)2>')), /not known/);
    const x = '#stablehlo.axis_ref<name = "x">';
    for (const [from, to, expected] of [
      ['@mesh, axes', '#stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 4>]>, axes', '{{0,4},{1,5},{2,6},{3,7}}'],
      ['@mesh, axes', '#stablehlo.mesh<axes=[<name = "x", size = 4>, <name = "y", size = 2>], ' +
        'device_ids=dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi64>>, axes', '{{7,5,3,1},{6,4,2,0}}'],
      ['"y"=2]', '"y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]', '{{7,5,3,1},{6,4,2,0}}'],
    ]) {
      const module = await client.load(`module attributes {mhlo.num_partitions = 8 : i32} { ${groups(x).replace(from, to)} }`);
      assert.ok(String(module).includes(`replica_groups=${expected}`), `${to}: ${module}`);
    }
  });

  test('groups along axes of a mesh that is written out, as bytecode', async () => {
    const files = { // of MLIR, and of StableHLO's portable artifacts
      bytecode: 'TUzvUg1NTElSMjMuMC4wZ2l0AAEjBwEFCQ0BAw8DBQcTBQcXGxMDUTMNAScLEwsPCxMLCxMTEx4CBxMTExMTEwUNDxMTDw8PAQ0PDxcHEw8Ckg' +
        'IFDwMDBQcFEREDIQUTFwEDAw0FBRUXAQUFFwEFJQEFLS8lCYEHAAAAAAAAAAYAAAAAAAAABQAAAAAAAAAEAAAAAAAAAAMAAAAAAAAAAgAAAAAA' +
        'AAABAAAAAAAAAAAAAAAAAAAADxcBBxEXAQ8HFwEJExcBCTUXAQljFwELCQMFBSUrAzEtFQEXKxcRKxkJKRcAGwEHAQICBQMBAwELGwMhCwECBA' +
        'SBBQFRCwMBBwRvAwEFA1ARAwcEWwMFCwMDEwAHVhsFAwEDAQcELQMHCwUDHwMhAAkGIwMBBQEDCwQlAwUFBB0DAwYDAQUBAMcbBQULBSkFCRcP' +
        'DxULEWJ1aWx0aW4AZnVuYwBzdGFibGVobG8AbW9kdWxlAHJldHVybgBhbGxfcmVkdWNlAGFkZAAtAG1obG8ubnVtX3BhcnRpdGlvbnMAbQBtYW' +
        'luAHgAeQAIHwcFEwENAQ0BAQ8BB08pMw==',
      artifact: 'TUzvUg1TdGFibGVITE9fdjEuMTcuMAABGwUBBQsBAwsDCQ8TFxsDXz0NAR0LEwsPCxMTExMTExMTEwMhCwsLCwsPDw8TDw8LHgIPDwsBAw8DCw' +
        '8HFwcTArICBQ8DAwUHBRERASEFExcBAwMXAQUHFwEFJxcBBxUXARELFwEJFRcBCT0XAQsZFwENDwMBHRUjBx0XHRkTBQUvKzczLWsDBS8xMR8R' +
        'MTMJHRsfC4EHAAAAAAAAAAYAAAAAAAAABQAAAAAAAAAEAAAAAAAAAAMAAAAAAAAAAgAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAwM5LR8BBQMBAg' +
        'IpAQkdEQMDAwMJKQMhBQSBBQFRCwMBBwRvAwEFBVANAwcEWwMFCwMHDwAHVhEFAwMDAQcELQMHCwUHFQcXAAkGGQMDBQEDAwQbAwUDBBMDAwYD' +
        'AQUBANkdBQMLBQUpBQ8dERUPCxFidWlsdGluAHZobG8AbW9kdWxlAHJldHVybl92MQBmdW5jX3YxAGFsbF9yZWR1Y2VfdjIAYWRkX3YxAC0AbW' +
        'hsby5udW1fcGFydGl0aW9ucwBtAHgAbWFpbgAAeQAIHQcFEwELHSEdIyUHJyk7',
    };
    for (const [what, base64] of Object.entries(files)) {
      const module = await client.load(new Uint8Array(Buffer.from(base64, 'base64')));
      assert.ok(String(module).includes('replica_groups={{7,5,3,1},{6,4,2,0}}'), `${what}: ${module}`);
    }
  });

  // Values of the specification's examples, and of StableHLO's own interpreter tests of the same kind.
  const rooted = (operation, types, attributes) => `func.func @main(%x: tensor<1x2xi64>, %y: tensor<1x2xi64>, %root: tensor<2xi32>)
      -> (tensor<1x2xi64>, tensor<1x2xi64>) {
    %0:2 = "stablehlo.collective_${operation}"(%x, %y${types === 3 ? ', %root' : ''}) ${operation === 'reduce' ? `({
      ^bb0(%a: tensor<i64>, %b: tensor<i64>): %s = stablehlo.subtract %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    })` : ''} {${attributes}${types === 3 ? ', has_dynamic_root' : ''}}
      : (tensor<1x2xi64>, tensor<1x2xi64>${types === 3 ? ', tensor<2xi32>' : ''}) -> (tensor<1x2xi64>, tensor<1x2xi64>)
    return %0#0, %0#1 : tensor<1x2xi64>, tensor<1x2xi64> }`;
  const none = [0, 0], flat = (results) => results.map((of) => of.map(({ data }) => [...data].map(Number)));
  for (const { what, operation, groups, dynamic, mesh = { replicas: 4 }, channel = 0, roots = [1, 0], expected } of [
    { what: 'a computed root', operation: 'broadcast', groups: '[[0, 1], [3, 2]]', dynamic: true,
      expected: [[[3, 4], [10, 20]], [[3, 4], [10, 20]], [[5, 6], [70, 80]], [[5, 6], [70, 80]]] },
    { what: 'groups of several sizes, and a device in none', operation: 'broadcast', groups: '[[0, 2], [1, -1]]', dynamic: true,
      expected: [[[5, 6], [10, 20]], [none, [30, 40]], [[5, 6], [10, 20]], [none, none]] },
    { what: 'a reduction', operation: 'reduce', groups: '[[0, 1], [3, 2]]',
      expected: [[[-2, -2], [-20, -20]], [none, none], [none, none], [[2, 2], [20, 20]]] },
    { what: 'a reduction to a computed root', operation: 'reduce', groups: '[[0, 1], [3, -1]]', dynamic: true,
      expected: [[none, [-20, -20]], [[-2, -2], none], [none, none], [none, [70, 80]]] },
    { what: 'a reduction across partitions', operation: 'reduce', groups: '[[1, 0]]', channel: 1,
      mesh: { replicas: 2, partitions: 2 }, expected: [[none, none], [[2, 2], [20, 20]], [none, none], [[2, 2], [20, 20]]] },
  ]) {
    test(`${what}: collective_${operation}`, async () => {
      const dense = `dense<${groups}> : tensor<${groups.split('],').length}x2xi64>`;
      const text = rooted(operation, dynamic ? 3 : 2,
        `replica_groups = ${dense}, channel_handle = #stablehlo.channel_handle<handle = ${channel}, type = 0>`);
      const executable = await client.compile(await client.load(text), mesh);
      const results = await executable.executeReplicas([0, 1, 2, 3].map((d) =>
        [[[2 * d + 1, 2 * d + 2]], [[20 * d + 10, 20 * d + 20]], roots]));
      assert.deepEqual(flat(results), expected);
    });
  }

  test('large constants in hexadecimal', async () => {
    const count = 300_000;
    const data = Float32Array.from({ length: count }, (_, i) => Math.sin(i));
    const hex = (bytes) => Buffer.from(bytes).toString('hex').toUpperCase();
    const text = (digits, resource) => `func.func @main() -> (tensor<${count}xf32>, tensor<${count}xf32>) {
      %0 = stablehlo.constant dense<"0x${digits}"> : tensor<${count}xf32>
      %1 = stablehlo.constant dense_resource<r> : tensor<${count}xf32>
      return %0, %1 : tensor<${count}xf32>, tensor<${count}xf32> }
      {-# dialect_resources: { builtin: { r: "0x${resource}" } } #-}`;
    const digits = hex(new Uint8Array(data.buffer));
    const good = text(digits, `04000000${digits}`);
    for (const source of [good, new TextEncoder().encode(good)]) {
      const executable = await client.compile(await client.load(source));
      for (const result of await executable.execute([])) assert.deepEqual(result.data, data);
    }
    const wrong = (source, message) => assert.rejects(client.load(source), { code: 'INVALID_ARGUMENT', message });
    await wrong(text(digits.replace('A', 'G'), digits), /line 2|expected bytes in hexadecimal/);
    await wrong(text(digits.slice(8), digits), /bytes are not the elements/);
    await wrong(text('@0', digits).replace(/r: "[^"]*"/, 'r: "0x04"'), /hexadecimal/);
  });
});

describe('programs of unknown sizes', () => {
  const text = `func.func @main(%x: tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?x3xf32>) {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %ok = stablehlo.compare GE, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %n) {error_message = "needs a row; got {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %three = stablehlo.constant dense<3> : tensor<i32>
    %size = stablehlo.multiply %n, %three : tensor<i32>
    %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %flat = stablehlo.dynamic_reshape %x, %shape : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
    %y = stablehlo.add %x, %x : tensor<?x3xf32>
    return %flat, %y : tensor<?xf32>, tensor<?x3xf32>
  }`;

  test('are read for the sizes of their arguments', async () => {
    const x = [[1, 2, 3], [4, 5, 6]];
    const results = await run(text, [x], { arguments: ['f32[2,3]'] });
    assert.deepEqual(results, [x.flat(), x.map((row) => row.map((value) => 2 * value))]);
  });

  test('sizes by name, or only those that are unknown', async () => {
    const two = text.replace('(%x:', '(%first: tensor<1xf32>, %x:');
    for (const shapes of [{ arg1: 'f32[2,3]' }, ['f32[2,3]'], ['f32[1]', 'f32[2,3]']]) {
      const module = await client.load(two, { arguments: shapes });
      assert.deepEqual(module.parameters.map(({ shape }) => String(shape.withoutLayout())), ['f32[1]', 'f32[2,3]']);
      module.dispose();
    }
  });

  const refusals = {
    'without sizes': [undefined, /argument 0 \(arg0\) is tensor<\?x3xf32>: say for which sizes .* \{ arguments: \{ arg0: 'f32\[8,3\]' \} \}/],
    'of other sizes': [['f32[2,4]'], /arguments: argument 0 \(arg0\) is given as f32\[2,4\]; the program takes tensor<\?x3xf32>/],
    'a name that is none': [{ z: 'f32[2,3]' }, /arguments: there is no argument z; those of unknown sizes are arg0/],
    'another number of them': [['f32[2,3]', 's32[]'], /arguments has 2 shapes; the program takes 1/],
    'an assertion of the program': [['f32[0,3]'], /needs a row; got 0/],
  };
  for (const [what, [shapes, message]] of Object.entries(refusals)) {
    test(`refuse: ${what}`, () => assert.rejects(client.load(text, { arguments: shapes }), message));
  }
});

describe('names of results', () => {
  const named = (...infos) => `func.func public @main(%x: tensor<f32>) -> (${infos.map((info) => `tensor<f32> {jax.result_info = "${info}"}`)}) {
    return ${infos.map(() => '%x')} : ${infos.map(() => 'tensor<f32>')}\n}`;
  const CASES = [
    // As JAX 0.10.2 writes them.
    [["result['features'][0]", "result['features'][1]", "result['logits']"], ['features.0', 'features.1', 'logits']],
    [['result[0]', "result[1]['mean']"], ['0', '1.mean']],
    [['result'], []],
    [['result[0]', 'result[1]'], []],
    // As older versions do.
    [["['b']", '.count'], ['b', 'count']],
    [['', ''], []],
  ];
  for (const [infos, names] of CASES) {
    test(infos.join(' ') || 'none', async () => assert.deepEqual((await client.load(named(...infos))).resultNames, names));
  }

  test('of an export', async () => {
    const bytes = await readFile(new URL('../guides/batch-norm/loss.jax', import.meta.url));
    assert.deepEqual((await client.load(bytes)).resultNames, ['0', '1.BatchNorm_0.mean', '1.BatchNorm_0.var']);
  });

  test('of a program without', () => assert.deepEqual(client.parseHlo('HloModule m\nENTRY e { ROOT r = f32[] constant(1) }').resultNames, []));
});

describe('errors have a place', () => {
  const body = (lines) => `func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  ${lines}\n}`;
  const rows = [
    [body('%0 = stablehlo.add %x, %y : tensor<2xf32>\n return %0 : tensor<2xf32>'), 2, 26, /%y is not defined/],
    [body('%0 = stablehlo.ad %x : tensor<2xf32>\n return %0 : tensor<2xf32>'), 2, 3,
      /no operation stablehlo.ad; did you mean stablehlo.add\? \(line 2, column 3\)$/],
    [body('%0 = stablehlo.reshape %x : (tensor<2xf32>) -> tensor<3xf32>\n return %0 : tensor<3xf32>'), 2, 3, /reshape/],
    [body('%0 = stablehlo.abs %x : tensor<2xf33>'), 2, 36, /no arrays of f33/],
    [body('return %x : tensor<2xf32>').replace('}', ''), 3, 1, /nothing closes/],
    [body('%0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xf32>'), 2, 27, /do not make a tensor<2xf32>/],
    [body('%0 = stablehlo.negate %x : tensor<4xf32>\n return %0 : tensor<4xf32>'), 2, 3, /declared tensor<4xf32>, but is f32\[2\]/],
    [body('cf.br ^bb1 : ()'), 2, 9, /branches between blocks \(cf\)/],
  ];
  for (const [text, line, column, message] of rows) {
    test(String(message), async () => {
      await assert.rejects(client.parseStableHlo(text), (error) => {
        assert.ok(error instanceof XlaError, error.stack);
        assert.match(error.message, message);
        assert.deepEqual([error.line, column && error.column], [line, column]);
        return true;
      });
    });
  }
});

/* MLIR's verifier refuses each of them, too (jaxlib 0.10.2). */
describe('declared types are those of the values', () => {
  const main = (body, results = 'tensor<3xf32>') =>
    `func.func @main(%x: tensor<3xf32>, %m: tensor<2x3xf32>, %p: tensor<i1>, %z: tensor<f32>) -> ${results} {\n  ${body}\n}`;
  const calls = (type, callee) => `${main(`%y = call @f(%x) : (tensor<3xf32>) -> ${type}\n  return %y : ${type}`, type)}\n${callee}`;
  const identity = (type, results) => `func.func private @f(%a: ${type}) -> ${results} { return %a : ${type} }`;
  const rows = {
    'a result of main': [main('return %m : tensor<2x3xf32>'), /result 0 of @main is declared tensor<3xf32>, but is f32\[2,3\]/],
    'the type after return': [main('return %m : tensor<3xf32>'), /operand 0 is said to be tensor<3xf32>; it is tensor<2x3xf32>/],
    'more results than are returned': [main('return %x : tensor<3xf32>', '(tensor<3xf32>, tensor<3xf32>)'), /@main returns 1 result; it declares 2/],
    'no results': [main('return %x : tensor<3xf32>', '()'), /@main returns 1 result; it declares 0/],
    'types without values': [main('return %x : tensor<3xf32>, tensor<3xf32>'), /2 types for 1 operands/],
    'a result of a called function': [calls('tensor<4xf32>', identity('tensor<3xf32>', 'tensor<4xf32>')), /result 0 of @f is declared tensor<4xf32>/],
    'a result of a call': [calls('tensor<4xf32>', identity('tensor<3xf32>', 'tensor<3xf32>')), /call: the result is declared tensor<4xf32>/],
    'an argument of a call': [calls('tensor<3xf32>', identity('tensor<4xf32>', 'tensor<4xf32>')),
      /operand 0 of @f is declared tensor<4xf32>, but is f32\[3\]/],
    'an operand': [main('%y = "stablehlo.abs"(%m) : (tensor<3xf32>) -> tensor<2x3xf32>\n  return %x : tensor<3xf32>'),
      /operand 0 is said to be tensor<3xf32>/],
    'an operand in the short form': [main('%y = stablehlo.reshape %m : (tensor<6xf32>) -> tensor<3x2xf32>\n  return %x : tensor<3xf32>'),
      /operand 0 is said to be tensor<6xf32>/],
    'the state of a loop': [main('%y = stablehlo.while(%i = %m) : tensor<3xf32>\n cond { stablehlo.return %p : tensor<i1> } do { stablehlo.return %i : tensor<3xf32> }\n  return %y : tensor<3xf32>'),
      /operand 0 is said to be tensor<3xf32>/],
    'the next state of a loop': [main('%y = stablehlo.while(%i = %x) : tensor<3xf32>\n cond { stablehlo.return %p : tensor<i1> } do { stablehlo.return %m : tensor<2x3xf32> }\n  return %y : tensor<3xf32>'),
      /while:.*f32\[2,3\]/],
    'the type that a branch yields': [main('%y = "stablehlo.if"(%p) ({ stablehlo.return %x : tensor<3xf64> }, { stablehlo.return %x : tensor<3xf32> }) : (tensor<i1>) -> tensor<3xf32>\n  return %y : tensor<3xf32>'),
      /operand 0 is said to be tensor<3xf64>/],
    'the value that a branch yields': [main('%y = "stablehlo.if"(%p) ({ stablehlo.return %m : tensor<2x3xf32> }, { stablehlo.return %m : tensor<2x3xf32> }) : (tensor<i1>) -> tensor<3xf32>\n  return %y : tensor<3xf32>'),
      /if: the result is declared tensor<3xf32>, but is f32\[2,3\]/],
    'the value that a reducer yields': [main(`%y = "stablehlo.reduce"(%x, %z) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
 "stablehlo.return"(%p) : (tensor<i1>) -> () }) {dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %x : tensor<3xf32>`),
      /reduce/],
  };
  for (const [what, [text, message]] of Object.entries(rows)) {
    test(what, () => assert.rejects(client.parseStableHlo(text), (error) => {
      assert.ok(error instanceof XlaError && error.line > 0, error.stack);
      assert.match(error.message, message);
      return true;
    }));
  }
});

describe('load', () => {
  const hlo = 'HloModule m\nENTRY e { ROOT p = f32[2]{0} parameter(0) }\n';
  const mlir = 'module @m { func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> } }';
  const bytes = (text) => new TextEncoder().encode(text);

  test('text, bytes, gzip, Blob, Response, URL', async () => {
    for (const text of [hlo, mlir, `// a comment\n${mlir}`]) {
      const sources = [
        text, bytes(text), bytes(text).buffer, gzipSync(text), new Blob([text]), new Response(text),
        `data:text/plain;base64,${Buffer.from(text).toString('base64')}`,
        new URL(`data:text/plain;base64,${gzipSync(text).toString('base64')}`),
      ];
      for (const source of sources) {
        const module = await client.load(source);
        assert.equal(String(module.resultShape), 'f32[2]');
        module.dispose();
      }
    }
    assert.equal(String(client.parseHlo(bytes(hlo)).resultShape), 'f32[2]');
  });

  test('paths, in Node', async () => {
    await assert.rejects(client.load('no/such/file.mlir'), /cannot read no\/such\/file.mlir: there is no such file/);
    await assert.rejects(client.load(new URL('file:///no/such')), { code: 'NOT_FOUND' });
  });

  const refusals = {
    'nothing': ['', /empty|expected/],
    'NumPy': [Buffer.from('\x93NUMPY\x01\0', 'latin1'), /this is a NumPy array, not a program.*readNpy/],
    'npz': [Buffer.from(`PK\x03\x04${'\0'.repeat(26)}x.npy`, 'latin1'), /\.npz.*readNpz/],
    'a zip': [Buffer.from(`PK\x03\x04${'\0'.repeat(26)}model.json`, 'latin1'), /this is a zip/],
    'HTML': ['<!DOCTYPE html>\n<html></html>', /an HTML page.*404/],
    'TFLite': [Buffer.from('\x1c\0\0\0TFL3\0\0\0\0', 'latin1'), /a TFLite file/],
    'ONNX': [Buffer.from('\x08\x07\x12\x07pytorch\x1a\x03', 'latin1'), /an ONNX model/],
    'SavedModel': [Buffer.from('\x08\x01\x12\x20\x0a\x10\x22\x05serve\x2a\x062.21.0', 'latin1'), /a TensorFlow SavedModel.*stablehlo_serialized/],
    'safetensors': [Buffer.from('\x20\0\0\0\0\0\0\0{"a":{}}', 'latin1'), /a safetensors file.*readSafetensors/],
    'JSON': ['{"a": 1}\n', /this is JSON/],
    'damaged gzip': [gzipSync(hlo).subarray(0, 20), /gzip data is cut off/],
    'a response of 404': [new Response('', { status: 404 }), /the server answered 404/],
    'something else': ['import os\n', /expected '\{'.*neither HLO, which begins with HloModule, nor StableHLO/],
    'other bytes': [Buffer.from('\x7fELF\x02\x01\0\0\xff\xff', 'latin1'), /these bytes are no program.*is the file whole/],
    'a number': [5, /source must be text, bytes, a Blob, a Response or a URL; got 5/],
  };
  for (const [what, [source, message]] of Object.entries(refusals)) {
    test(`refuses ${what}`, () => assert.rejects(client.load(source), (error) => {
      assert.ok(error instanceof XlaError, error.stack);
      assert.match(error.message, message);
      return true;
    }));
  }

  test('the explicit ways name each other', async () => {
    assert.throws(() => client.parseHlo(mlir), /StableHLO.*parseStableHlo/);
    await assert.rejects(client.parseHloProto(bytes(hlo)), /text: use parseHlo/);
    await assert.rejects(client.parseStableHlo(hlo), /HLO text.*parseHlo/);
    await assert.rejects(client.parseStableHlo(Uint8Array.of(1, 2, 3)), /no MLIR bytecode/);
  });
});

describe('damaged programs', () => {
  /** Numbers that look random, the same ones each time. */
  function random(seed) {
    let state = seed;
    return (limit) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor(state / 2 ** 32 * limit);
    };
  }

  for (const form of ['text', 'generic', 'export', '0.9.0', '1.17.0']) {
    test(`${form}: are read, or refused with an XlaError`, { timeout: 60_000 }, async () => {
      const list = programs.filter((program) => program.form === form && program.bytes.length < 4000);
      const next = random(form.length);
      for (let i = 0; i < 400; i++) {
        const bytes = Uint8Array.from(list[next(list.length)].bytes);
        for (let k = next(4); k >= 0; k--) {
          const at = next(bytes.length);
          if (next(3)) bytes[at] = next(2) ? next(256) : bytes[next(bytes.length)];
          else bytes.copyWithin(at, next(bytes.length), at + next(20));
        }
        const source = next(8) ? bytes : bytes.subarray(0, next(bytes.length));
        try {
          (await client.parseStableHlo(form === 'export' ? source.subarray(0) : source)).dispose();
        } catch (error) {
          if (!(error instanceof XlaError) || error.code === 'INTERNAL') throw error;
        }
      }
    });
  }
});
