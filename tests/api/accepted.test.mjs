/** Tests old and rare forms of programs that XLA reads: protos as text, HLO that no tool prints any more. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

async function run(module, args) {
  const executable = await client.compile(module);
  try {
    return (await executable.execute(args)).map((result) => result.toArray());
  } finally {
    executable.dispose();
    module.dispose();
  }
}

const shape = (type, ...sizes) => `shape { element_type: ${type} ${sizes.map((n) => `dimensions: ${n}`).join(' ')} ` +
  `layout { ${sizes.map((_, i) => `minor_to_major: ${sizes.length - 1 - i}`).join(' ')} tail_padding_alignment_in_elements: 1 } }`;

const TWICE = `name: "twice" entry_computation_name: "main" entry_computation_id: 1
  computations { name: "main" id: 1 root_id: 2
    instructions { name: "x" opcode: "parameter" id: 1 ${shape('F32', 2)} }
    instructions { name: "y" opcode: "add" id: 2 operand_ids: [1, 1] ${shape('F32', 2)} metadata { op_name: 'a' "b" } }
  }`;

describe('HLO protos as text', () => {
  for (const [name, text] of [
    ['a module', TWICE],
    ['an HloProto', `# dumped\n hlo_module { ${TWICE} } buffer_assignment { logical_buffers { id: 0 size: 8 } }`],
    ['an HloSnapshot', `hlo < hlo_module: { ${TWICE} } >`],
    ['an HloSnapshot with arguments',
      `hlo { hlo_module { ${TWICE} } } arguments { ${shape('F32', 2)} f32s: 1 f32s: -2.5e0 } execution_platform: "cpu";`],
  ]) {
    test(name, async () => {
      assert.deepEqual(await run(await client.load(text), [[1, -2.5]]), [[2, -5]]);
      assert.deepEqual(await run(await client.load(new TextEncoder().encode(text)), [[1, 3]]), [[2, 6]]);
    });
  }

  const program = (body, root) => `name: "m" entry_computation_id: 1
    computations { name: "plus" id: 2 root_id: 103
      instructions { name: "a" opcode: "parameter" id: 101 parameter_number: 0 ${shape('F32')} }
      instructions { name: "b" opcode: "parameter" id: 102 parameter_number: 1 ${shape('F32')} }
      instructions { name: "c" opcode: "add" id: 103 operand_ids: 101 operand_ids: 102 ${shape('F32')} } }
    computations { name: "main" id: 1 root_id: ${root} ${body} }`;
  const x = `instructions { name: "x" opcode: "parameter" id: 1 ${shape('F32', 2, 3)} }`;
  const zero = `instructions { name: "z" opcode: "constant" id: 9 ${shape('F32')} literal { ${shape('F32')} f32s: 0 } }`;
  for (const [name, body, root, expected] of [
    ['dot', `${x} instructions { name: "d" opcode: "dot" id: 2 operand_ids: [1, 1] ${shape('F32', 2, 2)}
      dot_dimension_numbers { lhs_contracting_dimensions: 1 rhs_contracting_dimensions: 1 } precision_config { operand_precision: HIGHEST operand_precision: DEFAULT } }`, 2,
    [[14, 32], [32, 77]]],
    ['reduce', `${x} ${zero} instructions { name: "r" opcode: "reduce" id: 2 operand_ids: [1, 9] called_computation_ids: 2 dimensions: [1] ${shape('F32', 2)} }`, 2, [6, 15]],
    ['window', `${x} ${zero} instructions { name: "r" opcode: "reduce-window" id: 2 operand_ids: [1, 9] called_computation_ids: 2 ${shape('F32', 2, 3)}
      window { dimensions { size: 1 stride: 1 window_dilation: 1 base_dilation: 1 } dimensions { size: 2 stride: 1 padding_low: 1 padding_high: 0 window_dilation: 1 base_dilation: 1 } } }`, 2, [[1, 3, 5], [4, 9, 11]]],
    ['pad, slice', `${x} ${zero} instructions { name: "p" opcode: "pad" id: 2 operand_ids: [1, 9] ${shape('F32', 2, 6)} padding_config { dimensions { } dimensions { edge_padding_low: 1 interior_padding: 1 edge_padding_high: 0 } } }
      instructions { name: "s" opcode: "slice" id: 3 operand_ids: 2 ${shape('F32', 1, 3)} slice_dimensions { start: 1 limit: 2 stride: 1 } slice_dimensions { start: 1 limit: 6 stride: 2 } }`, 3, [[4, 5, 6]]],
    ['compare', `${x} instructions { name: "c" opcode: "compare" id: 2 operand_ids: [1, 1] comparison_direction: "LE" comparison_type: "FLOAT" ${shape('PRED', 2, 3)} }`, 2, [[true, true, true], [true, true, true]]],
    ['gather', `${x} instructions { name: "i" opcode: "constant" id: 5 ${shape('S32', 1)} literal { ${shape('S32', 1)} s32s: 1 } }
      instructions { name: "g" opcode: "gather" id: 2 operand_ids: [1, 5] gather_slice_sizes: [1, 3] ${shape('F32', 1, 3)}
      gather_dimension_numbers { offset_dims: 1 collapsed_slice_dims: 0 start_index_map: 0 index_vector_dim: 1 } }`, 2, [[4, 5, 6]]],
    ['triangular solve', `instructions { name: "t" opcode: "constant" id: 5 ${shape('F32', 2, 2)} literal { ${shape('F32', 2, 2)} f32s: [2, 0, 1, 4] } } ${x}
      instructions { name: "s" opcode: "triangular-solve" id: 2 operand_ids: [5, 1] ${shape('F32', 2, 3)} triangular_solve_options { left_side: true lower: true transpose_a: NO_TRANSPOSE } }`, 2,
    [[0.5, 1, 1.5], [0.875, 1, 1.125]]],
    ['fft', `${x} instructions { name: "f" opcode: "fft" id: 2 operand_ids: 1 fft_type: RFFT fft_length: 3 ${shape('C64', 2, 2)} } instructions { name: "r" opcode: "real" id: 3 operand_ids: 2 ${shape('F32', 2, 2)} }`, 3, [[6, -1.5], [15, -1.5]]],
    ['literals', `instructions { name: "a" opcode: "constant" id: 4 ${shape('S64', 2)} literal { ${shape('S64', 2)} s64s: -9007199254740993 s64s: 0x10 } }
      instructions { name: "b" opcode: "constant" id: 5 ${shape('PRED', 2)} literal { ${shape('PRED', 2)} preds: true preds: false } }
      instructions { name: "c" opcode: "constant" id: 6 ${shape('S8', 3)} literal { ${shape('S8', 3)} s8s: "\\001\\xff" "A" } }
      instructions { name: "d" opcode: "constant" id: 7 ${shape('F64', 3)} literal { ${shape('F64', 3)} f64s: [inf, -1.5e-3, nan] } }
      instructions { name: "e" opcode: "constant" id: 8 ${shape('C64', 1)} literal { ${shape('C64', 1)} c64s: 1 c64s: -2 } } ${x}
      instructions { name: "t" opcode: "tuple" id: 2 operand_ids: [4, 5, 6, 7, 8] shape { element_type: TUPLE ${['S64', 'PRED', 'S8', 'F64', 'C64'].map((type, i) =>
  shape(type, [2, 2, 3, 3, 1][i]).replace(/^shape/, 'tuple_shapes')).join(' ')} } }`, 2,
    [[-9007199254740993n, 16n], [true, false], [1, -1, 65], [Infinity, -0.0015, NaN], [[1, -2]]]],
    ['custom call', `${x} instructions { name: "c" opcode: "custom-call" id: 2 operand_ids: 1 custom_call_target: "t" backend_config: "a\\000b" custom_call_api_version: API_VERSION_STATUS_RETURNING ${shape('F32', 2, 3)}
      sharding { type: OTHER tile_assignment_dimensions: [1, 1] tile_assignment_devices: 0 } frontend_attributes { map { key: "k" value: "v" } } }`, 2, [[1, 2, 3], [4, 5, 6]]],
  ]) {
    test(name, async () => {
      client.registerCustomCall('t', (call) => {
        assert.deepEqual([...call.backendConfigBytes], [97, 0, 98]);
        return call.operands[0];
      });
      const found = await run(await client.load(program(body, root)), [[[1, 2, 3], [4, 5, 6]]]);
      assert.deepEqual(name === 'literals' ? found : found[0], expected);
    });
  }

  for (const [name, text, message, line] of [
    ['an end that is missing', TWICE.slice(0, -3), /ends too early/, 5],
    ['a word that is no value', TWICE.replace('F32', 'F33'), /F33 is no value of element_type/, 3],
    ['a string for a number', TWICE.replace('root_id: 2', 'root_id: "2"'), /root_id is no string/, 2],
    ['a number for a message', TWICE.replace('computations {', 'computations: 3 {'), /computations is a message/, 2],
    ['no module', 'hlo { hlo_module { name: "x" } }', /no hlo_module/, undefined],
  ]) {
    test(`refuses ${name}`, () => assert.rejects(client.load(text), (error) => {
      assert.equal(error.code, 'INVALID_ARGUMENT', error.stack);
      assert.match(error.message, message);
      assert.equal(error.line, line);
      return true;
    }));
  }
});

describe('HLO text', () => {
  test('a colon after the name of the module', async () => {
    const text = 'HloModule twice:\n\nENTRY %twice (x: f32[2]) -> f32[2] {\n %x = f32[2]{0} parameter(0)\n ROOT %y = f32[2]{0} add(%x, %x)\n}';
    assert.deepEqual(await run(await client.load(text), [[1, 2]]), [[2, 4]]);
  });

  test('rng with more operands than two, which XLA reads and leaves', async () => {
    const text = (more) => `HloModule m\nENTRY e { a = f32[] constant(2)\n b = f32[] constant(3)\n c = f32[] constant(9)\n ROOT r = f32[100] rng(a, b${more}), distribution=rng_uniform }`;
    const [[two], [three]] = [await run(await client.load(text('')), []), await run(await client.load(text(', c')), [])];
    assert.ok(two.every((value) => value >= 2 && value < 3));
    assert.deepEqual(three, two);
  });

  test('signatures without colons, precisions in capitals', async () => {
    const text = `HloModule m\nENTRY e (a f32[2,2], b: f32[2,2]) -> f32[2,2] {\n a = f32[2,2] parameter(0)\n b = f32[2,2] parameter(1)
      ROOT d = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={HIGH,Highest}\n}`;
    const module = await client.load(text);
    assert.match(module.toString(), /operand_precision=\{high,highest\}/);
    assert.deepEqual(await run(module, [[[1, 2], [3, 4]], [[1, 0], [0, 2]]]), [[[1, 4], [3, 8]]]);
  });

  test("an array's first element alone, which leaves zeros", async () => {
    for (const [literal, expected] of [ // as XLA prints them again
      ['f32[3] constant(5)', [5, 0, 0]], ['f32[2,2] constant(5)', [[5, 0], [0, 0]]], ['s8[3] constant(-7)', [-7, 0, 0]],
      ['c64[2] constant((1, 2))', [[1, 2], [0, 0]]], ['pred[2] constant(true)', [true, false]],
    ]) {
      assert.deepEqual(await run(await client.load(`HloModule m\nENTRY e {\n ROOT r = ${literal}\n}`), []), [expected]);
    }
    for (const literal of ['f32[3] constant({5})', 'f32[0] constant(5)', 'f32[2] constant(1, 2)']) {
      await assert.rejects(client.load(`HloModule m\nENTRY e {\n ROOT r = ${literal}\n}`), { code: 'INVALID_ARGUMENT', line: 3 });
    }
  });

  const unbounded = '%u (x: f32[?,3]) -> f32[?,3]{1,0} {\n x = f32[?,3] parameter(0)\n ROOT y = f32[?,3]{1,0} add(x, x), metadata={op_name="a } b"}\n}';
  test('sizes without a bound where nothing calls them', async () => {
    const rest = '\nv { x = f32[] parameter(0)\n ROOT y = f32[] negate(x) }\nENTRY e { a = f32[] constant(2)\n ROOT r = f32[] call(a), to_apply=v }';
    for (const text of [unbounded, `${unbounded}, execution_thread="main"`, unbounded.replace(' (x: f32[?,3]) -> f32[?,3]{1,0}', '')]) {
      assert.deepEqual(await run(await client.load(`HloModule m\n${text}${rest}`), []), [-2]);
    }
  });
  for (const [name, text, line] of [
    ['a call', `${unbounded}\nENTRY e { a = f32[2,3] constant({{1,1,1},{1,1,1}})\n ROOT r = f32[2,3] call(a), to_apply=u }`, 7],
    ['the entry', unbounded.replace('%u', 'ENTRY u'), 2],
    ['all', unbounded, 2],
  ]) {
    test(`sizes without a bound: ${name}`, () => assert.rejects(client.load(`HloModule m\n${text}`), (error) => {
      assert.match(error.message, /dimension without a bound \(\?\)/);
      assert.equal(error.line, line);
      return error.code === 'INVALID_ARGUMENT';
    }));
  }
});

describe('constants that a dump leaves out', () => {
  const types = ['f32', 'bf16', 's32', 's64', 'pred', 'c64', 'u4', 's2', 'f64'];
  const hlo = (type) => `HloModule m\nENTRY e {\n ROOT c = ${type}[40,50]{1,0} constant({...})\n}`;
  const mlirType = (type) => ({ pred: 'i1', c64: 'complex<f32>' })[type] ?? type.replace(/^s(?=\d)/, 'i').replace(/^u/, 'ui');
  const mlir = (type, elements) => {
    const tensor = `tensor<40x50x${mlirType(type)}>`;
    return `func.func @main() -> ${tensor} {\n %0 = stablehlo.constant ${elements} : ${tensor}\n return %0 : ${tensor}\n}`;
  };
  const forms = {
    'HLO text': hlo,
    StableHLO: (type) => mlir(type, 'dense_resource<__elided__>'),
    "StableHLO of MLIR's old printer": (type) => mlir(type, 'opaque<"elided_large_const", "0xDEADBEEF">'),
  };
  for (const [name, form] of Object.entries(forms)) {
    test(name, async () => {
      for (const type of types) {
        await assert.rejects(client.load(form(type)), ({ code, message, line }) => code === 'INVALID_ARGUMENT' &&
          /load it with \{ elided: 'zeros' \} or 'random'/.test(message) && line >= 2, type);
        const [zeros] = await run(await client.load(form(type), { elided: 'zeros' }), []);
        assert.ok(zeros.flat(9).every((value) => Number(value) === 0), type);
        const [random] = await run(await client.load(form(type), { elided: 'random' }), []);
        const values = random.flat(9).map(Number);
        assert.equal(values.length, type === 'c64' ? 4000 : 2000);
        const isFloat = /^(f|bf|c)/.test(type);
        assert.ok(values.every((value) => value >= (isFloat ? -1 : 0) && value <= (isFloat ? 1 : 9)), type);
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        const wanted = isFloat ? 0 : { pred: 0.5, s2: 0.5 }[type] ?? 4.5;
        assert.ok(Math.abs(mean - wanted) < (wanted || 1) / 8, `${type}: mean ${mean}`);
        assert.deepEqual(await run(await client.load(form(type), { elided: 'random' }), []), [random]);
      }
    });
  }

  test('in tuples, and among others that are whole', async () => {
    const text = `HloModule m\nENTRY e {
      a = f32[2] constant({1, 2})
      t = (f32[3]{0}, s32[2]) constant(({...}, {7, 8}))
      ROOT r = (f32[2], (f32[3], s32[2])) tuple(a, t)\n}`;
    assert.deepEqual((await run(client.parseHlo(text, { elided: 'zeros' }), [])).flat(), [1, 2, [0, 0, 0], [7, 8]]);
    await assert.rejects(client.load(text, { elided: 'ones' }),
      { code: 'INVALID_ARGUMENT', message: /elided must be 'zeros' or 'random'; got "ones"/ });
  });
});
