"""The operations that `make bench ARGS=operations` measures: a row each.

    operations.py FOLDER     writes NAME.hlo and NAME.json there, and rows.json: names, titles, peers

A row is a title, a JAX function and its operands' specifications (see programs/export.py), and the names of the
operation in the JavaScript engines that have it. These take operands as float32 or int32 arrays, named x and y unless
the row has other names.
"""
import json
import os
import pathlib
import re
import sys

os.environ['JAX_PLATFORMS'] = 'cpu'

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsp
from jax import lax

jax.config.update('jax_enable_x64', True)

DTYPES = {
    'pred': jnp.bool_, 'f16': jnp.float16, 'bf16': jnp.bfloat16, 'f32': jnp.float32, 'f64': jnp.float64,
    'c64': jnp.complex64, 'c128': jnp.complex128, 'f8e5m2': jnp.float8_e5m2,
    'f8e4m3fn': jnp.float8_e4m3fn, 's8': jnp.int8, 'u8': jnp.uint8, 's32': jnp.int32, 'u32': jnp.uint32,
    's64': jnp.int64, 'u64': jnp.uint64,
}
MILLION = (1 << 20,)
ROWS = []


def drawn(how, dtype, shape, scale, shift):
    shape = shape if isinstance(shape, tuple) else (shape,)
    return dict(shape=shape, draw=how, scale=scale, shift=shift, dtype=dtype)


def normal(dtype='f32', shape=MILLION, scale=1.0, shift=0.0):
    return drawn('normal', dtype, shape, scale, shift)


def uniform(dtype='f32', shape=MILLION, low=0.0, high=1.0):
    return drawn('uniform', dtype, shape, high - low, low)


def integers(dtype='s32', shape=MILLION, low=0, high=1 << 30):
    return drawn('integers', dtype, shape, high - low, low)


def row(title, function, *operands, peer=None, names='xy'):
    ROWS.append((title, function, operands, peer, list(names)[:len(operands)]))


def same(how, functions, dtypes, count=1, **options):
    """Rows of functions by name, for each element type."""
    for dtype in dtypes.split():
        for name in functions.split():
            peer = name if dtype == 'f32' else None
            row(f'{name} {dtype}', getattr(lax, name), *[how(dtype, **options)] * count, peer=peer)


# --- Elements ---

REAL = 'f32 f64'
same(normal, 'add mul div max', 'f32', 2)
same(normal, 'exp expm1 logistic tanh sin cos tan erf cbrt asinh sinh cosh sign floor', 'f32')
same(uniform, 'log log1p sqrt rsqrt asin acos atan atanh', 'f32', low=0.001)
row('acosh f32', lax.acosh, uniform(low=1, high=9), peer='acosh')
row('power f32', lax.pow, uniform(), normal(), peer='pow')
row('x ** 2.5 f32', lambda x: x ** 2.5, uniform())
row('x ** 0.5 f32', lambda x: lax.pow(x, jnp.float32(0.5)), uniform())
row('x ** -1.5 f32', lambda x: lax.pow(x, jnp.float32(-1.5)), uniform())
row('x ** 7 f32', lambda x: lax.pow(x, jnp.float32(7)), normal())
row('atan2 f32', lax.atan2, normal(), normal(), peer='atan2')
row('remainder f32', lax.rem, normal(scale=10), normal(), peer='mod')
row('select(x < y, x, 0) f32', lambda x, y: jnp.where(x < y, x, 0), normal(), normal())
row('clamp f32', lambda x: jnp.clip(x, -1, 1), normal())
row('x * 2 + 1 < y, pred', lambda x, y: x * 2 + 1 < y, normal(), normal())
row('gelu f32', lambda x: jax.nn.gelu(x, approximate=False), normal(), peer='gelu')
row('erf_inv f32', lax.erf_inv, uniform(low=-0.99, high=0.99))
row('lgamma f32', lax.lgamma, uniform(low=0.5, high=9))
same(normal, 'add mul div', 'f64', 2)
same(normal, 'exp expm1 tanh sin cos tan erf cbrt asinh', 'f64')
same(uniform, 'log log1p sqrt asin atanh', 'f64', low=0.001)
row('power f64', lax.pow, uniform('f64'), normal('f64'))
row('atan2 f64', lax.atan2, normal('f64'), normal('f64'))
row('remainder f64', lax.rem, normal('f64', scale=10), normal('f64'))
row('sin f64 of billions', lax.sin, normal('f64', scale=1e9))
for dtype in 'f16 bf16 f8e5m2 f8e4m3fn'.split():
    same(normal, 'add', dtype, 2)
    same(normal, 'exp', dtype)
same(normal, 'add mul div', 'c64', 2)
same(normal, 'abs exp log tanh sqrt', 'c64')
row('power c64', lax.pow, normal('c64'), normal('c64'))
same(integers, 'add mul', 's32', 2)
same(integers, 'add mul', 's64', 2, high=1 << 40)
same(integers, 'div rem', 's32', 2, low=1)
same(integers, 'div rem', 'u32', 2, low=1)
same(integers, 'div rem', 's64', 2, low=1, high=1 << 40)
row('x / 7 s32', lambda x: lax.div(x, jnp.int32(7)), integers(low=-1 << 30))
row('x % 1000 s32', lambda x: lax.rem(x, jnp.int32(1000)), integers(low=-1 << 30))
row('x / 7 s64', lambda x: lax.div(x, jnp.int64(7)), integers('s64', low=-1 << 30))
row('x % 1000 u32', lambda x: lax.rem(x, jnp.uint32(1000)), integers('u32'))
row('x << y s32', lax.shift_left, integers(), integers(high=31))
same(integers, 'population_count clz', 's32')
for pair in ('f32 bf16', 'bf16 f32', 'f32 f16', 'f16 f32', 'f32 s32', 's32 f32', 'f64 f32', 'f32 f64',
             's64 f32', 'f64 s64', 'f32 s8', 'u8 f32', 'f32 f8e4m3fn'):
    source, target = pair.split()
    how = integers if source[0] in 'su' else normal
    limits = dict(high=100) if how is integers else dict(scale=10.0)
    row(f'{source} to {target}', lambda x, target=target: lax.convert_element_type(x, DTYPES[target]),
        how(source, **limits))

# --- Reductions, and functions made of them ---

row('sums of rows 4096x1024', lambda x: jnp.sum(x, 1), normal(shape=(4096, 1024)), peer='sumRows')
row('sums of columns 4096x1024', lambda x: jnp.sum(x, 0), normal(shape=(4096, 1024)), peer='sumColumns')
row('sum of the middle 64x256x256', lambda x: jnp.sum(x, 1), normal(shape=(64, 256, 256)))
row('sum of all f32', jnp.sum, normal())
row('sum of all f64', jnp.sum, normal('f64'))
row('sum of all s32', lambda x: lax.reduce(x, jnp.int32(0), lax.add, [0]), integers())
row('sums of rows bf16', lambda x: jnp.sum(x, 1), normal('bf16', (1024, 1024)))
row('maxima of rows 1024x1024', lambda x: jnp.max(x, 1), normal(shape=(1024, 1024)))
row('argmax of rows 1024x1024', lambda x: lax.argmax(x, 1, jnp.int32), normal(shape=(1024, 1024)))
row('any of columns, pred', lambda x: jnp.any(x, 0), integers('pred', (1024, 1024), 0, 2))
row('variance of rows 1024x1024', lambda x: jnp.var(x, 1), normal(shape=(1024, 1024)))
row('softmax 1000x1000', lambda x: jax.nn.softmax(x), normal(shape=(1000, 1000)), peer='softmax')
row('softmax of columns 1000x1000', lambda x: jax.nn.softmax(x, 0), normal(shape=(1000, 1000)))
row('softmax 20000x50', lambda x: jax.nn.softmax(x), normal(shape=(20000, 50)))


def layer_norm(x, scale, bias):
    centred = x - jnp.mean(x, 1, keepdims=True)
    return centred * lax.rsqrt(jnp.mean(centred * centred, 1, keepdims=True) + 1e-5) * scale + bias


row('layer norm 1024x768', layer_norm, normal(shape=(1024, 768)), normal(shape=768), normal(shape=768),
    peer='layerNorm', names=['x', 'scale', 'bias'])
row('cumulative sums 1024x1024', lambda x: jnp.cumsum(x, 1), normal(shape=(1024, 1024)), peer='cumsum')
row('cumulative maxima 1M', lambda x: lax.cummax(x), normal())
row('max pooling 2x2 1x112x112x64', lambda x: lax.reduce_window(
    x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID'), normal(shape=(1, 112, 112, 64)))

# --- Movement and selection ---

row('transpose 1024x1024', jnp.transpose, normal(shape=(1024, 1024)))
row('transpose 2048x2048', jnp.transpose, normal(shape=(2048, 2048)), peer='transpose')
row('transpose 2,0,1 128x64x128', lambda x: jnp.transpose(x, (2, 0, 1)), normal(shape=(128, 64, 128)))
row('transpose 1024x1024 s8', jnp.transpose, integers('s8', (1024, 1024), high=100))
row('concatenate columns', lambda x, y: jnp.concatenate([x, y], 1), *[normal(shape=(1024, 512))] * 2)
row('pad 1000x1000', lambda x: jnp.pad(x, 12), normal(shape=(1000, 1000)))
row('reverse 1M', lambda x: x[::-1], normal())
row('slice of columns by 2', lambda x: lax.slice(x, (0, 0), (1024, 1024), (1, 2)), normal(shape=(1024, 1024)))
row('update slice 512x512 in 1024x1024', lambda x, y: lax.dynamic_update_slice(x, y, (9, 9)),
    normal(shape=(1024, 1024)), normal(shape=(512, 512)))
row('gather 1M scalars', lambda x, i: x[i], normal(), integers(high=1 << 20))
row('512 rows of 30k x 512', lambda x, i: jnp.take(x, i, 0), normal(shape=(30000, 512)),
    integers(shape=512, high=30000), peer='gather', names=['x', 'indices'])
row('take along rows 1024x1024', lambda x, i: jnp.take_along_axis(x, i, 1), normal(shape=(1024, 1024)),
    integers(shape=(1024, 1024), high=1024))
row('scatter-add 1M scalars', lambda x, i, y: x.at[i].add(y), normal(), integers(high=1 << 20), normal())
row('scatter 1M scalars', lambda x, i, y: x.at[i].set(y), normal(), integers(high=1 << 20), normal())
row('scatter-add 4096 rows of 256', lambda x, i, y: x.at[i].add(y), normal(shape=(4096, 256)),
    integers(shape=4096, high=4096), normal(shape=(4096, 256)))
row('histogram 1M in 256', lambda i: jnp.zeros(256, jnp.int32).at[i].add(1), integers(high=256))
row('sort 100k', lambda x: lax.sort(x), normal(shape=100000), peer='sort')
row('sort 1M f32', lambda x: lax.sort(x), normal())
row('sort 1M s32', lambda x: lax.sort(x), integers())
row('sort rows 1000x1000', lambda x: lax.sort(x), normal(shape=(1000, 1000)))
row('sort 1M, key and value', lambda x, y: lax.sort((x, y), num_keys=1), normal(), integers())
row('sort 1M, two keys', lambda x, y: lax.sort((x, y), num_keys=2), integers(high=1000), normal())
row('argsort 100k', lambda x: lax.sort((x, lax.iota(jnp.int32, 100000)), num_keys=1)[1], normal(shape=100000))
row('top 100 of 100k', lambda x: lax.top_k(x, 100), normal(shape=100000), peer='topk')
row('top 5 of rows 1000x1000', lambda x: lax.top_k(x, 5), normal(shape=(1000, 1000)))
row('top 100k of 1M', lambda x: lax.top_k(x, 100000), normal())

# --- Random numbers ---

key = drawn('integers', 'u32', (2,), 1 << 30, 0)
row('random bits 1M', lambda k: jax.random.bits(k, MILLION, jnp.uint32), key)
row('uniform 1M', lambda k: jax.random.uniform(k, MILLION, jnp.float32), key)
row('normal 1M', lambda k: jax.random.normal(k, MILLION, jnp.float32), key)


def philox(state):
    return lax.rng_bit_generator(state, MILLION, jnp.uint32, algorithm=lax.RandomAlgorithm.RNG_PHILOX)[1]


def unit(bits):
    """Converts bits to floats of [0, 1) as jax.random.uniform does."""
    return lax.bitcast_convert_type(bits >> 9 | 0x3F800000, jnp.float32) - 1


state = drawn('integers', 'u32', (4,), 1 << 30, 0)
row('Philox bits 1M', philox, state)
row('Philox uniform 1M', lambda s: unit(philox(s)), state)
row('Philox normal 1M', lambda s: 2 ** 0.5 * lax.erf_inv(jnp.maximum(-1 + 2 ** -24, 2 * unit(philox(s)) - 1)), state)

# --- Fourier transforms ---

row('FFT 64K c64', jnp.fft.fft, normal('c64', 65536))
row('FFT 64K c128', jnp.fft.fft, normal('c128', 65536))
row('FFT 512x512 c64', jnp.fft.fft2, normal('c64', (512, 512)))
row('FFT 1024 rows of 256', jnp.fft.fft, normal('c64', (1024, 256)))
row('FFT of columns 1024x256', lambda x: jnp.fft.fft(x, axis=0), normal('c64', (1024, 256)))
row('FFT 1024 rows of 251', jnp.fft.fft, normal('c64', (1024, 251)))
row('real FFT 1024 rows of 1000', jnp.fft.rfft, normal(shape=(1024, 1000)))
row('real FFT 1024 rows of 1023', jnp.fft.rfft, normal(shape=(1024, 1023)))
row('real FFT of columns 1024x256', lambda x: jnp.fft.rfft(x, axis=0), normal(shape=(1024, 256)))
row('inverse real FFT 1024 rows of 1000', lambda x: jnp.fft.irfft(x, 1000), normal('c64', (1024, 501)))
row('inverse real FFT 1024 rows of 1023', lambda x: jnp.fft.irfft(x, 1023), normal('c64', (1024, 512)))

# --- Linear algebra: of matrices that are safely regular ---


def square(n, batch=(), dtype='f32'):
    return normal(dtype, (*batch, n, n))


def regular(x):
    return x + x.shape[-1] * jnp.eye(x.shape[-1], dtype=x.dtype)


def positive(x):
    return x @ jnp.swapaxes(x, -1, -2) / x.shape[-1] + jnp.eye(x.shape[-1], dtype=x.dtype)


LINEAR = {
    'cholesky': lambda x: jnp.linalg.cholesky(positive(x)),
    'triangular solve': lambda x: jsp.solve_triangular(regular(x), x, lower=True)
    if x.ndim == 2 else lax.linalg.triangular_solve(regular(x), x, left_side=True, lower=True),
    'solve': lambda x: jnp.linalg.solve(regular(x), x),
    'inv': lambda x: jnp.linalg.inv(regular(x)),
    'det': lambda x: jnp.linalg.det(regular(x) / x.shape[-1]),
    'qr': lambda x: jnp.linalg.qr(x),
    'eigvalsh': lambda x: jnp.linalg.eigvalsh(positive(x)),
    'eigh': lambda x: jnp.abs(jnp.linalg.eigh(positive(x))[1]),
    'svd': lambda x: jnp.linalg.svd(x, compute_uv=False),
    'svd with vectors': lambda x: jnp.abs(jnp.linalg.svd(x)[0]),
    'eigvals': lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))),
    'lstsq': lambda x: jnp.linalg.lstsq(regular(x), x)[0] if x.ndim == 2
    else jax.vmap(lambda y: jnp.linalg.lstsq(regular(y), y)[0])(x),
}
for n in 256, 64, 8:
    for name, function in LINEAR.items():
        row(f'{name} {n}', function, square(n))
for name in 'cholesky', 'solve', 'inv', 'det', 'qr', 'eigh', 'svd', 'eigvals', 'lstsq':
    if name in ('solve', 'qr', 'inv'):
        row(f'{name} 256 f64', LINEAR[name], square(256, dtype='f64'))
    row(f'{name} of 1000 8x8', LINEAR[name], square(8, (1000,)))
    if name != 'eigvals':
        row(f'{name} of 1000 3x3', LINEAR[name], square(3, (1000,)))
        row(f'{name} of 100,000 3x3', LINEAR[name], square(3, (100000,)))


def with_vectors(values, vectors):
    """Quantities that do not depend on vectors' signs and phases, nor on the order of eigenvalues."""
    return jnp.concatenate([jnp.sort(jnp.abs(values), -1), jnp.sum(jnp.abs(vectors) ** 2, -2)], -1)


def each(function):
    return lambda x: function(x) if x.ndim == 2 else jax.vmap(function)(x)


GENERAL = {
    'eig': lambda x: with_vectors(*jnp.linalg.eig(x)),
    'schur': each(lambda x: (lambda t, z: with_vectors(jnp.diagonal(t), z))(*jsp.schur(x))),
    'hessenberg': each(lambda x: jsp.hessenberg(x, calc_q=True)[0]),
    'pivoted QR': each(lambda x: jsp.qr(x, pivoting=True, mode='economic')[1]),
    'tridiagonal solve': lambda x: lax.linalg.tridiagonal_solve(
        x[..., 0, :], 4 + x[..., 1, :], x[..., 2, :], jnp.swapaxes(x, -1, -2)),
}
for name, function in GENERAL.items():
    for dtype in 'f32', 'f64', 'c64':
        row(f'{name} 256 {dtype}', function, square(256, dtype=dtype))
    row(f'{name} of 1000 8x8', function, square(8, (1000,)))

# --- Contractions ---

row('vector x matrix 2048', jnp.matmul, normal(shape=(1, 2048)), normal(shape=(2048, 2048)), peer='matvec')
row('matrix x vector 2048', jnp.matmul, normal(shape=(2048, 2048)), normal(shape=2048))
row('4 rows x 2048x2048', jnp.matmul, normal(shape=(4, 2048)), normal(shape=(2048, 2048)))
row('10,000 dots 8x8', jnp.matmul, *[normal(shape=(10000, 8, 8))] * 2)
row('dot 256 f32', jnp.matmul, *[normal(shape=(256, 256))] * 2, peer='matmul256')
for dtype in 'f32', 'f64', 'c64', 'bf16':
    row(f'dot 512 {dtype}', jnp.matmul, *[normal(dtype, (512, 512))] * 2)
row('dot 512 s32', jnp.matmul, *[integers(shape=(512, 512), high=100)] * 2)


def convolve(x, w, groups=1, strides=(1, 1)):
    return lax.conv_general_dilated(
        x, w, strides, 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=groups)


row('conv 3x3 28x28x256', convolve, normal(shape=(1, 28, 28, 256)), normal(shape=(3, 3, 256, 256)))
row('conv 3x3 56x56x64', convolve, normal(shape=(1, 56, 56, 64)), normal(shape=(3, 3, 64, 64)), peer='conv')
row('conv 1x1 56x56x64', convolve, normal(shape=(1, 56, 56, 64)), normal(shape=(1, 1, 64, 64)))
row('conv stem 224x224 3 to 32', lambda x, w: convolve(x, w, strides=(2, 2)), normal(shape=(1, 224, 224, 3)),
    normal(shape=(3, 3, 3, 32)))
row('conv 32 groups of 4 56x56', lambda x, w: convolve(x, w, 32), normal(shape=(1, 56, 56, 128)),
    normal(shape=(3, 3, 4, 128)))
row('depthwise 3x3 56x56x64', lambda x, w: convolve(x, w, 64), normal(shape=(1, 56, 56, 64)),
    normal(shape=(3, 3, 1, 64)))


def name_of(title):
    return re.sub(r'\W+', '_', title.replace('**', 'power').replace('%', 'rem').replace('/', 'by')
                  .replace('<<', 'shl').replace('-', 'minus '))


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for title, function, operands, peer, names in ROWS:
        name = name_of(title)
        shapes = [jax.ShapeDtypeStruct(s['shape'], DTYPES[s['dtype']]) for s in operands]
        text = jax.jit(function, keep_unused=True).lower(*shapes).compiler_ir(dialect='hlo').as_hlo_text(
            print_large_constants=True)
        (folder / f'{name}.hlo').write_text(text)
        (folder / f'{name}.json').write_text(json.dumps(operands))
        rows.append({'name': name, 'title': title, 'peer': peer, 'operands': names})
    assert len({r['name'] for r in rows}) == len(rows), 'two rows of one name'
    (folder / 'rows.json').write_text(json.dumps(rows))


if __name__ == '__main__':
    main(sys.argv[1])
