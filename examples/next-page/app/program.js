/** A program that smooths a signal. */
import { Client } from 'xla-wasm';

export const SIZE = 128;

/** Resolves to a function of a signal f32[128] and a width: the signal, smoothed by a Gaussian through an FFT. */
export async function createSmoother() {
  const client = await Client.create();
  const b = client.builder('smooth');
  const signal = b.parameter(0, `f32[${SIZE}]`, 'signal');
  const width = b.parameter(1, 'f32[]', 'width');
  const spectrum = b.fft(signal, 'RFFT', [SIZE]);
  const frequency = b.iota('f32', SIZE / 2 + 1);
  const scaled = frequency.mul(width).mul(Math.PI / SIZE);
  const gain = b.exp(scaled.mul(scaled).neg());
  const program = await client.compile(b.build(b.fft(spectrum.mul(b.complex(gain, gain.mul(0))), 'IRFFT', [SIZE])));
  return async (values, size) => (await program.execute({ signal: values, width: size }))[0].data;
}
