/** The gallery's stage of the model that learns from the visitor: a drawing pad, a button per digit, the examples, the result. */
import { h } from '../shared/dom.mjs';
import { putImage } from '../shared/draw.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { DigitPad } from './digit_pad.mjs';

const EXAMPLES = 5;
const STEPS = 10;
const SIDE = 28;
const BEGINNING = `${EXAMPLES} examples, then ${STEPS} steps.`;
const trained = new URL('programs/digits.safetensors', import.meta.url).href;

const pictureOf = (pixels) => {
  const image = new ImageData(SIDE, SIDE);
  new Uint32Array(image.data.buffer).set(Uint32Array.from(pixels, (value) => 0xff000000 | (value * 0x010101)));
  return image;
};
/** The buttons, the list of examples and the line below them. `on` has what each button does. */
function layout(drawn, on) {
  const keys = Array.from({ length: 10 }, (_, digit) => h('button', {
    type: 'button', disabled: true, 'aria-label': `It is a ${digit}`, onclick: () => on.add(digit),
  }, String(digit)));
  const list = h('ul', { class: 'taught' });
  const teach = h('button', { type: 'button', class: 'primary', id: 'teach', disabled: true, onclick: on.learn }, `Teach it: ${STEPS} steps`);
  const again = h('button', { type: 'button', id: 'forget', onclick: on.forget }, 'Start anew');
  const save = h('button', { type: 'button', id: 'save', disabled: true, onclick: on.download }, 'Save the weights');
  const status = h('p', { class: 'small soft', role: 'status', id: 'learned' }, BEGINNING);
  const elements = [h('div', { class: 'pads' }, drawn.drawing, h('div', {}, drawn.answer, drawn.bars)),
    h('p', { class: 'soft' }, 'Which digit is it?'), h('div', { class: 'keys', role: 'group', 'aria-label': 'Which digit is it?' }, keys), list,
    h('div', { class: 'controls' }, teach, save, again), status];
  return { elements, part: { keys, list, teach, save, status } };
}

const unit = (pixels) => Float32Array.from(pixels, (value) => value / 255);

class Lesson {
  #worker = connect(startWorker('teach'));
  #examples = []; /* { pixels, digit, cell } */
  #pixels = null;
  #isTaught = false;
  #drawn = new DigitPad('Draw a digit as you write it.', (given) => this.#show(given).catch(this.#problem));
  #part;
  #tell;
  #opened;

  constructor(element, forward, tell) {
    const caught = (method) => () => method.call(this).catch(this.#problem);
    const { elements, part } = layout(this.#drawn, {
      add: (digit) => this.#add(digit), learn: caught(this.#learn), forget: caught(this.#forget), download: caught(this.#download),
    });
    this.#part = part;
    this.#tell = tell;
    element.append(...elements);
    this.#opened = this.#worker.call('open', { forward, trained });
    this.#opened.then(tell, this.#problem);
  }

  #problem = (error) => {
    if (error.code !== 'CANCELLED') this.#part.status.textContent = error.message;
  };

  #see(image) {
    return this.#worker.call('recognise', unit(image));
  }

  #enableKeys(enabled) {
    for (const key of this.#part.keys) key.disabled = !enabled;
  }

  async #show(given) {
    this.#pixels = given;
    this.#enableKeys(this.#examples.length < EXAMPLES);
    await this.#opened;
    const probabilities = await this.#see(given);
    this.#drawn.show(probabilities, (best, percent) => `It takes this for a ${best} (${percent} %).`);
  }

  /** Says of each example what the model takes it for. Returns how many it knows. */
  async #judge() {
    let right = 0;
    for (const { pixels: image, digit, cell } of this.#examples) {
      const probabilities = await this.#see(image), best = probabilities.indexOf(Math.max(...probabilities));
      cell.querySelector('span').textContent = `${digit}: ${best}`;
      cell.classList.toggle('wrong', best !== digit);
      right += best === digit ? 1 : 0;
    }
    return right;
  }

  #add(digit) {
    const { list, teach, status } = this.#part;
    const picture = h('canvas', { class: 'pixels', role: 'img', 'aria-label': `Your ${digit}` });
    putImage(picture, pictureOf(this.#pixels));
    const cell = h('li', {}, picture, h('span', {}, String(digit)));
    this.#examples.push({ pixels: this.#pixels, digit, cell });
    list.append(cell);
    this.#pixels = null;
    this.#drawn.clear();
    this.#enableKeys(false);
    teach.disabled = false;
    this.#judge().then((right) => {
      status.textContent =
        `${this.#examples.length} of ${EXAMPLES} examples; it knows ${right} of them. Below each: its digit, and what the model takes it for.`;
    }, this.#problem);
  }

  async #learn() {
    const { teach, save, status } = this.#part;
    const examples = this.#examples;
    teach.disabled = true;
    const before = await this.#judge();
    const losses = [];
    this.#worker.on('loss', (loss) => losses.push(loss));
    const began = performance.now();
    await this.#worker.call('teach', examples.map(({ pixels: image }) => unit(image)), examples.map(({ digit }) => digit), STEPS);
    const ms = performance.now() - began;
    const after = await this.#judge();
    this.#isTaught = true;
    save.disabled = teach.disabled = false;
    status.textContent = `It knew ${before} of ${examples.length}, now ${after}. The loss went from ${losses[0].toFixed(3)} to ${losses.at(-1).toFixed(3)} in ${STEPS} steps, ${Math.round(ms)} ms with the gradient's compilation.`;
    this.#tell({ ms: ms / STEPS });
  }

  async #forget() {
    const { list, teach, save, status } = this.#part;
    const forgotten = this.#worker.call('forget'); // not waited for here: a drawing that begins meanwhile stays
    this.#examples.length = 0;
    list.replaceChildren();
    this.#isTaught = false;
    teach.disabled = save.disabled = true;
    this.#drawn.clear();
    status.textContent = BEGINNING;
    await forgotten;
  }

  async #download() {
    if (!this.#isTaught) return;
    const address = URL.createObjectURL(new Blob([await this.#worker.call('weights')]));
    h('a', { href: address, download: 'digits.safetensors' }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  dispose() {
    this.#worker.terminate();
  }
}

export function createStage(element, exhibit, urls, tell) {
  return new Lesson(element, urls.forward, tell);
}
