/** Measures 1,000 training steps from JavaScript: node speed.mjs PROGRAM, which speed.py has written. */
import { readFile } from 'node:fs/promises';

import { Client } from '../../build/node/sync.mjs';

const COUNT = 1000;
const text = await readFile(process.argv[2], 'utf8');
await Client.prepareSync({ threads: 1 });
const client = Client.createSync({});
const module = client.loadSync(text);
const executable = client.compileSync(module);
const [, header] = /@main\((.*?)\) ->/.exec(text);
const shapes = [...header.matchAll(/tensor<([\dx]*)x(f32|i32)>/g)].map(([, dims, type]) => ({
  text: `${type === 'i32' ? 's32' : type}[${dims.split('x')}]`,
  data: new (type === 'i32' ? Int32Array : Float32Array)(dims.split('x').reduce((a, b) => a * b, 1)).fill(type === 'i32' ? 1 : 0.01),
}));
const all = shapes.map((shape) => client.buffer(shape.data, shape.text));
let params = all.slice(0, 6), loss;
const rest = all.slice(6), donate = [0, 1, 2, 3, 4, 5];
function step() {
  const results = executable.executeSync([...params, ...rest], { device: true, donate });
  params = results.slice(0, 6);
  loss?.dispose();
  [loss] = results.slice(6);
}
step();
const clock = performance.now(), { user, system } = process.cpuUsage();
for (let i = 0; i < COUNT; i++) step();
const value = loss.toLiteralSync().toArray();
const used = process.cpuUsage();
console.log(`1,000 training steps: ${((performance.now() - clock) / 1000).toFixed(2)} s by the clock, ` +
  `${((used.user + used.system - user - system) / 1e6).toFixed(2)} s of this process's (loss ${value})`);
process.exit(0);
