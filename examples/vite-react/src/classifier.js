/** A hook that classifies 8 x 8 pixels: horizontal, vertical or diagonal. The client and the program are made once. */
import { useEffect, useState } from 'react';
import { Client } from 'xla-wasm';

const KINDS = ['horizontal', 'vertical', 'diagonal'];

/** How many pixels in a row, in a column, on a diagonal are on, at most; a softmax of these. Yours comes by client.load(). */
async function compileClassifier() {
  const client = await Client.create();
  const b = client.builder('strokes');
  const pixels = b.reshape(b.parameter(0, 'f32[64]', 'pixels'), [8, 8]);
  const longest = (image, dimension) => b.reduceAll(b.reduce(image, 0, 'add', [dimension]), 0, 'max');
  // Shears the image, so that diagonals become columns: row i moves by i to the left.
  const [i, j] = [b.iota('s32[8,8]', 0), b.iota('s32[8,8]', 1)];
  const moved = (step) => b.reduce(b.select(
    b.eq(b.broadcastInDim(b.iota('s32[15]', 0), [8, 8, 15], [2]), b.broadcastInDim(step, [8, 8, 15], [0, 1])),
    b.broadcastInDim(pixels, [8, 8, 15], [0, 1]), b.broadcast(b.constantR0(0, 'f32'), [8, 8, 15])), 0, 'add', [0, 1]);
  const diagonal = b.max(b.reduceAll(moved(i.add(j)), 0, 'max'), b.reduceAll(moved(i.sub(j).add(7)), 0, 'max'));
  const scores = b.concatInDim([longest(pixels, 1), longest(pixels, 0), diagonal].map((x) => b.reshape(x, [1])), 0);
  const powers = scores.exp();
  return client.compile(b.build(powers.div(b.broadcast(b.reduceAll(powers, 0, 'add'), [3]))));
}

let classifier; // a promise: React may call effects twice

export function useClassifier(pixels) {
  const [state, setState] = useState({ kinds: KINDS, probabilities: [] });
  useEffect(() => {
    let isCurrent = true;
    classifier ??= compileClassifier();
    classifier.then(async (program) => {
      const [probabilities] = await program.execute({ pixels });
      if (isCurrent) setState({ kinds: KINDS, probabilities: [...probabilities.data] });
    }).catch((error) => isCurrent && setState({ kinds: KINDS, probabilities: [], error }));
    return () => { isCurrent = false; };
  }, [pixels]);
  return state;
}
