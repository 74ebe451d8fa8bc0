"""Counter-based random numbers, bit for bit; jax.random programs."""

import jax
import jax.numpy as jnp
import numpy as np

from corpus import family
from values import any_bits

F32 = jnp.float32
ALGORITHMS = {'rng_three_fry': ('u64', 2), 'rng_philox': ('u64', 3), 'rng_default': ('u64', 3)}
OUTPUTS = [('u32', ()), ('u32', (1,)), ('u32', (7,)), ('u32', (4, 5)), ('u64', (5,)),
           ('u64', (2, 3)), ('u16', (9,)), ('u8', (11,)), ('s32', (6,)), ('s64', (3,)),
           ('s8', (5,)), ('s16', (3, 3)), ('u32', (2, 3, 4)), ('u32', (0,)), ('u32', (33,)),
           ('u64', (16,)), ('u8', (3, 7)), ('u32', (3, 8)), ('f32', (5,)), ('f64', (4,)),
           ('bf16', (5,)), ('f16', (4,))]


def dims(values):
  return ','.join(map(str, values))


def bit_generators(f, algorithm):
  state_type, n = ALGORITHMS[algorithm]
  sizes = (2, 3) if algorithm == 'rng_default' else (n,) if algorithm != 'rng_philox' else (2, 3)
  for size in sizes:
    for type_, shape in OUTPUTS:
      state = any_bits(state_type, (size,), algorithm, type_, shape)
      tag = f'{algorithm}.{size}.{type_}.{"x".join(map(str, shape)) or "scalar"}'
      f.hlo(f'rng-bit-generator.{tag}', None,
            f'r = ({state_type}[{size}], {type_}[{dims(shape)}]) rng-bit-generator(p0), '
            f'algorithm={algorithm}', state)
    # The counter carries.
    for i, low in enumerate((2**64 - 1, 2**32 - 1, 0)):
      state = np.array([3, low, 2**64 - 1][:size], np.uint64)
      f.hlo(f'rng-bit-generator.{algorithm}.{size}.carry.{i}', None,
            f'r = (u64[{size}], u32[16]) rng-bit-generator(p0), algorithm={algorithm}', state)
  f.hlo(f'rng-bit-generator.{algorithm}.chain', None,
        f'a = (u64[2], u32[3]) rng-bit-generator(p0), algorithm={algorithm}\n'
        's = u64[2] get-tuple-element(a), index=0\nb = u32[3] get-tuple-element(a), index=1\n'
        f'c = (u64[2], u32[3]) rng-bit-generator(s), algorithm={algorithm}\n'
        'd = u32[3] get-tuple-element(c), index=1\nr = (u32[3], u32[3]) tuple(b, d)',
        any_bits('u64', (2,), 'chain'))


@family
def rng(f):
  for algorithm in ALGORITHMS:
    bit_generators(f, algorithm)
  f.hlo('rng-get-and-update-state', [], 'r = u64[2] rng-get-and-update-state(), delta=7')


@family
def jax_random(f):
  key = np.array([0x12345678, 0x9abcdef0], np.uint32)
  for shape in ((), (5,), (4, 6)):
    tag = 'x'.join(map(str, shape)) or 'scalar'
    f.jax(f'bits.{tag}', lambda k: jax.random.bits(k, shape), key)
    f.jax(f'uniform.{tag}', lambda k: jax.random.uniform(k, shape, F32), key)
    f.jax(f'normal.{tag}', lambda k: jax.random.normal(k, shape, F32), key,
          tol='abs 1e-6 rel 3e-6')
  f.jax('split', lambda k: jax.random.split(k, 3), key)
  f.jax('fold-in', lambda k, i: jax.random.fold_in(k, i), key, np.uint32(77))
  f.jax('uniform.f64', lambda k: jax.random.uniform(k, (3,), jnp.float64, -2.0, 5.0), key,
        tol='abs 1e-15 rel 1e-15')
  f.jax('uniform.bf16', lambda k: jax.random.uniform(k, (5,), jnp.bfloat16), key)
  f.jax('randint', lambda k: jax.random.randint(k, (9,), -5, 100), key)
  f.jax('bernoulli', lambda k: jax.random.bernoulli(k, 0.3, (12,)), key)
  f.jax('permutation', lambda k: jax.random.permutation(k, 10), key)
  f.jax('categorical', lambda k, x: jax.random.categorical(k, x), key,
        np.array([[0.1, 2.0, -1.0], [3.0, 0.0, 0.5]], np.float32))
  f.jax('gumbel', lambda k: jax.random.gumbel(k, (4,), F32), key, tol='abs 1e-6 rel 1e-5')
  f.jax('exponential', lambda k: jax.random.exponential(k, (4,), F32), key, tol='abs 1e-6 rel 1e-5')
  f.jax('choice', lambda k: jax.random.choice(k, 7, (5,), replace=False), key)
  f.jax('truncated-normal', lambda k: jax.random.truncated_normal(
      k, np.float32(-1), np.float32(2), (6,), F32), key, tol='abs 2e-6 rel 1e-5')
  f.jax('normal.f64', lambda k: jax.random.normal(k, (5,), jnp.float64), key,
        tol='abs 1e-15 rel 1e-14')
  rbg = np.array([1, 2, 3, 4], np.uint32)
  f.jax('rbg.bits', lambda k: jax.random.bits(jax.random.wrap_key_data(k, impl='rbg'), (6,)), rbg)
  f.jax('rbg.split', lambda k: jax.random.key_data(jax.random.split(
      jax.random.wrap_key_data(k, impl='rbg'), 3)), rbg)
  f.jax('rbg.normal', lambda k: jax.random.normal(
      jax.random.wrap_key_data(k, impl='rbg'), (6,), F32), rbg, tol='abs 1e-6 rel 3e-6')
  f.jax('unsafe-rbg', lambda k: jax.random.uniform(jax.random.wrap_key_data(
      k, impl='unsafe_rbg'), (3, 3), F32), rbg)
