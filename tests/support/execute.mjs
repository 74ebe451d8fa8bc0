/**
 * Runs a program once, and frees it.
 *
 * @param {import('../../bindings/index.mjs').Client} client
 * @param {string} text HLO
 * @param {readonly unknown[]} args of the entry's parameters
 * @returns {Promise<unknown[]>} a number or nested array for each result
 */
export async function execute(client, text, args) {
  const module = client.parseHlo(text);
  const executable = await client.compile(module);
  try {
    return (await executable.execute(args)).map((literal) => literal.toArray());
  } finally {
    executable.dispose();
    module.dispose();
  }
}
