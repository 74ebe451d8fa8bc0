/** A reporter for `make test-anywhere`: a line of JSON for each test that failed by itself, { file, name, message }. */
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export default async function* failures(source) {
  for await (const { type, data } of source) {
    const error = data?.details?.error;
    if (type !== 'test:fail' || data.todo !== undefined || error?.failureType === 'subtestsFailed') continue;
    const [message] = String(error?.cause?.message ?? error?.message).split('\n');
    yield `${JSON.stringify({ file: relative(ROOT, data.file ?? data.name), name: data.name, message })}\n`;
  }
}
