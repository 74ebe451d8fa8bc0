/** The stage of the convolutional net: a pad, ten bars, and the gradient. */
import { h } from '../shared/dom.mjs';
import { heatMap, putImage } from '../shared/draw.mjs';
import { DrawingPad } from '../train/pad.mjs';
import { openWorker } from './stage.mjs';

export function createStage(element, exhibit, urls, tell) {
  const canvas = h('canvas', { class: 'stage-canvas', id: 'stage', width: 280, height: 280, 'aria-label': 'Draw a digit here', role: 'img' });
  const drawing = h('div', { class: 'pad empty' }, canvas);
  const slope = h('canvas', { class: 'pixels', width: 28, height: 28, role: 'img', 'aria-label': 'The gradient' });
  const bars = Array.from({ length: 10 }, (_, digit) => h('div', {}, h('i'), String(digit)));
  const answer = h('p', { role: 'status', id: 'digit' }, 'Draw a digit on the left.');
  const { worker, opened } = openWorker({ urls });
  let busy = false;
  let next = null;

  const show = ([probabilities, gradient]) => {
    const best = probabilities.indexOf(Math.max(...probabilities));
    bars.forEach((bar, digit) => {
      bar.classList.toggle('best', digit === best);
      bar.firstChild.style.height = `${probabilities[digit] * 80}%`;
    });
    answer.textContent = `This is a ${best}, with a probability of ${Math.round(probabilities[best] * 100)} %.`;
    const most = Math.max(...gradient.map(Math.abs), 1e-9);
    putImage(slope, heatMap(gradient, 28, 28, { ramp: 'diverging', range: [-most, most] }));
  };
  const classify = async (pixels) => {
    drawing.classList.remove('empty');
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
      if (error.code !== 'CANCELLED') answer.textContent = error.message;
    }
    busy = false;
  };
  const pad = new DrawingPad(canvas, classify);
  opened.then(tell, (error) => { answer.textContent = error.message; });
  const clear = h('button', { type: 'button', onclick: () => {
    pad.clear();
    drawing.classList.add('empty');
    next = null;
    answer.textContent = 'Draw a digit on the left.';
  } }, 'Clear');
  element.append(h('div', { class: 'pads' }, drawing, slope), answer, h('div', { class: 'bars' }, bars), h('div', { class: 'controls' }, clear));
  return { dispose: () => worker.terminate() };
}
