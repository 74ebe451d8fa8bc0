/** The plot of loss and accuracy by step. */
import { createPlot } from '../shared/plot.mjs';

const MAX_POINTS = 4000; /* that are drawn; when there are more, every second one goes */
const SMOOTHING = 0.05; /* weight of the newest step in the curves */

export class Curve {
  constructor(element) {
    this.plot = createPlot(element, {
      scales: {
        loss: { range: (_, min, max) => [0, max || 2.5] },
        share: { range: [0, 1] },
      },
      axes: [{}, { scale: 'loss' }, { scale: 'share', side: 1, grid: { show: false } }],
      series: [
        {},
        { label: 'loss', scale: 'loss', stroke: '--meet', width: 1.5 },
        { label: 'accuracy', scale: 'share', stroke: '--dot', width: 1.5 },
        { label: 'test accuracy', scale: 'share', stroke: '--loop', width: 2, spanGaps: true, points: { show: true, size: 6 } },
      ],
    });
    this.clear();
  }

  clear() {
    this.points = []; /* { step, loss, accuracy, test }; test is null but once an epoch */
    this.smooth = this.test = null;
    this.plot.setData([[0], [null], [null], [null]]);
  }

  add(steps) {
    for (const { step, loss, accuracy } of steps) {
      this.smooth ??= { loss, accuracy };
      this.smooth.loss += (loss - this.smooth.loss) * SMOOTHING;
      this.smooth.accuracy += (accuracy - this.smooth.accuracy) * SMOOTHING;
      this.points.push({ step, ...this.smooth, test: this.test });
      this.test = null;
    }
    if (this.points.length > MAX_POINTS) {
      this.points = this.points.filter((p, i) => i % 2 === 0 || p.test !== null);
    }
    this.plot.setData(['step', 'loss', 'accuracy', 'test'].map((key) => this.points.map((p) => p[key])));
  }
}
