/** wllama: llama.cpp's package on npm, in a page. native.py writes its files (Q8_0, Q4_0). It rounds activations to 8 bits. */
const TOKENS = 8;

export async function prepare({ Wllama }, { file, threads, files }) {
  const wllama = new Wllama({ default: `${files}wasm/wllama.wasm` }, { suppressNativeLog: true });
  await wllama.loadModel([await (await fetch(file)).blob()], { n_ctx: 256, n_threads: threads, n_gpu_layers: 0 });
  const text = 'a'.repeat(128); // of as many tokens
  const next = async () => {
    const { timings } = await wllama.createCompletion({ prompt: text, max_tokens: TOKENS, temperature: 0, ignore_eos: true, cache_prompt: true });
    return { ms: timings.predicted_per_token_ms, tokens: timings.prompt_n + timings.predicted_n };
  };
  return { next };
}
