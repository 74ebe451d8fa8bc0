/** The gallery's stage of the model that learns from the visitor: a drawing pad, a button per digit, the examples, the result. */
import { h } from '../shared/dom.mjs';
import { putImage } from '../shared/draw.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { DigitPad } from './digit_pad.mjs';

const EXAMPLES = 5;
const STEPS = 10;
const SIDE = 28;
const trained = new URL('programs/digits.safetensors', import.meta.url).href;

const pictureOf = (pixels) => {
  const image = new ImageData(SIDE, SIDE);
  new Uint32Array(image.data.buffer).set(Uint32Array.from(pixels, (value) => 0xff000000 | (value * 0x010101)));
  return image;
};
const unit = (pixels) => Float32Array.from(pixels, (value) => value / 255);

export function createStage(element, exhibit, urls, tell) {
  const worker = connect(startWorker('teach'));
  const examples = []; /* { pixels, digit, cell } */
  let pixels = null;
  let isTaught = false;

  const drawn = new DigitPad('Draw a digit as you write it.', (given) => show(given).catch(problem));
  const keys = Array.from({ length: 10 }, (_, digit) => h('button', { type: 'button', disabled: true, 'aria-label': `It is a ${digit}`, onclick: () => add(digit) }, String(digit)));
  const list = h('ul', { class: 'taught' });
  const teach = h('button', { type: 'button', class: 'primary', id: 'teach', disabled: true, onclick: () => learn().catch(problem) }, `Teach it: ${STEPS} steps`);
  const again = h('button', { type: 'button', id: 'forget', onclick: () => forget().catch(problem) }, 'Start anew');
  const save = h('button', { type: 'button', id: 'save', disabled: true, onclick: () => download().catch(problem) }, 'Save the weights');
  const status = h('p', { class: 'small soft', role: 'status', id: 'learned' }, `${EXAMPLES} examples, then ${STEPS} steps.`);
  element.append(h('div', { class: 'pads' }, drawn.drawing, h('div', {}, drawn.answer, drawn.bars)),
    h('p', { class: 'soft' }, 'Which digit is it?'), h('div', { class: 'keys', role: 'group', 'aria-label': 'Which digit is it?' }, keys), list,
    h('div', { class: 'controls' }, teach, save, again), status);

  function problem(error) {
    if (error.code !== 'CANCELLED') status.textContent = error.message;
  }
  const see = (image) => worker.call('recognise', unit(image));
  const show = async (given) => {
    pixels = given;
    keys.forEach((key) => { key.disabled = examples.length >= EXAMPLES; });
    await opened;
    const probabilities = await see(given);
    drawn.show(probabilities, (best, percent) => `It takes this for a ${best} (${percent} %).`);
  };
  /** Says of each example what the model takes it for. */
  const judge = async () => {
    let right = 0;
    for (const { pixels: image, digit, cell } of examples) {
      const probabilities = await see(image), best = probabilities.indexOf(Math.max(...probabilities));
      cell.querySelector('span').textContent = `${digit}: ${best}`;
      cell.classList.toggle('wrong', best !== digit);
      right += best === digit ? 1 : 0;
    }
    return right;
  };
  const add = (digit) => {
    const picture = h('canvas', { class: 'pixels', role: 'img', 'aria-label': `Your ${digit}` });
    putImage(picture, pictureOf(pixels));
    const cell = h('li', {}, picture, h('span', {}, String(digit)));
    examples.push({ pixels, digit, cell });
    list.append(cell);
    pixels = null;
    drawn.clear();
    keys.forEach((key) => { key.disabled = true; });
    teach.disabled = false;
    judge().then((right) => {
      status.textContent = `${examples.length} of ${EXAMPLES} examples; it knows ${right} of them. Below each: its digit, and what the model takes it for.`;
    }, problem);
  };

  async function learn() {
    teach.disabled = true;
    const before = await judge();
    const losses = [];
    worker.on('loss', (loss) => losses.push(loss));
    const began = performance.now();
    await worker.call('teach', examples.map(({ pixels: image }) => unit(image)), examples.map(({ digit }) => digit), STEPS);
    const ms = performance.now() - began;
    const after = await judge();
    isTaught = true;
    save.disabled = false;
    teach.disabled = false;
    status.textContent = `It knew ${before} of ${examples.length}, now ${after}. The loss went from ${losses[0].toFixed(3)} to ${losses.at(-1).toFixed(3)} in ${STEPS} steps, ${Math.round(ms)} ms with the gradient's compilation.`;
    tell({ ms: ms / STEPS });
  }
  async function forget() {
    await worker.call('forget');
    examples.length = 0;
    list.replaceChildren();
    isTaught = false;
    teach.disabled = save.disabled = true;
    drawn.clear();
    status.textContent = `${EXAMPLES} examples, then ${STEPS} steps.`;
  }
  async function download() {
    if (!isTaught) return;
    const address = URL.createObjectURL(new Blob([await worker.call('weights')]));
    h('a', { href: address, download: 'digits.safetensors' }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  const opened = worker.call('open', { forward: urls.forward, trained });
  opened.then(tell, problem);
  return { dispose: () => worker.terminate() };
}
