/** Line plots, by uPlot, in the page's colours. */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { onResize } from './dom.mjs';
import { colour, onChange } from './theme.mjs';

/**
 * @param {HTMLElement} element the element that the plot fills
 * @param {{ height?: number, series: object[], scales?: object, axes?: object[], data?: any[],
 *   legend?: boolean }} options
 *   as uPlot's, except that colours are names of custom properties ('--series-1'). The first of `series`
 *   is x.
 * @returns {{ setData: (data: any[]) => void, dispose: () => void }}
 */
export function createPlot(element, { height = 240, series, scales = {}, axes = [{}, {}], data, legend = true }) {
  const paint = (name) => () => colour(name);
  const lines = { stroke: paint('--grid'), width: 1 };
  const axis = { stroke: paint('--soft'), grid: { ...lines }, ticks: { ...lines }, font: '12px system-ui, sans-serif' };
  const plot = new uPlot({
    width: element.clientWidth || 300,
    height,
    legend: { show: legend, live: false },
    cursor: { show: false },
    scales: { x: { time: false }, ...scales },
    axes: axes.map((more) => ({ ...axis, ...more, grid: { ...axis.grid, ...more.grid } })),
    series: series.map(({ stroke, fill, ...more }) => ({
      ...more, ...(stroke && { stroke: paint(stroke) }), ...(fill && { fill: paint(fill) }),
    })),
  }, data ?? series.map((_, i) => (i === 0 ? [0] : [null])), element);
  const ends = [
    onResize(element, () => plot.setSize({ width: element.clientWidth, height })),
    onChange(() => plot.redraw(false, true)),
  ];
  return {
    setData: (values) => plot.setData(values),
    dispose() {
      ends.forEach((end) => end());
      plot.destroy();
    },
  };
}
