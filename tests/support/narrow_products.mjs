/** Products of vectors with matrices of narrow numbers, as JSON: narrow_products.mjs FUSED_MULTIPLY_ADD */
import { fileURLToPath } from 'node:url';

import { Client } from '../../bindings/index.mjs';

const SIZE = 300; // not a multiple of what loops read at once
const TYPES = ['bf16', 'f16', 's8', 'u8', 's4', 'u4', 'f8e4m3fn', 'f8e5m2'];

/** The sum of the largest products' rounding errors. */
export const ROUNDING = SIZE * (7 / 3) * 2 ** -24;

/** A product whose numbers times their scales, and sums, need to be rounded. */
const text = (type, rows, turned) => `HloModule m
ENTRY e { x = f32[${rows},${SIZE}] parameter(0)
  i = f32[${SIZE},${SIZE}] parameter(1)
  s = f32[${SIZE}] parameter(2)
  w = ${type}[${SIZE},${SIZE}] convert(i)
  o = ${type}[${SIZE},${SIZE}] opt-barrier(w)
  v = f32[${SIZE},${SIZE}] convert(o)
  b = f32[${SIZE},${SIZE}] broadcast(s), dimensions={1}
  m = f32[${SIZE},${SIZE}] multiply(v, b)
  ROOT r = f32[${rows},${SIZE}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`;
const floats = (count, scale) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 1.7) * scale);

/** Returns lists of numbers by name. */
export async function products(fusedMultiplyAdd) {
  const client = await Client.create({ threads: 0, fusedMultiplyAdd }), results = {};
  for (const type of TYPES) {
    for (const rows of [1, 3]) {
      for (const turned of [false, true]) {
        const program = await client.compile(client.parseHlo(text(type, rows, turned)));
        const matrix = floats(SIZE * SIZE, 7).map((x) => (type.startsWith('u') ? Math.abs(x) : x));
        const [result] = await program.execute([floats(rows * SIZE, 1), matrix, floats(SIZE, 1 / 3)]);
        results[`${type}, ${rows}, ${turned}`] = Array.from(result.data);
      }
    }
  }
  client.dispose();
  return results;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(JSON.stringify(await products(process.argv[2])));
