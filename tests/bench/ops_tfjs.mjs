/** The operations of models.mjs with tfjs, which runs each at its call. Images are NHWC, as here. */

const asRows = (tf, x) => (x.rank === 1 ? tf.reshape(x, [1, -1]) : x);

export const opsTfjs = (tf) => ({
  conv: (x, { filter, bias }, { stride = 1, depthwise, then = 'linear' }) => {
    const given = { x, strides: stride, pad: 'same', bias: bias ?? undefined, activation: then };
    return depthwise
      ? tf.fused.depthwiseConv2d({ ...given, filter: tf.reshape(filter, [...filter.shape.slice(0, 2), -1, 1]) })
      : tf.fused.conv2d({ ...given, filter });
  },
  maxPool: (x, size, stride) => tf.maxPool(x, size, stride, 'same'),
  meanOfImage: (x) => tf.mean(x, [1, 2]),
  add: tf.add,
  scale: tf.mul,
  relu: tf.relu,
  gelu: (x) => {
    const cubic = tf.mul(tf.mul(x, x), x);
    const inner = tf.mul(tf.add(x, tf.mul(cubic, 0.044715)), Math.sqrt(2 / Math.PI));
    return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
  },
  softmax: (x) => tf.softmax(x),
  layerNorm: (x, scale) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5))), scale);
  },
  matmul: (x, y) => tf.matMul(asRows(tf, x), y),
  matmulTransposed: (x, y) => tf.matMul(asRows(tf, x), y, false, true),
  transpose: tf.transpose,
  reshape: tf.reshape,
  thirds: (x) => tf.split(x, 3, -1),
  rows: (x, indices) => tf.gather(x, indices),
  lastRow: (x, n) => tf.slice(x, [n - 1, 0], [1, x.shape[1]]),
  choose: (where, x, y) => tf.add(tf.mul(x, where), tf.mul(y, tf.sub(1, where))),
  lstm: (xs, wx, wh) => {
    const [steps, batch, width] = xs.shape;
    const projected = tf.unstack(tf.reshape(tf.matMul(tf.reshape(xs, [steps * batch, width]), wx), [steps, batch, -1]));
    let h = tf.zeros([batch, wh.shape[0]]);
    let c = h;
    const all = projected.map((x) => {
      const [i, f, o, u] = tf.split(tf.add(x, tf.matMul(h, wh)), 4, -1);
      c = tf.add(tf.mul(tf.sigmoid(f), c), tf.mul(tf.sigmoid(i), tf.tanh(u)));
      h = tf.mul(tf.sigmoid(o), tf.tanh(c));
      return h;
    });
    return tf.stack(all);
  },
});
