/** A reporter for `make test`: writes the seconds that each test file took, the longest first. */
import { basename } from 'node:path';

export default async function* durations(source) {
  const seconds = new Map();
  for await (const { type, data } of source) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.nesting !== 0 || !data.file) continue;
    const file = basename(data.file);
    seconds.set(file, (seconds.get(file) ?? 0) + data.details.duration_ms / 1000);
  }
  for (const [file, time] of [...seconds].sort((a, b) => b[1] - a[1])) yield `${time.toFixed(1).padStart(7)} ${file}\n`;
}
