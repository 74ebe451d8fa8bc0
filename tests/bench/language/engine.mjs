/** An engine with a prepared model, in its own process or page: language.mjs calls prepare() and round(). */
const ENGINES = {
  xla: () => import('./engine_xla.mjs'), ort: () => import('./engine_ort.mjs'), wllama: () => import('./engine_wllama.mjs'),
};

let prepared;

/** @returns {Promise<{ logits: number[] | null }>} the first 1,000 logits of the first step */
export async function prepare(name, library, options) {
  const { prepare: start } = await ENGINES[name]();
  prepared = await start(library, options);
  const begin = performance.now();
  while (performance.now() - begin < 500) await prepared.next();
  return { logits: prepared.logits ?? null };
}

/** Runs for about a second, at least two steps: { ms, the least of a token; tokens, how many; memory }. */
export async function round() {
  const end = performance.now() + 1000;
  let ms = Infinity, tokens = 0;
  for (let i = 0; i < 2 || performance.now() < end; i++) {
    const begin = performance.now();
    const said = await prepared.next(); // some make several tokens, and take the time themselves
    ms = Math.min(ms, said?.ms ?? performance.now() - begin);
    tokens += said?.tokens ?? 1;
  }
  return { ms, tokens, memory: prepared.memory?.() ?? null };
}
