/** A server endpoint: POST /predict takes { "x": [four lengths] } and gives { "probabilities": [three] }. */
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Client, XlaError } from 'xla-wasm';

const WAIT_MS = 2; // how long a request waits for others

const client = await Client.create();
const model = await client.compile(await client.load(fileURLToPath(new URL('model.mlir', import.meta.url))));
const [batch, width] = model.parameters[0].shape.dimensions;

/** Requests that wait for the next run: { x, resolve, reject } */
let waiting = [];
let runs = 0;

function predict(x) {
  return new Promise((resolve, reject) => {
    waiting.push({ x, resolve, reject });
    if (waiting.length === batch) runBatch();
    else if (waiting.length === 1) setTimeout(runBatch, WAIT_MS);
  });
}

async function runBatch() {
  const own = waiting;
  waiting = [];
  if (!own.length) return; // it was full, and has run
  const x = new Float32Array(batch * width); // rows that are not used stay 0
  own.forEach((request, i) => x.set(request.x, i * width));
  try {
    const [probabilities] = await model.execute({ x });
    runs++;
    own.forEach(({ resolve }, i) => resolve(probabilities.toArray()[i]));
  } catch (error) {
    for (const { reject } of own) reject(error);
  }
}

async function bodyOf(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  const { x } = JSON.parse(text);
  if (!Array.isArray(x) || x.length !== width || !x.every(Number.isFinite)) throw new RangeError(`x must be ${width} numbers`);
  return x;
}

const server = createServer(async (request, response) => {
  const answer = (status, value) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  if (request.method !== 'POST' || request.url !== '/predict') return answer(404, { error: 'POST /predict' });
  try {
    const probabilities = await predict(await bodyOf(request));
    return answer(200, { probabilities, runs });
  } catch (error) {
    return answer(error instanceof XlaError ? 500 : 400, { error: error.message });
  }
});

server.listen(process.env.PORT ?? 8080, () => console.log(`http://localhost:${server.address().port}/predict, ${client.threads} threads`));
process.on('SIGTERM', () => server.close(() => client.dispose()));
