/** The main job: demo/train.mjs, as `make run` starts it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { splitDigits } from '../../demo/train/digits.mjs';
import { Training } from '../../demo/train/model.mjs';
import { packDigits } from '../../demo/train/pack_digits.mjs';
import { lines, run } from '../support/program.mjs';
import { ALL } from '../support/sample.mjs';

const train = (...options) => run(process.execPath, ['demo/train.mjs', ...options.map(String)]);

async function trained(...options) {
  const result = await train(...options);
  assert.equal(result.code, 0, result.stderr);
  return lines(result.stdout);
}

/** Reads the last lines: a checksum per replica, and the accuracy. */
function outcome(output) {
  const last = output.at(-1);
  const form = /^test accuracy (0\.\d{4}), weights ([0-9a-f]{8}) on (\d+) replicas?, (\d+\.\d) s$/;
  assert.match(last, form);
  const [, accuracy, weights, replicas] = last.match(form);
  const checksums = output
    .map((line) => line.match(/^replica \d+: weights ([0-9a-f]{8})$/)?.[1])
    .filter(Boolean);
  return { accuracy: Number(accuracy), weights, replicas: Number(replicas), checksums };
}

const curve = (output) =>
  output.map((line) => line.match(/^epoch \d+ mean loss (\S+)$/)?.[1]).filter(Boolean).map(Number);

const eight = trained('--epochs', 8);

test('it learns: at least 93 % of the test digits, the same weights on four replicas', async () => {
  const output = await eight;
  const { accuracy, weights, replicas, checksums } = outcome(output);
  assert.ok(accuracy >= 0.93, `accuracy ${accuracy}`);
  assert.equal(replicas, 4);
  assert.deepEqual(checksums, Array(4).fill(weights));
});

test('without a terminal it prints a plain line per epoch', async () => {
  const output = await eight;
  const epochs = output.filter((line) => line.startsWith('epoch '));
  assert.equal(epochs.length, 8);
  for (const line of epochs) {
    assert.match(line, /^epoch \d {2}step \d+\/1000 {2}loss \d\.\d+ {2}accuracy \d\.\d+ {2}\d+ steps\/s$/);
  }
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(output.join('\n'), /[\r\x1b]/);
});

test('on a terminal it shows a bar', async () => {
  const command = `${process.execPath} demo/train.mjs --epochs 1`;
  const { code, stdout } = await run('script', ['-qec', command, '/dev/null']);
  assert.equal(code, 0);
  const full = stdout.split('\r').filter((part) => part.startsWith(`[${'#'.repeat(24)}] 125/125 `));
  assert.equal(full.length, 1);
  assert.match(full[0], /loss \d\.\d+ {2}accuracy \d\.\d+ {2}\d+ steps\/s/);
  assert.match(stdout, /test accuracy 0\.\d{4}, weights [0-9a-f]{8} on 4 replicas, \d+\.\d s\r?\n$/);
});

test('the loss curve is the same on 1, 2, 4 and 8 replicas at the same global batch', async () => {
  const curves = [];
  for (const replicas of ALL ? [1, 2, 4, 8] : [1, 2, 8]) {
    const output = await trained('--epochs', 2, '--curve', '--replicas', replicas);
    assert.equal(outcome(output).checksums.length, replicas);
    curves.push(curve(output));
  }
  const [one, ...others] = curves;
  assert.equal(one.length, 2);
  assert.ok(one[1] < one[0] && one[1] > 0, `the loss falls: ${one}`);
  // The sums of the gradients round in another order: 250 steps of 1e-7 each, a little amplified.
  for (const other of others) {
    other.forEach((loss, epoch) => {
      assert.ok(Math.abs(loss / one[epoch] - 1) < 1e-4, `${loss} instead of ${one[epoch]}`);
    });
  }
});

test('the weights are bit for bit the same on 0, 1, 2 and 4 threads', async () => {
  const weights = new Set();
  for (const threads of ALL ? [0, 1, 2, 4] : [0, 1, 4]) {
    weights.add(outcome(await trained('--epochs', 1, '--threads', threads)).weights);
  }
  assert.equal(weights.size, 1, [...weights].join(' '));
});

test('several steps in one program are those steps', async () => {
  const digits = splitDigits(await packDigits()), client = await Client.create({ threads: 2 });
  const [ones, five] = await Promise.all([1, 5].map((stepsPerRun) =>
    Training.create(client, digits, { replicas: 2, stepsPerRun })));
  const { outcomes } = await five.nextRun();
  for (const { step, loss, accuracy } of outcomes) {
    const one = await ones.next();
    assert.deepEqual([one.step, one.loss, one.accuracy], [step, loss, accuracy]);
  }
  assert.equal(five.step, 5);
  assert.deepEqual(five.checksums(), ones.checksums());
  client.dispose();
});

describe('an option that makes no sense is one line on stderr, and exit 1', () => {
  const rows = [
    [['--replicas', '3'], /replicas/],
    [['--replicas', 'NaN'], /replicas/],
    [['--replicas', '0'], /replicas/],
    [['--replicas', '-1'], /replicas/],
    [['--threads', 'two'], /threads/],
    [['--threads', '1e9'], /threads/],
    [['--threads', '1.5'], /threads/],
    [['--epochs', '0'], /epochs/],
    [['--epochs'], /epochs/],
    [['--rate', '1'], /rate/],
    [['twice'], /twice/],
  ];
  for (const [options, what] of rows) {
    test(options.join(' '), async () => {
      const { code, stdout, stderr } = await train(...options);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, /^error: [^\n]+\n$/);
      assert.match(stderr, what);
    });
  }
});

test('--help tells every option', async () => {
  const { code, stdout } = await train('--help');
  assert.equal(code, 0);
  for (const option of ['--replicas', '--threads', '--epochs']) assert.ok(stdout.includes(option));
});
