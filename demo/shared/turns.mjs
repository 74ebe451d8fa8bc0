/**
 * Turns of a view: each edit asks for a run, and a later one replaces it. The status line says which turn was asked for and
 * which one is shown; tests wait until the two agree.
 * @param {HTMLElement} status
 * @param {{ asked?: number, turn?: number }} marks
 */
export function markTurn(status, marks) {
  Object.assign(status.dataset, marks);
}
