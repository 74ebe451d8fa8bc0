/** Runs functions on the same numbers of f32, in Node and in pages. */
export const FUNCTIONS = {
  exponential: Math.exp, tanh: Math.tanh, log: (x) => Math.log(x), logistic: (x) => 1 / (1 + Math.exp(-x)),
  'exponential-minus-one': Math.expm1, cbrt: Math.cbrt,
};
export const POINTS = Float32Array.from({ length: 3000 }, (_, i) => 0.001 + (i * 0.0017) ** 1.5);

/** @returns {Promise<Record<string, number[]>>} results by the function's name */
export async function runFunctions({ Client }, fusedMultiplyAdd) {
  const client = await Client.create({ threads: 0, fusedMultiplyAdd });
  const results = {};
  for (const name of Object.keys(FUNCTIONS)) {
    const executable = await client.compile(client.parseHlo(`HloModule functions
ENTRY main {
  x = f32[${POINTS.length}] parameter(0)
  ROOT y = f32[${POINTS.length}] ${name}(x)
}`));
    const [y] = await executable.execute([POINTS]);
    results[name] = [...y.data];
  }
  client.dispose();
  return results;
}
