/** The stage of the convolutional net: a pad, ten bars, and the gradient. */
import { h } from '../shared/dom.mjs';
import { heatMap, putImage } from '../shared/draw.mjs';
import { DigitPad } from './digit_pad.mjs';
import { openWorker } from './stage.mjs';

export function createStage(element, exhibit, urls, tell) {
  const slope = h('canvas', { class: 'pixels', width: 28, height: 28, role: 'img', 'aria-label': 'The gradient' });
  const { worker, opened } = openWorker({ urls });
  let busy = false;
  let next = null;

  const show = ([probabilities, gradient]) => {
    digit.show(probabilities, (best, percent) => `This is a ${best}, with a probability of ${percent} %.`);
    const max = Math.max(...gradient.map(Math.abs), 1e-9);
    putImage(slope, heatMap(gradient, 28, 28, { ramp: 'diverging', range: [-max, max] }));
  };
  const classify = async (pixels) => {
    next = pixels;
    if (busy) return;
    busy = true;
    try {
      await opened;
      while (next) {
        const image = Float32Array.from(next, (value) => value / 255);
        next = null;
        const { rest, ms } = await worker.call('frame', [image]);
        show(rest);
        tell({ ms });
      }
    } catch (error) {
      if (error.code !== 'CANCELLED') digit.answer.textContent = error.message;
    }
    busy = false;
  };
  const digit = new DigitPad('Draw a digit on the left.', classify);
  opened.then(tell, (error) => { digit.answer.textContent = error.message; });
  const clear = h('button', { type: 'button', onclick: () => {
    digit.clear();
    next = null;
  } }, 'Clear');
  element.append(h('div', { class: 'pads' }, digit.drawing, slope), digit.answer, digit.bars, h('div', { class: 'controls' }, clear));
  return { dispose: () => worker.terminate() };
}
