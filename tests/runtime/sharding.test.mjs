/**
 * Tests manual computations (shard_map) on meshes of every kind, in Shardy's notation and in XLA's own;
 * sharding hints; and errors. JAX's own programs with XLA's results are in golden/sharding.golden.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client, XlaError } from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The first result of each device. */
async function run(text, args = [], options = undefined) {
  const executable = await client.compile(await client.load(new TextEncoder().encode(text)), options);
  try {
    const outputs = await executable.executeReplicas(new Array(executable.replicas * executable.partitions).fill(args));
    return outputs.map(([y]) => y.toArray());
  } finally {
    executable.dispose();
  }
}

const refused = (promise, code, ...patterns) => assert.rejects(promise, (error) => {
  assert.ok(error instanceof XlaError, String(error?.stack));
  assert.equal(error.code, code, error.message);
  for (const pattern of patterns) assert.match(`${error.message} at ${error.line}:${error.column}`, pattern);
  return true;
});

/* ---- Which device holds which block ---- */

/** Each device gives its number as its shard of s32 of this type; the whole on every device. */
const numbered = (mesh, axes, sharding, local, global) => `module @m attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <${mesh}>
  func.func @main() -> tensor<${global}xui32> {
    %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, ${sharding}>] manual_axes={${axes}} () {
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<ui32>) -> tensor<${local}xui32>
      sdy.return %2 : tensor<${local}xui32>
    } : () -> tensor<${global}xui32>
    return %0 : tensor<${global}xui32>
  }
}`;

const GRID = '["a"=2, "b"=4]';

/** name, mesh, manual axes, sharding, shard, whole array, and the whole on some devices */
const PLACES = [
  ['one axis', GRID, '"a", "b"', '[{"b"}]', '1', '4', { 0: [0, 1, 2, 3], 6: [4, 5, 6, 7] }],
  ['two axes of a dimension', GRID, '"a", "b"', '[{"b", "a"}]', '1', '8', { 3: [0, 4, 1, 5, 2, 6, 3, 7] }],
  ['two dimensions', GRID, '"a", "b"', '[{"b"}, {"a"}]', '1x1', '4x2', { 0: [[0, 4], [1, 5], [2, 6], [3, 7]] }],
  ['the minor part of an axis', GRID, '"a", "b"', '[{"b":(2)2}]', '1', '2', { 0: [0, 1], 2: [2, 3], 7: [6, 7] }],
  ['the major part of an axis', GRID, '"a", "b"', '[{"b":(1)2}]', '1', '2', { 0: [0, 2], 3: [1, 3], 4: [4, 6] }],
  ['both parts, crossed', GRID, '"a", "b"', '[{"b":(2)2, "b":(1)2}]', '1', '4', { 0: [0, 2, 1, 3] }],
  ['a priority', GRID, '"a", "b"', '[{"b"}p2]', '1', '4', { 5: [4, 5, 6, 7] }],
  ['replicated axes', GRID, '"a", "b"', '[{"a"}], replicated={"b"}', '1', '2', { 1: [1, 5] }],
  ['an open dimension', GRID, '"a"', '[{"a", ?}, {?}]', '1x2', '2x2', { 3: [[3, 3], [7, 7]] }],
  ['axes that are left to a partitioner', GRID, '"a"', '[{"a", "b"}]', '4', '8', { 1: [1, 1, 1, 1, 5, 5, 5, 5] }],
  ['a sum', GRID, '"a", "b"', '[{}], unreduced={"b"}', '1', '1', { 0: [6], 7: [22] }],
  ['a sum of shards', GRID, '"a", "b"', '[{"a"}], unreduced={"b"}', '1', '2', { 0: [6, 22] }],
  ['a sum over a part of an axis', GRID, '"a", "b"', '[{}], unreduced={"b":(1)2}', '1', '1', { 0: [2], 5: [12] }],
  ['a maximum', GRID, '"a", "b"', '[{}], unreduced=max{"a", "b"}', '1', '1', { 0: [7] }],
  ['a minimum', GRID, '"a", "b"', '[{}], unreduced=min{"b"}', '1', '1', { 6: [4] }],
  ['devices in an order of their own', '["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]', '"a", "b"', '[{"b"}]',
    '1', '4', { 0: [3, 2, 1, 0] }],
  ['devices in no order', '["a"=2, "b"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]', '"a", "b"', '[{"a"}]', '1', '2',
    { 4: [4, 5] }],
  ['three axes', '["a"=2, "b"=2, "c"=2]', '"a", "c"', '[{"c", "a"}]', '1', '4', { 0: [0, 4, 1, 5], 3: [2, 6, 3, 7] }],
  ['an axis of size 1', '["a"=8, "z"=1]', '"a", "z"', '[{"z"}, {"a"}]', '1x1', '1x8', { 0: [[0, 1, 2, 3, 4, 5, 6, 7]] }],
];
describe('the block of a device, by', () => {
  for (const [what, mesh, axes, sharding, local, global, expected] of PLACES) {
    test(what, async () => {
      const results = await run(numbered(mesh, axes, sharding, local, global));
      for (const [device, value] of Object.entries(expected)) assert.deepEqual(results[device], value, `device ${device}`);
    });
  }

  test('the mesh in the sharding itself', async () => {
    const text = numbered(GRID, '"a"', '[{"a"}]', '1', '2').replace('<@mesh,', '<mesh<["a"=4, "b"=2]>,')
      .replaceAll('tensor<2xui32>', 'tensor<4xui32>');
    assert.deepEqual((await run(text))[1], [1, 3, 5, 7]);
  });

  test('what a device takes of an array of addends: all, or zeros', async () => {
    const text = `module @m attributes {mhlo.num_partitions = 8 : i32} {
      sdy.mesh @mesh = <${GRID}>
      func.func @main(%x: tensor<2xf32>) -> tensor<16xf32> {
        %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}], unreduced={"a"}>]
            out_shardings=[<@mesh, [{"a", "b"}]>] manual_axes={"a", "b"} (%y: tensor<2xf32>) {
          sdy.return %y : tensor<2xf32>
        } : (tensor<2xf32>) -> tensor<16xf32>
        return %0 : tensor<16xf32>
      }
    }`;
    assert.deepEqual((await run(text, [[3, 4]]))[5], [3, 4, 3, 4, 3, 4, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
  });
});

test('shards of unknown sizes follow from the whole arrays\'', async () => {
  const text = `module @m attributes {mhlo.num_partitions = 8 : i32} {
    sdy.mesh @mesh = <${GRID}>
    func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = stablehlo.convert %x : (tensor<8x4xf32>) -> tensor<?x4xf32>
      %1 = call @f(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      %2 = stablehlo.convert %1 : (tensor<?x4xf32>) -> tensor<8x4xf32>
      return %2 : tensor<8x4xf32>
    }
    func.func private @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}, {"b"}]>]
          out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<?x4xf32>) {
        %1 = stablehlo.negate %y : tensor<?x4xf32>
        sdy.return %1 : tensor<?x4xf32>
      } : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %0 : tensor<?x4xf32>
    }
  }`;
  const x = Array.from({ length: 8 }, (_, i) => [0, 1, 2, 3].map((j) => 4 * i + j));
  const results = await run(text, [x]);
  for (const y of results) assert.deepEqual(y, x.map((row) => row.map((value) => -value)));
});

/* ---- XLA's notation ---- */

/** Each device gives its number as its shard. */
const tiled = (sharding, local, global, manual = '{manual}') => `HloModule m, num_partitions=8
ENTRY e {
  p = u32[] partition-id()
  b = u32[${local}] broadcast(p), dimensions={}
  s = u32[${local}] custom-call(b), custom_call_target="Sharding", sharding=${manual}
  ROOT y = u32[${global}] custom-call(s), custom_call_target="SPMDShardToFullShape", sharding=${sharding}
}`;
const TILES = [
  ['an iota', '{devices=[4,2]<=[8]}', '1,1', '4,2', { 0: [[0, 1], [2, 3], [4, 5], [6, 7]] }],
  ['a transposed iota', '{devices=[4,2]<=[2,4]T(1,0)}', '1,1', '4,2', { 0: [[0, 4], [1, 5], [2, 6], [3, 7]] }],
  ['an iota of three dimensions', '{devices=[8]<=[2,2,2]T(2,0,1)}', '1', '8', { 0: [0, 2, 4, 6, 1, 3, 5, 7] }],
  ['a list', '{devices=[2,4]7,6,5,4,0,1,2,3}', '1,1', '2,4', { 3: [[7, 6, 5, 4], [0, 1, 2, 3]] }],
  ['replicas of a tile', '{devices=[2,4]<=[8] last_tile_dim_replicate}', '1', '2', { 0: [0, 4], 3: [3, 7] }],
  ['the same, spelled out', '{devices=[2,4]<=[8] last_tile_dims={replicated}}', '1', '2', { 2: [2, 6] }],
  ['an outer manual computation', '{devices=[2,4]<=[8] last_tile_dims={manual}}', '1', '2', { 1: [1, 5] }],
  ['both', '{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}', '1', '2', { 3: [3, 7] }],
  ['addends', '{devices=[2,2,2]<=[8] last_tile_dims={unreduced, replicated}}', '1', '2', { 0: [2, 10], 1: [4, 12] }],
  ['addends alone', '{unreduced}', '1', '1', { 0: [28] }],
  ['tiles of an automatic axis, too', '{devices=[4,2]<=[8]}', '1,2', '4,2',
    { 0: [[0, 0], [2, 2], [4, 4], [6, 6]], 1: [[1, 1], [3, 3], [5, 5], [7, 7]] },
    '{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}'],
  ['the same array', '{replicated}', '2', '2', { 0: [0, 0], 5: [5, 5] }],
];
describe("the block of a device in XLA's notation, by", () => {
  for (const [what, sharding, local, global, expected, manual] of TILES) {
    test(what, async () => {
      const results = await run(tiled(sharding, local, global, manual));
      for (const [device, value] of Object.entries(expected)) assert.deepEqual(results[device], value, `device ${device}`);
    });
  }

  test('a function that is inlined early, as another array has a dynamic size, and is copied in two steps', async () => {
    const text = `HloModule m, num_partitions=2
f {
  p = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  s = f32[2] custom-call(p), custom_call_target="SPMDFullToShardShape", sharding={manual}
  i = u32[] partition-id()
  j = f32[] convert(i)
  k = f32[2] broadcast(j), dimensions={}
  n = f32[2] add(s, k)
  ROOT r = f32[4] custom-call(n), custom_call_target="SPMDShardToFullShape", sharding={devices=[2]<=[2]}
}
ENTRY e {
  x = f32[4] parameter(0)
  n = s32[] constant(3)
  d = f32[<=4] set-dimension-size(x, n), dimensions={0}
  a = (f32[<=4], f32[<=4], u32[]) copy-start(d)
  b = f32[<=4] copy-done(a)
  ROOT r = f32[4] call(x), to_apply=f
}`;
    for (const y of await run(text, [[1, 2, 3, 4]], { partitions: 2 })) assert.deepEqual(y, [1, 2, 4, 5]);
  });

  test('there and back, without a number of partitions in the header', async () => {
    const text = `HloModule m
ENTRY e {
  x = f32[4,2] parameter(0)
  s = f32[4,2] custom-call(x), custom_call_target="Sharding", sharding={devices=[2,2,2]<=[2,4]T(1,0) last_tile_dim_replicate}
  f = f32[2,1] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
  n = f32[2,1] negate(f)
  ROOT y = f32[4,2] custom-call(n), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,2,2]<=[2,4]T(1,0) last_tile_dim_replicate}
}`;
    const results = await run(text, [[[1, 2], [3, 4], [5, 6], [7, 8]]]);
    assert.equal(results.length, 8);
    for (const y of results) assert.deepEqual(y, [[-1, -2], [-3, -4], [-5, -6], [-7, -8]]);
  });
});

/* ---- Shards of shards ---- */

test('nested computations gather along their own axes, on meshes of their own', async () => {
  const text = `module @m attributes {mhlo.num_partitions = 8 : i32} {
    sdy.mesh @mesh = <["a"=4, "b"=2]>
    sdy.mesh @other = <["x"=8]>
    func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a", ?}, {?}]>] out_shardings=[<@mesh, [{"a", ?}, {?}]>]
          manual_axes={"a"} (%y: tensor<2x4xf32>) {
        %1 = sdy.manual_computation(%y) in_shardings=[<@mesh, [{?}, {"b", ?}]>] out_shardings=[<@mesh, [{?}, {"b", ?}]>]
            manual_axes={"b"} (%z: tensor<2x2xf32>) {
          %2 = stablehlo.negate %z : tensor<2x2xf32>
          sdy.return %2 : tensor<2x2xf32>
        } : (tensor<2x4xf32>) -> tensor<2x4xf32>
        sdy.return %1 : tensor<2x4xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %3 = sdy.manual_computation(%0) in_shardings=[<@other, [{"x"}, {}]>] out_shardings=[<@other, [{"x"}, {}]>]
          manual_axes={"x"} (%y: tensor<1x4xf32>) {
        %4 = stablehlo.add %y, %y : tensor<1x4xf32>
        sdy.return %4 : tensor<1x4xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      return %3 : tensor<8x4xf32>
    }
  }`;
  const x = Array.from({ length: 8 }, (_, i) => [1, 2, 3, 4].map((j) => 4 * i + j));
  for (const y of await run(text, [x])) assert.deepEqual(y, x.map((row) => row.map((v) => -2 * v)));
});

test('shardings at the call of the body, as exports of 2024 have them', async () => {
  const text = `HloModule m, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=4]>}}
body {
  y = f32[2] parameter(0)
  ROOT n = f32[2] negate(y)
}
ENTRY e {
  x = f32[8] parameter(0)
  l = f32[2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape"
  c = f32[2] call(l), to_apply=body, frontend_attributes={xla.sdy.manual_axes="#sdy<manual_axes{\\"x\\"}>",xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\\"x\\"}]>]>",xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\\"x\\"}]>]>"}
  ROOT g = f32[8] custom-call(c), custom_call_target="xla.sdy.LocalToGlobalShape"
}`;
  for (const y of await run(text, [[1, 2, 3, 4, 5, 6, 7, 8]])) assert.deepEqual(y, [-1, -2, -3, -4, -5, -6, -7, -8]);
});

/* ---- Partitions that nothing tells apart ---- */

describe('a program for 8 partitions that are all the same', () => {
  const text = `module @m attributes {mhlo.num_partitions = 8 : i32} {
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
      %0 = stablehlo.add %x, %x : tensor<8xf32>
      %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%y: tensor<8xf32>) {
        sdy.return %y : tensor<8xf32>
      } : (tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
  }`;
  for (const [what, options, devices] of [
    ['runs on one device', undefined, 1], ['or on one as asked', { partitions: 1 }, 1],
    ['or on all', { partitions: 8 }, 8], ['or on others', { partitions: 3 }, 3],
  ]) {
    test(what, async () => {
      const results = await run(text, [[1, 2, 3, 4, 5, 6, 7, 8]], options);
      assert.deepEqual(results, new Array(devices).fill([2, 4, 6, 8, 10, 12, 14, 16]));
    });
  }

  test('but not where a shard is taken', async () => {
    const divided = numbered('["x"=8]', '"x"', '[{"x"}]', '1', '8');
    await refused(run(divided, [], { partitions: 1 }), 'INVALID_ARGUMENT', /num_partitions=8/, /1 partitions/);
    await refused(run(divided, [], { partitions: 16 }), 'INVALID_ARGUMENT', /for 8 partitions; it is given 16/);
  });
});

/* ---- Hints ---- */

describe('hints change nothing:', () => {
  const program = (lines, result = '%y') => `module @m {
    sdy.mesh @mesh = <["a"=2, "b"=4]>
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      ${lines}
      return ${result} : tensor<4xf32>
    }
  }`;
  const operations = {
    sharding_constraint: '%x <@mesh, [{"a", ?}p0], replicated={"b":(1)2}, unreduced={"b":(2)2}>',
    reshard: '%x <@mesh, [{"a"}]>',
    propagation_barrier: '%x allowed_direction=NONE',
    data_flow_edge: '%x sharding=<@mesh, [{"a"}]>',
    func_data_flow_edge: '%x',
    all_gather: '[{"b":(1)2}] %x out_sharding=<@mesh, [{"a"}]>',
    all_slice: '[{"b"}] %x out_sharding=<@mesh, [{"b"}]>',
    all_to_all: '[{"b"}: 0->1] %x out_sharding=<@mesh, [{"b"}]>',
    all_reduce: 'max {"b"} %x out_sharding=<@mesh, [{}]>',
    reduce_scatter: '[{"b"}] %x out_sharding=<@mesh, [{"b"}]>',
    collective_permute: '%x out_sharding=<@mesh, [{"b"}]>',
    sharded_to_unreduced: '[{"a"}] %x out_sharding=<@mesh, [{}], unreduced={"a"}>',
    replicated_to_unreduced: '{"a"} %x out_sharding=<@mesh, [{}], unreduced={"a"}>',
  };
  for (const [name, text] of Object.entries(operations)) {
    test(`sdy.${name}`, async () =>
      assert.deepEqual(await run(program(`%y = sdy.${name} ${text} : tensor<4xf32>`), [[1, 2, 3, 4]]), [[1, 2, 3, 4]]));
  }
  const constants = {
    pretty: 'sdy.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>',
    splat: 'sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} dense<2.0> : tensor<4xf32>',
    generic: '"sdy.constant"() <{value = dense<3.0> : tensor<4xf32>}> : () -> tensor<4xf32>',
  };
  for (const [what, text] of Object.entries(constants)) {
    test(`sdy.constant, ${what}`, async () => assert.deepEqual(await run(program(`%y = ${text}`), [[0, 0, 0, 0]]),
      [{ pretty: [1, 2, 3, 4], splat: [2, 2, 2, 2], generic: [3, 3, 3, 3] }[what]]));
  }
  test('sdy.sharding_group', async () => assert.deepEqual(await run(
    program('sdy.sharding_group %x group_id=0 : tensor<4xf32>\n"sdy.sharding_group"(%x) <{group_id = 1 : i64}> : (tensor<4xf32>) -> ()', '%x'),
    [[1, 2, 3, 4]]), [[1, 2, 3, 4]]));
  test('sdy.named_computation', async () => assert.deepEqual(await run(program(
    `%y = sdy.named_computation<"f">(%x) in_shardings=[<@mesh, [{}]>] (%z: tensor<4xf32>) {
      %n = stablehlo.negate %z : tensor<4xf32>
      sdy.return %n : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>`), [[1, 2, 3, 4]]), [[-1, -2, -3, -4]]));

  for (const target of ['Sharding', 'xla.sdy.FuncResultSharding', 'xla.sdy.PropagationBarrier', 'MoveToHost',
    'MoveToDevice', 'InspectSharding', 'annotate_device_placement', 'LayoutConstraint']) {
    test(`a custom call of ${target}`, async () => {
      const text = `HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  ROOT y = f32[2] custom-call(x), custom_call_target="${target}", custom_call_has_side_effect=true, backend_config="\\020\\000\\177"
}`;
      assert.deepEqual(await run(text, [[1, 2]]), [[1, 2]]);
      const mlir = program(`%y = stablehlo.custom_call @${target}(%x) {backend_config = "\\10\\05\\8A \\84\\7F\\00\\00", has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>`);
      assert.deepEqual(await run(mlir, [[1, 2, 3, 4]]), [[1, 2, 3, 4]]);
    });
  }
  test('a custom call of xla.sdy.ShardingGroup, which gives nothing back', async () => {
    const text = `HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  g = () custom-call(x), custom_call_target="xla.sdy.ShardingGroup", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.sharding_group_id="0 : i64"}
  ROOT y = f32[2] negate(x)
}`;
    assert.deepEqual(await run(text, [[1, 2]]), [[-1, -2]]);
  });

  test("sharding attributes in each of XLA's forms", async () => {
    for (const sharding of ['{replicated}', '{manual}', '{unknown}', '{unreduced}', '{maximal device=3}', '{maximal device=-1}',
      '{devices=[2]<=[2]}', '{devices=[2]1,0}', '{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}',
      '{devices=[2]<=[2] metadata={op_name="a}" source_line=3}}', '{devices=[2]<=[2] shard_as 1}', '{replicated shard_like 0}',
      '{{replicated}, /*index=1*/{devices=[2]<=[2]}}', '{}', "{mesh['a'=2], [{'a'}]}", '{maximal_mesh[device_id=0]}']) {
      const text = `ENTRY e {\n  x = f32[2] parameter(0), sharding=${sharding}\n  ROOT y = f32[2] negate(x), sharding=${sharding}\n}`;
      const module = client.parseHlo(text);
      assert.equal(client.parseHlo(module.toString()).toString(), module.toString());
    }
  });
});

/** Serialized by xla_client.OpSharding. */
const PROTOS = {
  '08031a0402010202420204004a02020452020100': '{devices=[2,1,2,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}',
  '08031a010822080706050403020100': '{devices=[8]7,6,5,4,3,2,1,0}',
  '08031a020204220800010203040506073001': '{devices=[2,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}',
  '0804': '{manual}',
};
test('shardings of exports that keep the bytes of a proto', async () => {
  for (const [hex, expected] of Object.entries(PROTOS)) {
    const module = await client.load(new TextEncoder().encode(`func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "${hex.replace(/../g, '\\$&')}"} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }`));
    assert.ok(String(module).includes(`sharding=${expected}`), String(module));
  }
});

/* ---- What is refused, and where ---- */

const REFUSED = [
  ['an axis that the mesh does not have', ['"x"', '[{"q"}]'], /axis "q"/],
  ['a mesh that the program does not have', ['"x"', '[{"x"}]', '@none'], /mesh @none/],
  ['a manual axis that the mesh does not have', ['"q"', '[{"x"}]'], /manual_axes: the mesh has no axis "q"/],
  ['an axis twice', ['"x", "y"', '[{"x", "x"}]', '@mesh', '2', '8'], /twice/],
  ['an axis more often than numbers can count', ['"x", "y"', `[{${Array(40).fill('"y"').join(', ')}}]`], /not 4097 shards/],
  ['an axis in two dimensions', ['"x", "y"', '[{"x"}, {"x"}]', '@mesh', '1x1', '2x2'], /twice/],
  ['an axis that is summed over and divides', ['"x", "y"', '[{"x"}], unreduced={"x"}'], /twice/],
  ['a part that an axis does not have', ['"x", "y"', '[{"y":(3)2}]'], /no part \(3\)2/],
  ['a manual axis after one that is not', ['"x"', '[{"y", "x"}]'], /"x" after one that is not/],
  ['a shard that does not fit', ['"x"', '[{"x"}]', '@mesh', '3', '8'], /not 2 shards/],
  ['a rank that does not fit', ['"x"', '[{"x"}, {}]'], /rank 2/],
  ['an unknown word', ['"x"', '[{"x"}], shared={"y"}'], /shared/],
  ['an unknown reduction', ['"x"', '[{}], unreduced=product{"x"}', '@mesh', '8', '8'], /product/],
  ['a dimension that is none', ['"x"', '["x"]'], /expected '\{'/],
];
describe('of a manual computation is refused', () => {
  const program = (axes, sharding, mesh = '@mesh', local = '4', global = '8') =>
    `module @m attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<${global}xf32>) -> tensor<${global}xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<${mesh}, ${sharding}>] out_shardings=[<${mesh}, ${sharding}>] manual_axes={${axes}} (%b: tensor<${local}xf32>) {
      sdy.return %b : tensor<${local}xf32>
    } : (tensor<${global}xf32>) -> tensor<${global}xf32>
    return %0 : tensor<${global}xf32>
  }
}`;
  for (const [what, parts, pattern] of REFUSED) {
    test(what, () => refused(run(program(...parts)), 'INVALID_ARGUMENT', /sdy\.manual_computation/, pattern, / at 4:5$/));
  }
});

const CALLS = [
  ['no sharding of the whole', '', 'SPMDFullToShardShape', '{manual}', /not stated/],
  ['a maximal sharding of the whole', '{maximal device=0}', 'SPMDFullToShardShape', '{manual}', /does not say which partition/],
  ['a shard that is not manual', '{devices=[2]<=[2]}', 'SPMDFullToShardShape', '{replicated}', /not manual/],
  ['too few devices', '{devices=[2]<=[4]}', 'SPMDFullToShardShape', '{manual}', /not equally many/],
  ['a device twice', '{devices=[2]0,0}', 'SPMDFullToShardShape', '{manual}', /each once/],
  ['another rank', '{devices=[1,2]<=[2]}', 'SPMDFullToShardShape', '{manual}', /2 dimensions, the array 1/],
  ['tiles that do not fit', '{devices=[4]<=[4]}', 'SPMDFullToShardShape', '{manual}', /4 shards of size 2/],
  ['a word that is no sharding', '{scattered}', 'SPMDFullToShardShape', '{manual}', /'scattered'/],
  ['an unknown kind of tiles', '{devices=[2,2]<=[4] last_tile_dims={scattered}}', 'SPMDFullToShardShape', '{manual}', /'scattered'/],
  ['no shardings', '', 'xla.sdy.GlobalToLocalShape', '{manual}', /in_shardings or xla.sdy.manual_axes is missing/],
];
describe('of HLO is refused', () => {
  for (const [what, sharding, target, manual, pattern] of CALLS) {
    test(what, () => refused(run(`HloModule m
ENTRY e {
  x = f32[4] parameter(0)${sharding && `, sharding=${sharding}`}
  ROOT y = f32[2] custom-call(x), custom_call_target="${target}", sharding=${manual}
}`), 'INVALID_ARGUMENT', pattern, target.startsWith('xla') ? /y/ : / at [34]:\d+$/));
  }

  test('a program whose shardings are for different numbers of devices', () => refused(run(`HloModule m
ENTRY e {
  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  a = f32[2] custom-call(x), custom_call_target="SPMDFullToShardShape", sharding={manual}
  ROOT y = f32[8] custom-call(a), custom_call_target="SPMDShardToFullShape", sharding={devices=[4]<=[4]}
}`), 'INVALID_ARGUMENT', /y: its sharding is for 4 partitions/, /for 2/));
});

describe('of hints is refused', () => {
  for (const [what, attribute, pattern] of [
    ['an axis', 'sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"q"}]>]>', /"q"/],
    ['a mesh', 'sdy.sharding = #sdy.sharding_per_value<[<@other, [{"x"}]>]>', /@other/],
    ['a part of an axis', 'sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(3)5}]>]>', /"x":\(3\)5/],
    ['a clause', 'sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], shared={"x"}>]>', /shared/],
    ['bytes that are no sharding', 'mhlo.sharding = "scattered"', /custom_call/],
    ['a sharding of XLA', 'mhlo.sharding = "{scattered}"', /'scattered'/],
  ]) {
    test(what, () => refused(run(`module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @Sharding(%a) {${attribute}} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}`), 'INVALID_ARGUMENT', pattern, / at 4:5$/));
  }

  test('an argument\'s', () => refused(run(`module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"q"}]>}) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}`), 'INVALID_ARGUMENT', /"q"/, / at 3:3$/));
});

test('custom partitioning is refused when loaded, with the reason', async () => {
  const hlo = `ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] custom-call(x), custom_call_target="CustomSPMDPartitioning"
}`;
  await refused(client.load(new TextEncoder().encode(hlo)), 'UNIMPLEMENTED', /CustomSPMDPartitioning/, /Python/, / at 3:\d+$/);
});

/* ---- Collectives whose computation has another type ---- */

test('a collective applies the operation, not the type, of its computation', async () => {
  const text = `HloModule m
add8 {
  a = f8e4m3fn[] parameter(0)
  b = f8e4m3fn[] parameter(1)
  ROOT c = f8e4m3fn[] add(a, b)
}
ENTRY e {
  x = f16[2] parameter(0)
  s = f16[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add8
  r = f16[1] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=add8
  ROOT y = f16[3] concatenate(s, r), dimensions={0}
}`;
  const executable = await client.compile(client.parseHlo(text), { replicas: 2 });
  const results = await executable.executeReplicas([[[1, 0.5]], [[0.0625, 3]]]);
  assert.deepEqual(results.map(([y]) => y.toArray()), [[1.0625, 3.5, 1.0625], [1.0625, 3.5, 3.5]]);
  executable.dispose();
  await refused(client.load(new TextEncoder().encode(text.replaceAll('f8e4m3fn', 's8'))), 'INVALID_ARGUMENT', /must be f16\[\]/);
});
