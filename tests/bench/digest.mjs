/** Reduces results to samples that processes compare: sums and some elements of each array. */

const SAMPLES = 4096;

/** Returns sums, and elements at regular distances. */
export function digestOf(data) {
  let sum = 0;
  let absolute = 0;
  let weighted = 0; // so that elements in the wrong places are seen
  for (let i = 0; i < data.length; i++) {
    sum += data[i];
    absolute += Math.abs(data[i]);
    weighted += data[i] * (((i * 40503) & 1023) / 1024);
  }
  const step = Math.max(1, data.length / SAMPLES);
  const samples = Array.from({ length: Math.min(SAMPLES, data.length) },
    (_, i) => Number(data[Math.floor(i * step)]));
  return { length: data.length, sum, absolute, weighted, samples };
}

/** Returns the largest difference of results, relative to the largest element; 0 if they are equal. */
export function distance(digests, others) {
  if (digests.length !== others.length) return Infinity;
  return Math.max(...digests.map((x, k) => {
    const y = others[k];
    if (x.length !== y.length) return Infinity;
    const largest = Math.max(...x.samples.map(Math.abs));
    const apart = Math.max(...x.samples.map((v, i) => Math.abs(v - y.samples[i])));
    const sums = Math.max(Math.abs(x.sum - y.sum), Math.abs(x.weighted - y.weighted));
    const far = Math.max(apart / largest, sums / x.absolute);
    return Number.isNaN(far) ? Infinity : far;
  }));
}
