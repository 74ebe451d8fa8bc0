/**
 * Runs the Python of documents and keeps what it wrote: PYTHON=… node tests/guides/write.mjs NAME...
 * The Python needs the modules that the documents name: jax flatbuffers flax optax safetensors keras; for pytorch torch and
 * torch_xla (2.9), for tensorflow tensorflow-cpu (2.21).
 */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { pythonOf, ROOT, SCENES } from './documents.mjs';

for (const name of process.argv.slice(2)) {
  const folder = `${ROOT}tests/guides/${name}`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await writeFile(`${folder}/export.py`, await pythonOf(SCENES.find((scene) => scene.name === name)));
  const { stdout } = await promisify(execFile)(process.env.PYTHON ?? 'python3', ['export.py'],
    { cwd: folder, env: { ...process.env, JAX_PLATFORMS: 'cpu' } });
  await writeFile(`${folder}/output.txt`, stdout);
  console.log(`${name}: ${stdout}`);
}
