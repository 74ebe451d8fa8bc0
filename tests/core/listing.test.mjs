/** Listings of a compiled program, executable.thunks() and executable.memoryPlan(): every step with its buffers, and the two agree. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { stepsOf as readSteps } from '../../bindings/objects/listing.mjs';

const client = await Client.create({ threads: 0 });
after(() => client.dispose());

const TEXT = `HloModule m
add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }
more { s = (s32[], f32[64,64], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(3)\n ROOT p = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[64,64], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = f32[64,64] get-tuple-element(s), index=1
 z = f32[64,64] get-tuple-element(s), index=2\n one = s32[] constant(1)\n j = s32[] add(i, one)
 y = f32[64,64] dot(x, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT t = (s32[], f32[64,64], f32[64,64]) tuple(j, y, z) }
left { x = f32[64,64] parameter(0)\n ROOT k = f32[64,64] cholesky(x), lower=true }
right { x = f32[64,64] parameter(0)\n ROOT l = f32[64,64] sort(x), dimensions={1}, to_apply=less }
ENTRY e { x = f32[64,64] parameter(0)\n v = f32[64,64] parameter(1)\n b = pred[] parameter(2)
 d = f32[64,64] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}
 q = f32[64,64] exponential(d)\n i = s32[] constant(0)\n t = (s32[], f32[64,64], f32[64,64]) tuple(i, q, v)
 w = (s32[], f32[64,64], f32[64,64]) while(t), condition=more, body=body\n g = f32[64,64] get-tuple-element(w), index=1
 c = f32[64,64] conditional(b, g, g), true_computation=left, false_computation=right
 zero = f32[] constant(0)\n r = f32[64] reduce(c, zero), dimensions={1}, to_apply=add
 ROOT o = (f32[64,64], f32[64], f32[64,64]) tuple(c, r, d) }
`;

const isPlace = (word) => /^(@|parameter|constant|result)\d+$/.test(word);
/** The steps: { kind, name, reads, writes }, places as in the listing. */
function stepsOf(listing) {
  return Array.from(listing.matchAll(/^ *([a-z]+) (\S+?)(?: \[[^\]]*\])?:(.*) ->(.*)$/gm), ([, kind, name, reads, writes]) =>
    ({ kind, name, reads: reads.split(' ').filter(Boolean), writes: writes.split(' ').filter(Boolean) }));
}
const placeOf = ({ place, offset }) => (place === 'arena' ? `@${offset}` : place);

test('every step reads and writes places that are written before, and the memory plan has the same places', async () => {
  const module = client.parseHlo(TEXT), executable = await client.compile(module);
  const listing = executable.thunks(), steps = stepsOf(listing), plan = executable.memoryPlan();
  assert.equal(Number(/^arena of (\d+) bytes/.exec(listing)[1]), plan.arenaBytes);
  const written = new Set();
  for (const { kind, name, reads, writes } of steps) {
    for (const place of [...reads, ...writes]) assert.ok(isPlace(place), `${name}: ${place}`);
    for (const place of reads) assert.ok(/^(parameter|constant)/.test(place) || written.has(place),
      `${name} reads ${place} before it is written:\n${listing}`);
    for (const place of writes) written.add(place);
    if (['kernel', 'generated', 'eval', 'copy'].includes(kind)) assert.ok(writes.length && reads.length, `${name}:\n${listing}`);
  }
  const inPlan = plan.buffers.filter(({ works }) => !works);
  const sorted = (places) => [...new Set(places)].sort();
  assert.deepEqual(sorted(inPlan.map(placeOf)), sorted(steps.flatMap(({ reads, writes }) => [...reads, ...writes])));
  for (const { kind, name, writes } of steps) {
    const own = inPlan.filter((buffer) => buffer.name === name).map(placeOf);
    if (['kernel', 'generated'].includes(kind)) for (const place of writes) assert.ok(own.includes(place),
      `${name} writes ${place}, the plan has ${own}`);
  }
  for (const { place, offset, bytes, first, last } of plan.buffers) {
    if (place === 'arena') assert.ok(offset + bytes <= plan.arenaBytes);
    assert.ok(first <= last);
  }
  executable.dispose();
  module.dispose();
});

test('the places of a step are those of its operands, in their order', async () => {
  const module = client.parseHlo(TEXT), executable = await client.compile(module);
  const steps = stepsOf(executable.thunks()), of = (name) => steps.filter((step) => step.name === name);
  assert.deepEqual(of('d').map(({ reads, writes }) => [reads, writes]), [[['parameter0', 'parameter1'], ['result2']]]);
  assert.deepEqual(of('r').at(-1).reads, ['result0']);
  assert.deepEqual(of('r').at(-1).writes, ['result1']);
  assert.equal(of('y')[0].reads.length, 2);
  for (const name of ['k', 'l']) assert.deepEqual(of(name).map(({ kind, writes }) => [kind, writes]), [['kernel', ['result0']]]);
  assert.deepEqual(of('c').find(({ kind }) => kind === 'conditional').reads, ['parameter2']);
  executable.dispose();
  module.dispose();
});

test('the reader of listings finds steps of all kinds, with their functions', async () => {
  const module = client.parseHlo(TEXT);
  const kinds = new Set();
  for (const options of [{}, { optimize: false }, { disable: ['regions'] }]) {
    const executable = await client.compile(module, options), listing = executable.thunks();
    const steps = readSteps(listing);
    assert.deepEqual(steps.map(({ kind, name }) => `${kind} ${name}`), stepsOf(listing).map(({ kind, name }) => `${kind} ${name}`));
    assert.equal(steps.filter(({ functionNumber }) => functionNumber >= 0).length, listing.match(/\[function /g)?.length ?? 0);
    for (const { kind, line, depth } of steps) {
      kinds.add(kind);
      assert.ok(listing.includes(`\n${'  '.repeat(depth)}${line}\n`), line);
    }
    executable.dispose();
  }
  for (const kind of ['eval', 'generated', 'kernel', 'while', 'conditional']) assert.ok(kinds.has(kind), `no ${kind} among ${[...kinds]}`);
  module.dispose();
});

test('memory that a kernel works in is its own while it runs', async () => {
  const module = client.parseHlo(TEXT), executable = await client.compile(module), { buffers } = executable.memoryPlan();
  const works = buffers.filter((buffer) => buffer.works);
  assert.ok(works.length > 0);
  for (const own of works) {
    for (const other of buffers) {
      const isAlive = other !== own && other.place === 'arena' && other.first <= own.last && own.first <= other.last;
      if (isAlive) assert.ok(other.offset >= own.offset + own.bytes || own.offset >= other.offset + other.bytes,
        `${own.name} works in the memory of ${other.name}`);
    }
  }
  executable.dispose();
  module.dispose();
});

test('steps of loops and branches are indented below what they belong to, however deep', async () => {
  const loop = (name, body) => `more_${name} { s = (s32[], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(3)\n ROOT p = pred[] compare(i, n), direction=LT }
${name} { s = (s32[], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = f32[64,64] get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)
 ${body}\n ROOT t = (s32[], f32[64,64]) tuple(j, y) }\n`;
  const call = (name) => `z = s32[] constant(0)\n u = (s32[], f32[64,64]) tuple(z, x)\n w = (s32[], f32[64,64]) while(u), condition=more_${name}, body=${name}\n y = f32[64,64] get-tuple-element(w), index=1`;
  const text = `${loop('inner', 'y = f32[64,64] cholesky(x), lower=true')}${loop('middle', call('inner'))}${loop('outer', call('middle'))}
ENTRY e { x = f32[64,64] parameter(0)\n ${call('outer').replace('y = ', 'ROOT y = ')} }`;
  const module = client.parseHlo(text), executable = await client.compile(module, { disable: ['unroll-loops'] });
  const lines = executable.thunks().split('\n').filter(Boolean).slice(1).map((line) => [/^ */.exec(line)[0].length, line.trim()]);
  const parts = lines.flatMap(([, word], n) => (/^(condition|body)$/.test(word) ? [n] : []));
  assert.equal(parts.length, 6, executable.thunks());
  for (const n of parts) {
    assert.equal(lines[n + 1][0], lines[n][0] + 2, executable.thunks());
    assert.equal(lines.slice(0, n).findLast(([, word]) => /^while /.test(word))[0] < lines[n][0], true, executable.thunks());
  }
  assert.ok(Math.max(...lines.map(([deep]) => deep)) >= 12, executable.thunks());
  executable.dispose();
  module.dispose();
});
