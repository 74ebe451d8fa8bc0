/** A pad to draw on, and the kinds of strokes that a program takes the drawing for. */
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useClassifier } from './classifier.js';

const SIZE = 8;
const EMPTY = Array(SIZE * SIZE).fill(0);

function App() {
  const [pixels, setPixels] = useState(EMPTY);
  const { kinds, probabilities, error } = useClassifier(pixels);
  const draw = (i) => setPixels((old) => old.with(i, 1));
  return (
    <main style={{ fontFamily: 'sans-serif', maxWidth: '20rem', margin: 'auto' }}>
      <h1>Draw a stroke</h1>
      <div style={{ display: 'grid', gridTemplateColumns: `repeat(${SIZE}, 1fr)`, gap: 1, touchAction: 'none' }}>
        {pixels.map((value, i) => (
          <button
            key={i}
            aria-label={`row ${Math.floor(i / SIZE) + 1}, column ${(i % SIZE) + 1}`}
            aria-pressed={value === 1}
            onClick={() => draw(i)}
            onPointerEnter={({ buttons }) => buttons && draw(i)}
            style={{ aspectRatio: 1, border: 0, background: value ? '#235' : '#ddd' }}
          />
        ))}
      </div>
      <button onClick={() => setPixels(EMPTY)}>Clear</button>
      {error && <p role="alert">{error.message}</p>}
      <ul id="kinds">
        {kinds.map((kind, i) => <li key={kind}>{kind}: {(100 * (probabilities[i] ?? 0)).toFixed(0)} %</li>)}
      </ul>
    </main>
  );
}

createRoot(document.getElementById('root')).render(<App />);
