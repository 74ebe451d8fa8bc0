/** Counts the turns that a long call leaves to other events, in steps of the call instead of time. */
import { mock } from 'node:test';

/**
 * Runs `body` by a clock that moves by a second, or `stepMs`, whenever it is read, so that each slice of work ends where it
 * first looks at the clock, however fast the machine is.
 * @param {() => Promise<unknown>} body
 * @param {(turns: number) => void} [onTurn] called in each turn with their number so far
 * @returns {Promise<number>} the turns of other events during `body`
 */
export async function turnsDuring(body, onTurn = () => {}, stepMs = 1000) {
  let turns = 0, on = true, clock = performance.now();
  const tick = () => {
    if (!on) return;
    onTurn(++turns);
    setImmediate(tick);
  };
  setImmediate(tick);
  mock.method(performance, 'now', () => (clock += stepMs));
  try {
    await body();
  } finally {
    on = false;
    mock.restoreAll();
  }
  return turns;
}
