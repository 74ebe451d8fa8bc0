/**
 * A reporter for `make test`: writes the seconds that each test file took, the longest first, and in a file beside
 * (FAILED_FILES) the files in which a test failed.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('..', import.meta.url));

export default async function* durations(source) {
  const seconds = new Map();
  const failed = new Set();
  for await (const { type, data } of source) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.nesting !== 0 || !data.file) continue;
    const file = relative(TESTS, data.file);
    seconds.set(file, (seconds.get(file) ?? 0) + data.details.duration_ms / 1000);
    if (type === 'test:fail') failed.add(file);
  }
  if (process.env.FAILED_FILES) writeFileSync(process.env.FAILED_FILES, [...failed].map((file) => `${file}\n`).join(''));
  for (const [file, time] of [...seconds].sort((a, b) => b[1] - a[1])) yield `${time.toFixed(1).padStart(7)} ${file}\n`;
}
