/** A pad for a digit, with ten bars for its probabilities and a line that names the most probable one. */
import { h } from '../shared/dom.mjs';
import { DrawingPad } from '../shared/pad.mjs';

export class DigitPad {
  /** @param {string} prompt the line while nothing is drawn @param {(pixels: number[]) => void} drawn is called with 28 x 28 of 0 to 255 */
  constructor(prompt, drawn) {
    this.prompt = prompt;
    const canvas = h('canvas', {
      class: 'stage-canvas', id: 'stage', width: 280, height: 280, 'aria-label': 'Draw a digit here', role: 'img',
    });
    this.drawing = h('div', { class: 'pad empty' }, canvas);
    this.items = Array.from({ length: 10 }, (_, digit) => h('div', {}, h('i'), String(digit)));
    this.bars = h('div', { class: 'bars' }, this.items);
    this.answer = h('p', { role: 'status', id: 'digit' }, prompt);
    this.pad = new DrawingPad(canvas, (pixels) => {
      this.drawing.classList.remove('empty');
      drawn(pixels);
    });
  }

  /** Shows ten probabilities. @param {(best: number, percent: number) => string} text of the line */
  show(probabilities, text) {
    const best = probabilities.indexOf(Math.max(...probabilities));
    this.items.forEach((bar, digit) => {
      bar.classList.toggle('best', digit === best);
      bar.firstChild.style.height = `${probabilities[digit] * 80}%`;
    });
    this.answer.textContent = text(best, Math.round(probabilities[best] * 100));
  }

  clear() {
    this.pad.clear();
    this.drawing.classList.add('empty');
    this.answer.textContent = this.prompt;
  }
}
