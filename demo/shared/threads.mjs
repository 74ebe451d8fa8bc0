/** The choice of a client's number of threads. */
import { select } from './dom.mjs';

/** Pairs of value and text: '' is as many as there are cores. */
export function threadChoices() {
  const max = Math.max(2, Math.min(8, navigator.hardwareConcurrency || 2));
  return [['', 'all cores'], [0, 'none'], ...Array.from({ length: max }, (_, i) => [i + 1, i + 1])];
}

/** A number of threads that can be chosen, or undefined. */
export const readThreads = (value) => (threadChoices().some(([of]) => of === value && of !== '') ? value : undefined);

/** A labelled choice. `onchange` gets a number, or undefined for all cores. */
export const selectThreads = (value, onchange) =>
  select('Threads', threadChoices(), value ?? '', (chosen) => onchange(chosen === '' ? undefined : Number(chosen)));
