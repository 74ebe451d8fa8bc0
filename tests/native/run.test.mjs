/** xla-run on HLO files, under sanitizers (make native native-tsan builds it). */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { OPTIONS, passes, TIMEOUT } from '../support/native.mjs';
import { lines, ROOT, run } from '../support/program.mjs';

const BUILDS = { 'ASan and UBSan': 'build/native', ThreadSanitizer: 'build/native-tsan' };

const ADD = `%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
`;

const FILES = {
  'axpy.hlo': `HloModule axpy
ENTRY %main (x: f32[2,3], v: f32[3]) -> f32[2,3] {
  %x = f32[2,3] parameter(0)
  %v = f32[3] parameter(1)
  %b = f32[2,3] broadcast(%v), dimensions={1}
  ROOT %r = f32[2,3] add(%x, %b)
}
`,
  // Every replica passes its value along a ring, 5 times, and all sum up the received values.
  'ring.hlo': `HloModule ring, replica_count=4
${ADD}
%body (s: (s32[], f32[2])) -> (s32[], f32[2]) {
  %s = (s32[], f32[2]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %v = f32[2] get-tuple-element(%s), index=1
  %moved = f32[2] collective-permute(%v), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %t = (s32[], f32[2]) tuple(%next, %moved)
}
%more (s: (s32[], f32[2])) -> pred[] {
  %s = (s32[], f32[2]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %five = s32[] constant(5)
  ROOT %p = pred[] compare(%i, %five), direction=LT
}
ENTRY %main () -> (f32[2], f32[2]) {
  %id = u32[] replica-id()
  %f = f32[] convert(%id)
  %v = f32[2] broadcast(%f), dimensions={}
  %zero = s32[] constant(0)
  %t = (s32[], f32[2]) tuple(%zero, %v)
  %w = (s32[], f32[2]) while(%t), condition=%more, body=%body
  %r = f32[2] get-tuple-element(%w), index=1
  %sum = f32[2] all-reduce(%r), replica_groups={{0,1},{2,3}}, to_apply=%add
  ROOT %out = (f32[2], f32[2]) tuple(%r, %sum)
}
`,
  // Large enough for several chunks and several threads: f32[300,300] of (id + 1), squared: each
  // element is 300 (id + 1)^2; all-reduced over 5 replicas 300 * 55; its rows sum up to 300 times as
  // much.
  'large.hlo': `HloModule large, replica_count=5
${ADD}
ENTRY %main () -> (f32[], f32[]) {
  %id = u32[] replica-id()
  %f = f32[] convert(%id)
  %one = f32[] constant(1)
  %n = f32[] add(%f, %one)
  %m = f32[300,300] broadcast(%n), dimensions={}
  %d = f32[300,300] dot(%m, %m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %all = f32[300,300] all-reduce(%d), replica_groups={}, to_apply=%add
  %zero = f32[] constant(0)
  %rows = f32[300] reduce(%all, %zero), dimensions={1}, to_apply=%add
  %last = f32[1] slice(%rows), slice={[299:300]}
  %row = f32[] reshape(%last)
  %corner = f32[1,1] slice(%d), slice={[0:1], [299:300]}
  %element = f32[] reshape(%corner)
  ROOT %out = (f32[], f32[]) tuple(%element, %row)
}
`,
  // A comparator that is no ordering: whatever comes out holds every position once.
  'odd-sort.hlo': `HloModule odd_sort
%beats (a: s32[], b: s32[], i: u32[], j: u32[]) -> pred[] {
  %a = s32[] parameter(0)
  %b = s32[] parameter(1)
  %i = u32[] parameter(2)
  %j = u32[] parameter(3)
  %three = s32[] constant(3)
  %one = s32[] constant(1)
  %d = s32[] subtract(%a, %b)
  %m = s32[] remainder(%d, %three)
  ROOT %r = pred[] compare(%m, %one), direction=EQ
}
%add (x: u32[], y: u32[]) -> u32[] {
  %x = u32[] parameter(0)
  %y = u32[] parameter(1)
  ROOT %s = u32[] add(%x, %y)
}
ENTRY %main (k: s32[]) -> u32[] {
  %k = s32[] parameter(0)
  %x = s32[5000] iota(), iota_dimension=0
  %i = u32[5000] iota(), iota_dimension=0
  %kk = s32[5000] broadcast(%k), dimensions={}
  %p = s32[5000] multiply(%x, %kk)
  %q = s32[5000] multiply(%p, %p)
  %s = (s32[5000], u32[5000]) sort(%q, %i), dimensions={0}, to_apply=%beats
  %o = u32[5000] get-tuple-element(%s), index=1
  %w = u32[5000] multiply(%o, %o)
  %zero = u32[] constant(0)
  ROOT %sum = u32[] reduce(%w, %zero), dimensions={0}, to_apply=%add
}
`,
  'deadlock.hlo': `HloModule deadlock, replica_count=3
${ADD}
%meet (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  ROOT %sum = f32[2] all-reduce(%v), replica_groups={}, to_apply=%add
}
%skip (v: f32[2]) -> f32[2] {
  ROOT %v = f32[2] parameter(0)
}
ENTRY %main (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  %id = u32[] replica-id()
  %one = u32[] constant(1)
  %is = pred[] compare(%id, %one), direction=EQ
  ROOT %c = f32[2] conditional(%is, %v, %v), true_computation=%skip, false_computation=%meet
}
`,
  'broken.hlo': `HloModule broken
ENTRY %main () -> f32[] {
  ROOT %c = f32[] constant(1
}
`,
};

for (const [sanitizer, folder] of Object.entries(BUILDS)) {
  describe(`xla-run under ${sanitizer}`, TIMEOUT, () => {
    let path;
    const xlaRun = (file, ...args) => passes(join(folder, 'xla-run'), [join(path, file), ...args]);
    const refused = (file, ...args) =>
      run(join(ROOT, folder, 'xla-run'), [join(path, file), ...args], OPTIONS);
    before(async () => {
      path = await mkdtemp(join(tmpdir(), 'xla-wasm-native-'));
      for (const [name, text] of Object.entries(FILES)) await writeFile(join(path, name), text);
    });
    after(() => rm(path, { recursive: true }));

    test('one replica', async () => {
      const inputs = ['--input', 'f32[2,3] {{1, 2, 3}, {4, 5, 6}}', '--input', 'f32[3] {7, 8, 9}'];
      assert.equal(await xlaRun('axpy.hlo', ...inputs), '0: f32[2,3] { { 8, 10, 12 }, { 11, 13, 15 } }\n');
    });

    for (const threads of ['0', '1', '3']) {
      test(`several replicas on ${threads} threads`, async () => {
        const got = lines(await xlaRun('ring.hlo', '--threads', threads));
        assert.deepEqual(got, [
          '0: f32[2] {3, 3}', '0: f32[2] {3, 3}', '1: f32[2] {0, 0}', '1: f32[2] {3, 3}',
          '2: f32[2] {1, 1}', '2: f32[2] {3, 3}', '3: f32[2] {2, 2}', '3: f32[2] {3, 3}',
        ]);
        const large = lines(await xlaRun('large.hlo', '--threads', threads));
        assert.deepEqual(large, [1, 4, 9, 16, 25].flatMap((square, replica) => [
          `${replica}: f32[] ${300 * square}`, `${replica}: f32[] 4.95e+06`])); // 300 * 300 * 55
      });

      test(`a deadlock on ${threads} threads`, async () => {
        const { code, stdout, stderr } =
          await refused('deadlock.hlo', '--input', 'f32[2] {1, 2}', '--threads', threads);
        assert.equal(code, 1);
        assert.equal(stdout, '');
        assert.match(stderr, /^error: [^\n]*deadlock[^\n]*replica 2 waits at all-reduce sum[^\n]*\n$/);
      });
    }

    test('a comparator that is no ordering', async () => {
      let sum = 0; // of the squares of all positions
      for (let i = 0; i < 5000; i++) sum = (sum + i * i) % 2 ** 32;
      const args = ['--input', 's32[] 7919', '--threads', '3'];
      assert.equal(await xlaRun('odd-sort.hlo', ...args), `0: u32[] ${sum}\n`);
    });

    test('bad input', async () => {
      for (const [file, ...args] of [
        ['broken.hlo'], ['missing.hlo'], ['axpy.hlo'],
        ['axpy.hlo', '--input', 'f32[2,3] {{1, 2}, {4, 5}}', '--input', 'f32[3] {7, 8, 9}'],
        ['axpy.hlo', '--what'],
      ]) {
        const { code, stdout, stderr } = await refused(file, ...args);
        assert.equal(code, 1, file);
        assert.equal(stdout, '');
        assert.match(stderr, /^error: [^\n]+\n$/);
      }
    });
  });
}
