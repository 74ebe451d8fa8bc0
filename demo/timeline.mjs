/** One step as a picture: a row per replica, time to the right, a bar per thunk. */

const MARGIN = { left: 72, right: 8, top: 4, bottom: 20 };

/** Which of the legend's colours a thunk gets. */
function colourOf({ name, category }) {
  if (category === 'collective') return '--meet';
  if (name.startsWith('dot')) return '--dot';
  return category === 'generated' ? '--loop' : '--other';
}

/** A round number of microseconds, so that about four ticks fit. */
function tickOf(span) {
  const power = 10 ** Math.floor(Math.log10(span / 4));
  return [1, 2, 5, 10].map((m) => m * power).find((t) => span / t <= 6);
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{name: string, category: string, replica: number, startUs: number, endUs: number}[]} events
 *   from a run's profile
 */
export function drawTimeline(canvas, events) {
  if (!events?.length) return;
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const ink = style.color;

  const begin = Math.min(...events.map((e) => e.startUs));
  const span = Math.max(...events.map((e) => e.endUs)) - begin || 1;
  const rows = Math.max(...events.map((e) => e.replica)) + 1;
  const rowHeight = (height - MARGIN.top - MARGIN.bottom) / rows;
  const x = (time) => MARGIN.left + ((time - begin) / span) * (width - MARGIN.left - MARGIN.right);

  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (let row = 0; row < rows; row++) {
    context.fillStyle = ink;
    context.fillText(`replica ${row}`, 0, MARGIN.top + (row + 0.5) * rowHeight);
  }
  for (const event of events) {
    context.fillStyle = style.getPropertyValue(colourOf(event));
    const top = MARGIN.top + event.replica * rowHeight + rowHeight * 0.15;
    context.fillRect(x(event.startUs), top, Math.max(1, x(event.endUs) - x(event.startUs)), rowHeight * 0.7);
  }
  context.fillStyle = ink;
  context.textBaseline = 'bottom';
  const tick = tickOf(span);
  for (let t = 0; t <= span; t += tick) {
    context.globalAlpha = 0.25;
    context.fillRect(x(begin + t), MARGIN.top, 1, height - MARGIN.top - MARGIN.bottom);
    context.globalAlpha = 1;
    context.fillText(`${Number((t / 1000).toPrecision(3))} ms`, x(begin + t) + 3, height);
  }
}
