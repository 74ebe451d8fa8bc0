"""Products with weights in few bytes, as JAX exports them: dequantised by scales of every kind, in every order.

Vectors are small whole numbers and scales are powers of two, so that no order of adding rounds, unless a case says so.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family
from harness import DTYPES
from values import any_bits, normals, rng, small_ints

F32 = jnp.float32
FLOATS = ['bf16', 'f16', 'f8e4m3fn', 'f8e5m2']
TYPES = FLOATS + ['s8', 'u8', 's4', 'u4', 's2']
SCALES = [(1, 'f32'), (1, 'f16'), (5, 'bf16'), (21, 'f8e4m3fn')]  # rows, type
K, N = 72, 64  # both are multiples of blocks, and not of vectors
NEAR = 'abs 0.001 rel 0.0001'


def weights(type_, shape, *key):
  if type_ in FLOATS:
    return (small_ints('f32', shape, *key) / 4).astype(DTYPES[type_])
  return any_bits(type_, shape, *key)


def powers(type_, shape, *key):
  return (2.0 ** rng('powers', *key).integers(-3, 3, shape)).astype(DTYPES[type_])


def product(x, w, turned=False, **options):
  return lax.dot_general(x, w, (((x.ndim - 1,), (1 if turned else 0,)), ((), ())), **options)


def plain(f, type_):
  common = type_ in ('bf16', 'f16', 's8')
  for rows, other in ((1, 'f32'), (3, 'bf16'), (21, 'f32'))[:3 if common else 2]:
    x = small_ints(other, (rows, K), type_)
    f.jax(f'{type_}.{other}.{rows}', lambda x, w: product(x, w, preferred_element_type=F32), x,
          weights(type_, (K, N), rows))
    f.jax(f'{type_}.{other}.{rows}.turned',
          lambda x, w: product(x, w, True, preferred_element_type=F32), x,
          weights(type_, (N, K), rows))


def scaled(f, type_):
  for rows, scale in SCALES if type_ == 's8' else SCALES[TYPES.index(type_) % 4:][:1]:
    x, key = small_ints('f32', (rows, K)), (type_, rows, scale)

    def case(name, g, w, *s):
      f.jax(f'{type_}.{scale}.{rows}.{name}', g, x, weights(type_, w, *key),
            *[powers(scale, shape, *key) for shape in s])

    case('column', lambda x, w, s: x @ (w.astype(F32) * s.astype(F32)), (K, N), (N,))
    case('block.turned', lambda x, w, s: x @ (w.astype(F32).reshape(N + 8, K // 24, 24) * s.astype(
        F32)[:, :, None]).reshape(N + 8, K).T, (N + 8, K), (N + 8, K // 24))
    if type_ not in ('s8', 's4'):
      continue
    case('tensor', lambda x, w, s: x @ (w.astype(F32) * s.astype(F32)), (K, N), ())
    case('column.turned', lambda x, w, s: x @ (w.astype(F32) * s.astype(F32)[:, None]).T, (N, K),
         (N,))
    case('row', lambda x, w, s: x @ (w.astype(F32) * s.astype(F32)[:, None]), (K, N), (K,))
    case('block', lambda x, w, s: x @ (w.astype(F32).reshape(K // 24, 24, N) *
                                       s.astype(F32)[:, None]).reshape(K, N), (K, N), (K // 24, N))


def blocks(f):
  """Blocks of 16 to 256, in loops that take 16 bytes at a time."""
  for size in (16, 64, 256):
    k, n = 2 * size, max(4608 // size, 16)
    for rows in (1, 4):
      x = small_ints('f32', (rows, k), size)
      f.jax(f's4.block{size}.{rows}', lambda x, w, s: x @ (w.astype(F32).reshape(n, 2, size) *
                                                        s[..., None]).reshape(n, k).T, x,
            any_bits('s4', (n, k), size), powers('f32', (n, 2), size))


def orders(f):
  """Zero points, and other orders of converting, scaling and moving."""
  x, w, s = small_ints('f32', (2, K)), any_bits('u8', (K, N)), powers('f32', (N,))
  zero = small_ints('f32', (N,), 'zero')
  f.jax('zero', lambda x, w, z, s: x @ ((w.astype(F32) - z) * s), x, w, zero, s)
  f.jax('zero.turned', lambda x, w, s: x @ ((w.astype(F32) - 8) * s[:, None]).T, x,
        any_bits('u4', (N, K)), s)
  f.jax('transposed.before', lambda x, w, s: x @ (w.T.astype(F32) * s), x, any_bits('s8', (N, K)), s)
  f.jax('transposed.after', lambda x, w, s: x.astype(jnp.bfloat16) @ (
      (w.astype(F32) * s[:, None]).T.astype(jnp.bfloat16)), x, any_bits('s4', (N, K)), s)
  f.jax('in.bf16', lambda x, w, s: product(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16) * s,
                                          preferred_element_type=F32), x, any_bits('s8', (K, N)),
        (normals('f32', (N,)) / 3).astype(DTYPES['bf16']), tol=NEAR)
  f.jax('rounded', lambda x, w, s: x @ (w.astype(F32) * s), normals('f32', (1, K)), any_bits(
      's8', (K, N)), normals('f32', (N,), 's'), tol=NEAR)
  book = (np.arange(16) - 7.5).astype(np.float32)
  f.jax('codebook', lambda x, w, s: x @ (jnp.take(jnp.asarray(book), w.astype(jnp.int32)).reshape(
      K // 24, 24, N) * s[:, None]).reshape(K, N), x, any_bits('u4', (K, N)), powers('f32', (K // 24, N)))
  books(f)
  f.jax('affine', lambda x, w, s, m: x @ (w.astype(F32).reshape(K // 24, 24, N) * s[:, None] + m[:, None]).reshape(K, N),
        x, any_bits('u4', (K, N)), powers('f32', (K // 24, N)), small_ints('f32', (K // 24, N), 'm'))
  f.jax('zero.integers', lambda x, w, z, s: x @ ((w.astype(jnp.int32) - z.astype(jnp.int32)).astype(F32) * s).T, x,
        any_bits('u8', (N, K)), any_bits('u8', (N, 1), 'zero'), powers('f32', (N, 1)))
  f.jax('zero.block', lambda x, w, z, s: x @ ((w.astype(F32).reshape(N, K // 24, 24) - z.astype(F32)[..., None]) * s[..., None]
                                             ).reshape(N, K).T, x, any_bits('u4', (N, K)), any_bits('u4', (N, K // 24), 'zero'),
        powers('f32', (N, K // 24)))
  f.jax('rounded.bf16', lambda x, w, z, s: product(x.astype(jnp.bfloat16), ((w.astype(jnp.bfloat16) - z) * s),
                                                  preferred_element_type=F32), x, any_bits('u8', (K, N)),
        (normals('f32', (N,), 'z') * 9).astype(DTYPES['bf16']), powers('bf16', (N,)), tol=NEAR)
  f.jax('blocks.2d', lambda x, w, s: x @ (w.astype(F32).reshape(3, 24, 4, 16) * s[:, None, :, None]
                                          ).reshape(K, N), x, weights('f8e4m3fn', (K, N)),
        powers('f32', (3, 4)))
  f.jax('cache', lambda q, c, s: jnp.einsum('bhd,bthd->bht', q, c.astype(F32) * s[..., None]),
        small_ints('f32', (2, 4, 32)), any_bits('s8', (2, 40, 4, 32)), powers('f32', (2, 40, 4)))


def packed(f):
  """Four bits in blocks that loops unpack in registers: scales of two types, zeros that are bytes and others."""
  k, n = 96, 43
  for size, rows, scale in ((32, 1, 'f16'), (16, 5, 'f32')):
    for type_, zeros in (('s4', None), ('u4', None), ('u4', 'u4'), ('s4', 's8'), ('u4', 'f32')):
      for turned in (False, True):
        split, dims = ((n, k // size, size), (n, k // size)) if turned else ((k // size, size, n), (k // size, n))
        over = (slice(None), slice(None), None) if turned else (slice(None), None, slice(None))
        z = [] if not zeros else [any_bits(zeros, dims, 'zero')] if zeros != 'f32' else [small_ints('f32', dims, 'zero') + np.float32(0.5)]

        def dequantised(x, w, s, *z):
          w = w.astype(F32).reshape(split)
          w = w - z[0].astype(F32)[over] if z else w
          return product(x, (w * s.astype(F32)[over]).reshape((n, k) if turned else (k, n)), turned)

        f.jax(f'packed.{type_}.{zeros or ""}.{scale}.{rows}{".turned" if turned else ""}'.replace('..', '.'), dequantised, small_ints('f32', (rows, k)),
              any_bits(type_, (n, k) if turned else (k, n), 'packed'), powers(scale, dims), *z)


def fields(f):
  """Numbers that the program itself unpacks from bytes and words, in several orders."""
  k, n = 64, 40
  x, s = small_ints('f32', (2, k)), powers('f32', (n, k // 16))
  book = (np.arange(16) ** 2 - 90.5).astype(np.float32)

  def scaled(w, s):
    return (w.astype(F32).reshape(n, k // 16, 16) * s[..., None]).reshape(n, k).T

  q, z = any_bits('u8', (n, k // 2), 'fields'), any_bits('s8', (n, k // 2), 'fields')
  words = any_bits('u32', (n, k // 8), 'fields')
  low, high = (lambda q: q & 15), (lambda q: q >> 4)
  f.jax('fields.pairs', lambda x, q, s: x @ scaled(jnp.stack([low(q), high(q)], -1), s), x, q, s)
  f.jax('fields.upper.first', lambda x, q, b: x @ b[jnp.stack([high(q), low(q)], -1).reshape(n, k)].T, x, q, book)
  f.jax('fields.minus', lambda x, q, s: x @ scaled(jnp.stack([(p(q).astype(jnp.int8) - 8) for p in (low, high)], -1), s), x, q, s)
  f.jax('fields.signed', lambda x, q, s: x @ scaled(jnp.stack([(q << 4) >> 4, q >> 4], -1), s), x, z, s)
  f.jax('fields.halves', lambda x, q, s: x @ scaled(jnp.concatenate([p(q.reshape(n, k // 16, 8)) for p in (low, high)], -1), s), x, q, s)
  f.jax('fields.words', lambda x, q, s: x @ scaled((q[..., None] >> (4 * jnp.arange(8, dtype=jnp.uint32))) & 15, s), x, words, s)
  f.jax('fields.rows', lambda x, q: x @ jnp.stack([low(q), high(q)], 1).reshape(k, n).astype(F32), x, any_bits('u8', (k // 2, n), 'fields'))
  f.jax('fields.columns', lambda x, q: x @ jnp.concatenate([high(q), low(q)], -1).astype(F32), x, any_bits('u8', (k, n // 2), 'fields'))


def planes(f):
  """Numbers of 3, 5 and 6 bits, in two arrays or in words with bits to spare; halves whose scales differ."""
  k, n = 64, 40
  x, s = small_ints('f32', (2, k)), powers('f16', (n, k // 16))
  low, high, tops = (any_bits('u8', (n, k // per), 'planes', per) for per in (2, 4, 8))

  def scaled(w):
    return lambda x, s, *q: x @ (w(*q).astype(F32).reshape(n, k // 16, 16) * s.astype(F32)[..., None]).reshape(n, k).T

  def parts(q, bits, join=jnp.stack):
    return join([(q >> at) & (2 ** bits - 1) for at in range(0, 8, bits)], -1).reshape(n, k)

  f.jax('planes.3', scaled(lambda q, h: (parts(q, 2) | parts(h, 1) << 2).astype(jnp.int8) - 4), x, s, high, tops)
  f.jax('planes.6', scaled(lambda q, h: (parts(q, 4, jnp.concatenate) | parts(h, 2, jnp.concatenate) << 4).astype(jnp.int8) - 32), x, s, low, high)
  f.jax('planes.5', scaled(lambda q, h: (parts(q, 4) | ((h[..., None] >> jnp.arange(32, dtype=jnp.uint32)) & 1).astype(jnp.uint8).reshape(n, k) << 4)),
        x, s, low, any_bits('u32', (n, k // 32), 'planes'))
  f.jax('planes.halves', scaled(lambda q: jnp.concatenate([q.reshape(n, k // 32, 16) & 15, q.reshape(n, k // 32, 16) >> 4], -1)), x, s, low)
  f.jax('planes.spare', lambda x, q: x @ jnp.concatenate([(q >> (27 - 3 * i)) & 7 for i in range(10)], 0).astype(F32), small_ints('f32', (2, 60)),
        any_bits('s32', (6, n), 'planes'))


def word_files(f):
  """Weights as AutoAWQ and AutoGPTQ store them: words of eight numbers, along the columns or along the depth; zero points, too."""
  k, n, g = 64, 40, 16
  x, s, z = small_ints('f32', (2, k)), powers('f16', (k // g, n)), any_bits('s32', (k // g, n // 8), 'words')

  def along_columns(q, order):
    return ((q[:, :, None] >> (4 * jnp.array(order, jnp.int32))) & 15).reshape(-1, n)

  def along_depth(q):
    return ((q[:, None, :] >> (4 * jnp.arange(8, dtype=jnp.int32))[None, :, None]).astype(jnp.int8) & jnp.int8(15)).reshape(k, n)

  for type_ in ('f32', 'f16', 'bf16'):
    t = DTYPES[type_]

    def scaled(x, w, z, s):
      w = (w.reshape(k // g, g, n) - z[:, None]).astype(t) * s.astype(t)[:, None]
      return product(x.astype(t), w.reshape(k, n), preferred_element_type=F32)

    order = (0, 4, 1, 5, 2, 6, 3, 7)
    f.jax(f'awq.{type_}', lambda x, q, z, s: scaled(x, along_columns(q, order), along_columns(z, order), s), x, any_bits('s32', (k, n // 8), 'awq'), z, s)
    by = np.arange(n).reshape(-1, 8)[:, list(order)].reshape(-1)
    f.jax(f'awq.{type_}.gathered', lambda x, q, z, s: scaled(x, along_columns(q, range(8))[:, by], along_columns(z, range(8))[:, by], s), x,
          any_bits('s32', (k, n // 8), 'awq'), z, s)
    f.jax(f'gptq.{type_}', lambda x, q, z, s: scaled(x, along_depth(q), (along_columns(z, range(8)) + 1).astype(jnp.int8), s), x,
          any_bits('s32', (k // 8, n), 'gptq'), z, s)


def affine(f):
  """Numbers times scales plus biases, in blocks and by columns, in three types: the numbers of MLX and of GGUF's Q4_1."""
  k, n = 96, 43
  for i, (type_, scale, sign) in enumerate((('u4', 'f32', 1), ('u8', 'f16', -1), ('s8', 'bf16', 1), ('s4', 'f16', 1), ('u4', 'bf16', -1), ('u4', 'f16', 1), ('u4', 'bf16', 0), ('s8', 'f32', 0))):
    for turned in (False, True):
      size, rows = (16, 32, 96)[i % 3], 1 + 4 * (i % 2)
      split, dims = ((n, k // size, size), (n, k // size)) if turned else ((k // size, size, n), (k // size, n))
      over = (slice(None), slice(None), None) if turned else (slice(None), None, slice(None))

      def dequantised(x, w, s, b):
        w = w.astype(s.dtype).reshape(split) * s[over]
        w = (w + b[over] if sign > 0 else w - b[over] if sign else b[over] - w).reshape((n, k) if turned else (k, n))
        return product(x.astype(s.dtype), w, turned, **({} if scale == 'f32' else {'preferred_element_type': F32}))

      f.jax(f'affine.{type_}.{scale}.{("from", "plus", "minus")[sign]}{".turned" if turned else ""}', dequantised, small_ints('f32', (rows, k)),
            any_bits(type_, (n, k) if turned else (k, n), 'affine'), powers(scale, dims), small_ints(scale, dims, 'bias'))


def books(f):
  """Codebooks of 16 and 256 numbers, with each treatment of an index out of range; and formats that are looked up."""
  x, book, s = small_ints('f32', (1, K)), (np.arange(16) ** 2 - 90.5).astype(np.float32), powers('f32', (N, K // 24))
  for type_ in ('u4', 's4', 'u8', 's8'):
    w = any_bits(type_, (K, N), 'book')
    for mode in ('fill', 'clip', 'wrap') if type_ == 'u8' else ('clip',):
      f.jax(f'book.{type_}.{mode}', lambda x, b, w: x @ jnp.take(b, w, mode=mode), x, book, w)
  f.jax('book.turned', lambda x, b, w, s: x @ (b[w.astype(jnp.int32)].reshape(N, K // 24, 24) * s[..., None]).reshape(N, K).T,
        x, book, any_bits('u4', (N, K)), s)
  f.jax('book.bf16', lambda x, b, w: x @ b[w].astype(F32), x, book.astype(DTYPES['bf16']), any_bits('u8', (K, N)) % 20)
  for type_, index in (('f32', 'u8'), ('f16', 'u16')):
    vectors = small_ints(type_, (200, 8))
    f.jax(f'book.vectors.{index}', lambda x, b, w: x @ b[w.astype(jnp.int32)].astype(F32).reshape(N, K).T, x, vectors, any_bits(index, (N, K // 8)) % 200)
  f.jax('book.256', lambda x, b, w: x @ b[w], x, small_ints('f32', (256,)), any_bits('u8', (K, N)))
  for type_ in ('f8e4m3fnuz', 'f8e5m2fnuz', 'f8e4m3b11fnuz'):
    f.jax(f'{type_}.looked.up', lambda x, w, s: x @ (w.astype(F32) * s), x, (small_ints('f32', (K, N)) / 4).astype(DTYPES[type_]),
          powers('f32', (N,)))


def layers(f):
  """A layer's weights in an array of all layers' weights, in a loop."""
  x, s = small_ints('f32', (1, 64)), powers('f32', (2, 64))
  stack = any_bits('s4', (2, 64, 64))

  def scan(layer, *xs):
    return lambda x, *xs: lax.scan(lambda x, w: (jnp.clip(layer(x, *w), -8, 8), None), x, xs)[0]

  f.jax('layers', scan(lambda x, w, s: x @ (w.astype(F32) * s)), x, stack, s)
  f.jax('layers.bf16', scan(lambda x, w: x @ w.astype(F32)), x, weights('bf16', (2, 64, 64)))
  f.jax('layers.f32', scan(lambda x, w: x @ w), x, small_ints('f32', (2, 64, 64)))


def extremes(f):
  """Numbers and scales that a loop must not take for others."""
  x = small_ints('f32', (1, K))
  for type_ in FLOATS:
    w = np.array([np.inf, -np.inf, np.nan, 448, 1e-7, -6e-8, 2 ** -9, 2 ** -16, 0, -0.0], np.float32)
    w = np.resize(w.astype(DTYPES[type_]), (K, N))
    w[:, 10:] = weights(type_, (K, N - 10))
    f.jax(f'{type_}.extremes', lambda x, w: x @ w.astype(F32), x, w)
    f.jax(f'{type_}.extremes.turned', lambda x, w, s: x @ (w.astype(F32) * s).T, x, w.T.copy(),
          np.float32(2))
  for scale in (1e-40, 1e-36, 1e36, np.inf, 0):
    name = f'scale.{scale}'.replace('+', '')
    f.jax(name, lambda x, w, s: x @ (w.astype(F32) * s).T, x, weights('f16', (N, K)),
          np.float32(scale), tol='abs 1e-37 rel 0.0001')


def listed(f):
  """Scales and zeros that a list takes, one for each place of the depth: as keras' int4 has it."""
  k, n, groups = 128, 128, 4
  x, w = small_ints('f32', (1, k)), weights('s8', (k, n))
  q = weights('s8', (n, k // 2), 1)
  zeros, scales = weights('s8', (groups, n), 2), powers('f32', (groups, n), 3)
  places = np.arange(k, dtype=F32)
  regular = places // 32

  def signed(q):
    return ((q & 15) ^ 8) - 8

  def fields(q):
    return jnp.stack([signed(q.T), signed(q.T >> 4)], 1).reshape(k, n)

  def dequantised(w, zeros, scales, at):
    at = at.astype(np.int32)
    return (w.astype(F32) - jnp.take(zeros, at, 0).astype(F32)) * jnp.take(scales, at, 0)
  lists = {'regular': regular, 'reordered': (places * 37) % k // 32,
           'outside': np.where(places == 3, 9, np.where(places == 5, -2, regular))}
  for name, at in lists.items():
    at = at.astype(F32)
    f.jax(f'listed.{name}', lambda x, w, z, s, at: x @ dequantised(w, z, s, at), x, w, zeros, scales,
          at)
    f.jax(f'listed.{name}.turned', lambda x, w, z, s, at: x @ dequantised(
        w.T, z.T, s.T, at), x, w.T.copy(), zeros.T.copy(), scales.T.copy(), at)
    f.jax(f'listed.{name}.fields', lambda x, q, z, s, at: x @ dequantised(fields(q), z, s, at), x, q,
          zeros, scales, at)


@family
def quantised(f):
  for type_ in TYPES:
    plain(f, type_)
    if type_ not in ('bf16', 's2'):
      scaled(f, type_)
  blocks(f)
  packed(f)
  fields(f)
  planes(f)
  word_files(f)
  affine(f)
  orders(f)
  layers(f)
  extremes(f)
  listed(f)
