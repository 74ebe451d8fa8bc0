/**
 * Writes the toProto() of every case of the corpus, or of some families, for back_to_xla.py: lines of a family, a
 * case and the proto in base64.
 */
import { readdir } from 'node:fs/promises';

import { Client } from '../../bindings/index.mjs';
import { readGolden } from '../support/golden.mjs';

const folder = new URL('./', import.meta.url);
const client = await Client.create({ threads: 0 });
const wanted = process.argv.slice(2);
const files = (await readdir(folder)).filter((name) =>
  name.endsWith('.golden') && (!wanted.length || wanted.includes(name.replace('.golden', ''))));
for (const file of files.sort()) {
  for (const { name, hlo } of await readGolden(new URL(file, folder))) {
    const module = client.parseHlo(hlo);
    const proto = await module.toProto().then((bytes) => Buffer.from(bytes).toString('base64'), (error) => `! ${error.message}`);
    module.dispose();
    if (proto.startsWith('!')) {
      console.error(`not written: ${file} ${name}: ${proto}`);
      continue;
    }
    await new Promise((resolve) => {
      process.stdout.write(`${file.replace('.golden', '')} ${proto} ${name}\n`, resolve);
    });
  }
}
client.dispose();
