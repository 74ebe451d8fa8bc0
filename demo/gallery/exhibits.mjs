/**
 * The gallery's exhibits. An exhibit is a JAX program: programs/ID.py, and its exports
 * programs/ID.NAME.mlirbc. `kind` says which stage shows it:
 *
 *   'field'   step(state..., inputs...) -> state..., picture: a frame a step, `size` [width, height]
 *   'picture' the same without a state: a frame when something changes
 *   'digits', 'teach', 'llama'   stages of their own
 *
 * `python`: the source that is shown, if it is another one.
 * `sliders` and `choices` are inputs: [id, label, min, max, step, value], and [id, label, texts, value];
 * `inputs(values, pointer)` makes the arguments after the state of them and of the pointer: x, y of 0
 * to 1, press (1: pressed), dx, dy since the last frame.
 */
const touch = ({ x, y, press }) => [x, y, press];

export const EXHIBITS = [
  {
    id: 'mandelbrot', title: 'Mandelbrot set', kind: 'picture', size: [480, 360], zoom: { x: -0.65, y: 0, scale: 3.2 },
    about: 'Click to go in, with Shift to come out; or turn the wheel, drag, or press + and −. In double precision, so that it goes 13 decimal places deep.',
    sliders: [['depth', 'Iterations', 5, 200, 1, 12]],
    inputs: ({ depth }, _, { x, y, scale }) => [x, y, scale, Math.round(depth * (1 + 0.2 * Math.log2(3.2 / scale)))],
  },
  {
    id: 'life', title: 'Game of life', kind: 'field', size: [512, 512], states: 2,
    about: '512 x 512 cells on a torus, a generation a frame. Press on it to sow.',
    inputs: (_, pointer) => touch(pointer),
  },
  {
    id: 'fluid', title: 'Fluid', kind: 'field', size: [256, 256], states: 2,
    about: 'Stir it with the pointer. Velocity and dye are carried along the velocity; two Fourier transforms take out what would compress.',
    inputs: (_, { x, y, press, dx, dy }) => [x, y, press, dx * 8, dy * 8],
  },
  {
    id: 'nbody', title: 'N bodies', kind: 'field', size: [384, 384], states: 3,
    about: 'Two galaxies of 512 stars each: all 1,048,576 pairs attract each other in every frame, as two matrix products. Press to draw them to the pointer.',
    inputs: (_, pointer) => touch(pointer),
  },
  {
    id: 'reaction', title: 'Reaction and diffusion', kind: 'field', size: [256, 256], states: 2,
    about: 'Gray and Scott’s two chemicals: one feeds on the other, both spread, and spots grow and divide. Eight steps a frame; press to add some.',
    sliders: [['feed', 'Feed', 0.01, 0.08, 0.0005, 0.037], ['kill', 'Kill', 0.045, 0.07, 0.0005, 0.06]],
    inputs: ({ feed, kill }, pointer) => [...touch(pointer), feed, kill],
  },
  {
    id: 'filter', title: 'Picture filter', kind: 'picture', size: [480, 360], source: true,
    about: 'Blurs, and what they make, on a picture of yours, or on what the camera sees. It does not leave this page.',
    choices: [['kind', 'Filter', ['Soft', 'Sharp', 'Lines', 'Paint', 'Night'], 3]],
    sliders: [['amount', 'Amount', 0, 1, 0.01, 0.4]],
    inputs: ({ kind, amount }, _, source) => [source, kind, amount],
  },
  {
    id: 'kmeans', title: 'K-means', kind: 'field', size: [320, 320], states: 3,
    about: 'Draw points; six centres share them out, each moving to the middle of its own.',
    inputs: (_, pointer) => touch(pointer),
  },
  {
    id: 'sampler', title: 'Sampler', kind: 'field', size: [256, 256], states: 3, restart: ['kind'],
    about: '4,096 Markov chains walk a density that you choose: Langevin’s steps along the gradient that JAX derived, accepted or not by Metropolis’ rule.',
    choices: [['kind', 'Density', ['Ring', 'Banana', 'Four', 'Funnel', 'Waves'], 1]],
    sliders: [['step', 'Step', 0.001, 0.1, 0.001, 0.02]],
    inputs: ({ kind, step }) => [kind, step, 0.99],
    extra: { title: 'Accepted', of: ([accepted]) => `${Math.round(accepted[0] * 100)} %` },
  },
  {
    id: 'digits', title: 'Digits', kind: 'digits',
    about: 'A small convolutional net, trained by a script of the repository on 8,000 digits. Draw one; what glows on the right counts for the answer, and what is blue against it: the gradient.',
  },
  {
    id: 'teach', title: 'Teach it', kind: 'teach',
    about: 'The same net as a Flax model that was exported forward only. Draw five digits as you write them, and say which they are: its gradient is made here, and ten steps teach it yours.',
  },
  {
    id: 'llama', title: 'A language model that writes', kind: 'llama', python: '../../examples/llama/model.py',
    about: 'A model of Llama’s kind with 1,377,920 weights of 8 bits, which a script of the repository trained in 14 minutes of one core, on Shakespeare’s plays. It is dequantised inside the products; keys and values are cached in place; the program draws the next token itself.',
  },
];
