/** The notebook's examples, in the percent format (percent.mjs). */
import LIFE from '../gallery/programs/life.py?raw';
import NBODY from '../gallery/programs/nbody.py?raw';

const FILES = import.meta.glob('./examples/*.py', { query: '?raw', import: 'default', eager: true });
const file = (name) => FILES[`./examples/${name}.py`];

/** A program of the gallery, with a cell that runs it. */
const exhibit = (source, text, run) =>
  `# %% [markdown]\n# ${text}\n\n# %%\n${source.replace(/\n+PROGRAMS = [^]*$/, '')}\n\n# %%\nfrom notebook import image\n\n${run}\n`;

/** [name in the address, title, the packages that it needs besides JAX, source] */
export const EXAMPLES = [
  ['grad', 'Gradients and batches', [], file('grad')],
  ['perceptron', 'A perceptron that learns', [], file('perceptron')],
  ['flax', 'Flax and Optax', ['flax', 'optax'], file('optax_model')],
  ['ode', 'A differential equation', [], file('ode')],
  ['nuts', 'NUTS, by NumPyro', ['numpyro'], file('nuts')],
  ['meshes', 'Eight devices', [], file('meshes')],
  ['walks', 'Random walks', [], file('random_walks')],
  ['look', 'What a function costs', [], file('look')],
  ['life', 'Game of Life, edited', [], exhibit(LIFE, 'The gallery’s Game of Life. Change the rule, and run it again.', `step = jax.jit(life)
cells, trail = start(1)
for _ in range(300):
    cells, trail, picture = step(cells, trail, 0.5, 0.5, 0.0)
image(picture)`)],
  ['nbody', 'Two galaxies, edited', [], exhibit(NBODY, 'The gallery’s bodies: 1,024 of them, each drawn by every other.', `step = jax.jit(nbody)
p, v, glow = start(1)
for _ in range(150):
    p, v, glow, picture = step(p, v, glow, 0.5, 0.5, 0.0)
image(picture)`)],
].map(([name, title, packages, source]) => ({ name, title, packages, source }));
