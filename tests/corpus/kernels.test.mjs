/**
 * Tests that each kernel of src/kernels/kernels.def runs an instruction of a program whose results real XLA made: in the
 * golden corpus. Else a test names the kernel.
 *
 * The first kernel that plans an instruction runs it, else the evaluator does. So a kernel runs one if the listing of
 * steps changes with it while all kernels after it are left out. Instructions that the evaluator does not know have a
 * kernel whatever is left out: there the kernel runs one if the results are wrong when the kernel is.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { goldenCases, namedByTests } from '../support/coverage.mjs';
import { faultyClient } from '../support/faulty.mjs';
import { checkCase } from '../support/golden.mjs';

const KERNEL = /^ *kernel /m;

/** The steps of a program with some parts of the compilation left out. */
async function stepsWithout(client, module, options) {
  const executable = await client.compile(module, options);
  const steps = executable.thunks();
  executable.dispose();
  return steps;
}

/** Whether a wrong kernel makes the results of a case wrong. */
async function isSeen({ client, put }, kernel, golden) {
  put(kernel);
  try {
    return await checkCase(client, golden, client.parseHlo(golden.hlo)).then(() => false, () => true);
  } finally {
    put('');
  }
}

/**
 * Finds those `left` of the kernels [low, high) that run an instruction: the steps without the kernels from it on are not
 * those without the kernels after it. The fewer are left out, the more instructions have a kernel: so if the steps are equal
 * at both ends, they are equal between.
 */
async function changing(stepsFrom, kernels, left, low, high) {
  if (!kernels.slice(low, high).some((name) => left.has(name))) return [];
  if (await stepsFrom(low) === await stepsFrom(high)) return [];
  if (high === low + 1) return [kernels[low]];
  const middle = (low + high) >> 1;
  return [...await changing(stepsFrom, kernels, left, low, middle), ...await changing(stepsFrom, kernels, left, middle, high)];
}

/** Removes those `left` of the kernels that run an instruction of a case. */
async function removeSeen(faulty, kernels, left, golden) {
  const { replicas, partitions, hlo } = golden, module = faulty.client.parseHlo(hlo);
  const counts = { replicas, ...(partitions > 1 && { partitions }) };
  const listings = new Map();
  /** The steps without the kernels from `first` on. */
  const stepsFrom = async (first) => {
    const disable = kernels.slice(first);
    if (!listings.has(first)) listings.set(first, await stepsWithout(faulty.client, module, { ...counts, disable }));
    return listings.get(first);
  };
  if (KERNEL.test(await stepsFrom(kernels.length))) {
    for (const name of await changing(stepsFrom, kernels, left, 0, kernels.length)) left.delete(name);
    if (KERNEL.test(await stepsFrom(0))) {
      for (const name of left) if (await isSeen(faulty, name, golden)) left.delete(name);
    }
  }
  module.dispose();
}

test('each kernel runs an instruction of the corpus, or is named by a test', async () => {
  const faulty = await faultyClient();
  const kernels = faulty.client.optionalPasses.filter((name) => name.startsWith('kernel-')), named = await namedByTests();
  const left = new Set(kernels.filter((name) => !named.has(name)));
  assert.ok(kernels.length > 10);
  for await (const golden of goldenCases()) {
    if (!left.size) break;
    await removeSeen(faulty, kernels, left, golden);
  }
  assert.deepEqual([...left], [], 'kernels of src/kernels/kernels.def without a program: add one to tests/golden/family_*.py');
  faulty.client.dispose();
});
