"""fft: FFT, IFFT, RFFT, IRFFT over one to three axes, of any length."""

import jax.numpy as jnp
import numpy as np

from corpus import family
from values import normals, small_ints

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 17, 25, 30, 32, 49, 64, 97, 100)


def dims(values):
  return ','.join(map(str, values))


def near(type_, size):
  """The error of an FFT grows with log n; 16 epsilon of the largest sum is ample for XLA's."""
  epsilon = 2.0**-23 if type_ in ('f32', 'c64') else 2.0**-52
  return f'abs {16 * epsilon * size:.3g} rel 0'


def transforms(f, kind, type_, result_type, operand, result, lengths):
  x = normals(type_, operand, kind)
  size = float(np.max(np.sum(np.abs(x), axis=-1), initial=1))
  if len(lengths) > 1:
    size *= np.prod(lengths[:-1])
  if kind in ('IFFT', 'IRFFT'):
    size /= np.prod(lengths)
  f.hlo(f'fft.{type_}.{kind}.{"x".join(map(str, operand))}.{"x".join(map(str, lengths))}', None,
        f'r = {result_type}[{dims(result)}] fft(p0), fft_type={kind}, '
        f'fft_length={{{dims(lengths)}}}', x, tol=near(type_, size))


@family
def fft(f):
  for complex_, real in (('c64', 'f32'), ('c128', 'f64')):
    for n in LENGTHS if real == 'f32' else LENGTHS[::3]:
      transforms(f, 'FFT', complex_, complex_, (n,), (n,), (n,))
      transforms(f, 'IFFT', complex_, complex_, (n,), (n,), (n,))
      transforms(f, 'RFFT', real, complex_, (n,), (n // 2 + 1,), (n,))
      transforms(f, 'IRFFT', complex_, real, (n // 2 + 1,), (n,), (n,))
    for rows, columns in ((2, 8), (3, 5), (4, 6)):
      a, b, half = (3, rows, columns), (rows, columns), columns // 2 + 1
      transforms(f, 'FFT', complex_, complex_, a, a, (columns,))
      transforms(f, 'FFT', complex_, complex_, a, a, b)
      transforms(f, 'IFFT', complex_, complex_, a, a, b)
      transforms(f, 'FFT', complex_, complex_, a, a, a)
      transforms(f, 'IFFT', complex_, complex_, a, a, a)
      transforms(f, 'RFFT', real, complex_, a, (3, rows, half), b)
      transforms(f, 'RFFT', real, complex_, a, (3, rows, half), a)
      transforms(f, 'IRFFT', complex_, real, (3, rows, half), a, b)
      transforms(f, 'IRFFT', complex_, real, (3, rows, half), a, a)
    for rows, columns in ((2, 15), (3, 21), (5, 9), (9, 25), (37, 3), (17, 67)):  # two lines at a time
      transforms(f, 'RFFT', real, complex_, (rows, columns), (rows, columns // 2 + 1), (columns,))
      transforms(f, 'IRFFT', complex_, real, (rows, columns // 2 + 1), (rows, columns), (columns,))
    transforms(f, 'FFT', complex_, complex_, (2, 3, 2, 4), (2, 3, 2, 4), (3, 2, 4))
    transforms(f, 'RFFT', real, complex_, (2, 1, 7), (2, 1, 4), (7,))
  transforms(f, 'FFT', 'c64', 'c64', (0, 4), (0, 4), (4,))
  x = normals('f32', (4, 6), 'jax')
  f.jax('jnp.fft2', lambda x: jnp.fft.fft2(x), x, tol=near('f32', 30))
  f.jax('jnp.rfft', lambda x: jnp.fft.rfft(x, n=10, axis=0), x, tol=near('f32', 10))
  f.jax('jnp.irfft', lambda x: jnp.fft.irfft(x, n=9), x.astype(np.complex64),
        tol=near('f32', 2))
  f.jax('jnp.fftshift', lambda x: jnp.fft.fftshift(x, axes=1), x)
  f.jax('fft-convolve', lambda a, b: jnp.fft.irfft(jnp.fft.rfft(a, 16) * jnp.fft.rfft(b, 16), 16),
        small_ints('f32', (9,)), small_ints('f32', (8,)), tol=near('f32', 30))
