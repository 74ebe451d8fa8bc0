/** The program of the landing page. */
export const PROGRAM = `import { Client } from 'xla-wasm';

// A line through four points, by gradient descent: one program, with its loop.
const x = [0, 1, 2, 3], y = [1, 3, 5, 7];

const client = await Client.create();
const b = client.builder('line');
const [xs, ys] = [x, y].map((list) => b.constant(list, 'f32[4]'));
const [, slope, start] = b.while((_, i) => i.lt(200), (f, i, slope, start) => {
  const error = xs.mul(slope).add(start).sub(ys);
  const [bySlope, byStart] = f.gradient(f.mean(error.mul(error)), [slope, start]);
  return [i.add(1), slope.sub(bySlope.mul(0.1)), start.sub(byStart.mul(0.1))];
}, [b.constant(0, 's32[]'), b.constant(0, 'f32[]'), b.constant(0, 'f32[]')]);

const line = await client.compile(b.build(b.tuple([slope, start])));
const [m, c] = await line.execute([]);
console.log(\`y = \${m.data[0].toFixed(2)} x + \${c.data[0].toFixed(2)}\`);
`;
