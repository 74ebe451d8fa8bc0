/** A program as a golden case: tests/golden/README.md has the format. */
import { leafOf } from './run.mjs';

export function goldenCase({ name, hlo, replicas, literals, expected, tolerance }) {
  const lines = [`case ${name}`];
  if (replicas > 1) lines.push(`replicas ${replicas}`);
  lines.push(`tol ${tolerance}`, `hlo ${Buffer.byteLength(hlo)}`);
  const head = `${lines.join('\n')}\n${hlo}`;
  const tail = [];
  const put = (word, replica, [shape, data]) =>
    tail.push(`${word} ${replica} ${shape} ${data}`.trimEnd());
  for (let replica = 0; replica < replicas; replica++) {
    for (const perReplica of literals) put('in', replica, leafOf(perReplica[replica]));
  }
  expected.forEach((leaves, replica) => leaves.forEach((leaf) => put('out', replica, leaf)));
  return `${head}${tail.join('\n')}\nend\n`;
}
