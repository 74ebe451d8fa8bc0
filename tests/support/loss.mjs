/** A loss whose derivatives tests know, and the results of a program as arrays. */

/** (x, w) -> (sum(tanh(w x)), w x) */
export const LOSS = `HloModule loss
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[2] parameter(0)
  params.w = f32[2] parameter(1)
  params.n = s32[] parameter(2)
  y = f32[2] multiply(params.w, x)
  t = f32[2] tanh(y)
  zero = f32[] constant(0)
  loss = f32[] reduce(t, zero), dimensions={0}, to_apply=add
  ROOT r = (f32[], f32[2]) tuple(loss, y) }`;

/** Compiles and runs a module. @returns {Promise<any[]>} nested arrays of numbers */
export async function resultsOf(client, module, args) {
  const executable = await client.compile(module);
  return (await executable.execute(args)).map((literal) => literal.toArray());
}
