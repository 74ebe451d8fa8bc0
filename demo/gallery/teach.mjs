/** The gallery's stage of the model that learns from the visitor: a drawing pad, a button per digit, the examples, the result. */
import { h } from '../shared/dom.mjs';
import { putImage } from '../shared/draw.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { DrawingPad } from '../train/pad.mjs';

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

  const canvas = h('canvas', { class: 'stage-canvas', id: 'stage', width: 280, height: 280, 'aria-label': 'Draw a digit here', role: 'img' });
  const drawing = h('div', { class: 'pad empty' }, canvas);
  const bars = Array.from({ length: 10 }, (_, digit) => h('div', {}, h('i'), String(digit)));
  const answer = h('p', { role: 'status', id: 'digit' }, 'Draw a digit as you write it.');
  const keys = Array.from({ length: 10 }, (_, digit) => h('button', { type: 'button', disabled: true, 'aria-label': `It is a ${digit}`, onclick: () => add(digit) }, String(digit)));
  const list = h('ul', { class: 'taught' });
  const teach = h('button', { type: 'button', class: 'primary', id: 'teach', disabled: true, onclick: () => learn().catch(problem) }, `Teach it: ${STEPS} steps`);
  const again = h('button', { type: 'button', id: 'forget', onclick: () => forget().catch(problem) }, 'Start anew');
  const save = h('button', { type: 'button', id: 'save', disabled: true, onclick: () => download().catch(problem) }, 'Save the weights');
  const status = h('p', { class: 'small soft', role: 'status', id: 'learned' }, `${EXAMPLES} examples, then ${STEPS} steps.`);
  element.append(h('div', { class: 'pads' }, drawing, h('div', {}, answer, h('div', { class: 'bars' }, bars))),
    h('p', { class: 'soft' }, 'Which digit is it?'), h('div', { class: 'keys', role: 'group', 'aria-label': 'Which digit is it?' }, keys), list,
    h('div', { class: 'controls' }, teach, save, again), status);

  function problem(error) {
    if (error.code !== 'CANCELLED') status.textContent = error.message;
  }
  const see = async (image) => {
    const probabilities = await worker.call('recognise', unit(image));
    return { probabilities, best: probabilities.indexOf(Math.max(...probabilities)) };
  };
  const show = async (given) => {
    drawing.classList.remove('empty');
    pixels = given;
    keys.forEach((key) => { key.disabled = examples.length >= EXAMPLES; });
    await opened;
    const { probabilities, best } = await see(given);
    bars.forEach((bar, digit) => {
      bar.classList.toggle('best', digit === best);
      bar.firstChild.style.height = `${probabilities[digit] * 80}%`;
    });
    answer.textContent = `It takes this for a ${best} (${Math.round(probabilities[best] * 100)} %).`;
  };
  const pad = new DrawingPad(canvas, (given) => show(given).catch(problem));

  /** Says of each example what the model takes it for. */
  const judge = async () => {
    let right = 0;
    for (const { pixels: image, digit, cell } of examples) {
      const { best } = await see(image);
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
    pad.clear();
    drawing.classList.add('empty');
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
    pad.clear();
    drawing.classList.add('empty');
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
