/**
 * Writes what toProto() makes of every case of the corpus, for back_to_xla.py: lines of a family, a
 * case and the proto in base64.
 */
import { readdir } from 'node:fs/promises';

import { Client } from '../../bindings/index.mjs';
import { readGolden } from '../golden.mjs';

const folder = new URL('./', import.meta.url);
const client = await Client.create({ threads: 0 });
for (const file of (await readdir(folder)).filter((name) => name.endsWith('.golden')).sort()) {
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
