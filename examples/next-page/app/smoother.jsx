/** A plot of a signal, smoothed in the page by a program that the reader can adjust. */
'use client';

import { useEffect, useState } from 'react';
import { createSmoother, SIZE } from './program.js';

const signal = Float32Array.from({ length: SIZE }, (_, i) => Math.sin(i / 10) + Math.cos(1.7 * i) / 3);

let smoother; // promised; one for the page, whatever React mounts twice

const line = (values) => Array.from(values, (y, i) => `${(400 * i) / (SIZE - 1)},${60 - 35 * y}`).join(' ');

export default function Smoother() {
  const [width, setWidth] = useState(8);
  const [smooth, setSmooth] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    smoother ??= createSmoother();
    smoother.then((run) => run(signal, width)).then((values) => isCurrent && setSmooth(values), setError);
    return () => { isCurrent = false; };
  }, [width]);
  return (
    <>
      <label>
        Width <input type="range" min="1" max="32" value={width} onChange={({ target }) => setWidth(Number(target.value))} />
      </label>
      <svg viewBox="0 0 400 120" role="img" aria-label="The signal, and the smooth one">
        <polyline points={line(signal)} fill="none" stroke="#bbb" />
        {smooth && <polyline points={line(smooth)} fill="none" stroke="#35c" strokeWidth="2" />}
      </svg>
      <p role={error ? 'alert' : 'status'} id="roughness">{error?.message ?? (smooth ? `Roughness ${roughness(smooth).toFixed(4)}` : 'Compiling…')}</p>
    </>
  );
}

/** The mean square of the steps from one value to the next. */
const roughness = (values) => values.reduce((sum, value, i) => sum + (i ? (value - values[i - 1]) ** 2 : 0), 0) / (values.length - 1);
