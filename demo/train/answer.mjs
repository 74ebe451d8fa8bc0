/** The drawing pad with the classifier's answer: a sentence, and a bar for each digit. */
import { DrawingPad } from '../shared/pad.mjs';

/**
 * @param {Record<string, HTMLElement>} part of the page: pad, clear, answer, guess
 * @param {(pixels: Float32Array) => Promise<number[] | undefined>} classify probabilities of the digits
 */
export function createAnswer(part, classify) {
  const showGuess = (probabilities) => {
    const best = probabilities.indexOf(Math.max(...probabilities));
    [...part.guess.children].forEach((item, digit) => {
      item.style.setProperty('--p', probabilities[digit]);
      item.classList.toggle('best', digit === best);
    });
    part.answer.textContent =
      `This is a ${best}, with a probability of ${(probabilities[best] * 100).toFixed(0)} %.`;
  };
  const pad = new DrawingPad(part.pad, async (pixels) => {
    part.pad.parentElement.classList.remove('empty');
    const probabilities = await classify(pixels);
    if (probabilities && pad.ink()) showGuess(probabilities);
  });
  part.clear.onclick = () => {
    pad.clear();
    part.pad.parentElement.classList.add('empty');
    for (const item of part.guess.children) {
      item.style.setProperty('--p', 0);
      item.classList.remove('best');
    }
    part.answer.textContent = 'The classifier answers as you draw.';
  };
  return pad;
}
