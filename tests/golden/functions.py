"""Writes functions.json: the builder's functions beside XLA's operations, with JAX's results.

Each case calls a method with operands (a type and values, which become parameters) and other arguments as they are.
    build/venv/bin/python tests/golden/functions.py
"""
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update('jax_enable_x64', True)
cases = []
TYPES = {'f32': jnp.float32, 'f64': jnp.float64, 'f16': jnp.float16, 'bf16': jnp.bfloat16, 's32': jnp.int32,
         's64': jnp.int64, 'u8': jnp.uint8, 'u32': jnp.uint32, 'pred': jnp.bool_, 'c64': jnp.complex64}
NAMES = {np.dtype(value).name: key for key, value in TYPES.items()}


def values(array):
    array = np.asarray(array)
    if array.dtype.kind == 'c':
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind not in 'iub':
        array = array.astype(np.float64)
    return [str(x) if isinstance(x, float) and not np.isfinite(x) else x for x in array.ravel().tolist()]


def described(array):
    array = jnp.asarray(array)
    return {'shape': f"{NAMES[array.dtype.name]}[{','.join(map(str, array.shape))}]", 'data': values(array)}


def case(method, wanted, *arguments):
    """An array is an operand, a list of arrays a list of them, and anything else an argument as it is."""
    is_array = lambda x: isinstance(x, (jax.Array, np.ndarray))
    spelled = [{'op': described(x)} if is_array(x) else
               {'ops': [described(y) for y in x]} if isinstance(x, list) and x and is_array(x[0]) else
               {'value': x} for x in arguments]
    results = [described(x) for x in wanted] if isinstance(wanted, (list, tuple)) else described(wanted)
    cases.append({'method': method, 'arguments': spelled, 'wanted': results})


rng = np.random.default_rng(7)
normal = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)
x, matrix, cube = normal(7), normal(4, 5), normal(2, 3, 4)
odd = jnp.asarray([0.0, -0.0, 30.0, -30.0, 90.0, -90.0, np.inf, -np.inf, np.nan, 1e-6], jnp.float32)

for type_name in ('f32', 'f64', 'bf16', 'f16'):
    for name in ('relu', 'silu', 'softplus', 'gelu'):
        array = jnp.concatenate([x, odd[:6]]).astype(TYPES[type_name])
        case(name, getattr(jax.nn, name)(array), array)
case('gelu', jax.nn.gelu(x, approximate=False), x, {'approximate': False})
case('gelu', jax.nn.gelu(x.astype(jnp.float64), approximate=False), x.astype(jnp.float64), False)
case('softplus', jax.nn.softplus(odd), odd)
for axis in (-1, 0, [0, 1], [1, 2], 1):
    case('softmax', jax.nn.softmax(cube, axis=tuple(axis) if isinstance(axis, list) else axis), cube, {'axis': axis})
    case('logSoftmax', jax.nn.log_softmax(cube * 50, axis=tuple(axis) if isinstance(axis, list) else axis), cube * 50, axis)
for options in ({}, {'axis': 1}, {'axis': -1}, {'axis': [0, 2]}, {'axis': [0, -1], 'keepDims': True}, {'keepDims': True}):
    python = {key.lower(): tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    case('sum', jnp.sum(cube, **python), cube, options)
    case('mean', jnp.mean(cube, **python), cube, options)
    case('variance', jnp.var(cube, **python), cube, options)
    case('max', jnp.max(cube, **python), cube, options)
    case('min', jnp.min(cube, **python), cube, options)
    case('logsumexp', jax.nn.logsumexp(cube * 40, **python), cube * 40, options)
case('logsumexp', jax.nn.logsumexp(jnp.full((2, 3), -np.inf, jnp.float32), axis=1), jnp.full((2, 3), -np.inf, jnp.float32), 1)
whole = jnp.asarray([[3, 250, 7], [9, 9, 1]], jnp.uint8)
case('mean', jnp.mean(whole.astype(jnp.float32), axis=0), whole, 0)
case('sum', jnp.sum(whole > 5, axis=1).astype(jnp.int32), whole > 5, 1)
case('max', jnp.max(whole), whole)
case('min', jnp.min(whole.astype(jnp.int64) - 100, axis=1), whole.astype(jnp.int64) - 100, {'axis': 1})
case('variance', jnp.var(jnp.asarray([1 + 2j, 3 - 1j], jnp.complex64)), jnp.asarray([1 + 2j, 3 - 1j], jnp.complex64))
ties = jnp.asarray([[1, 3, 3, 0], [2, 2, 2, 2], [5, 1, 5, 7]], jnp.float32)
for name in ('argmax', 'argmin'):
    for array in (ties, whole, matrix, ties.at[1, 2].set(np.nan), jnp.full((3, 2), -np.inf, jnp.float32)):
        for axis in (None, 0, 1):
            case(name, getattr(jnp, name)(array, axis=axis).astype(jnp.int32), array, *([] if axis is None else [axis]))
case('argmax', jnp.argmax(matrix, axis=1, keepdims=True).astype(jnp.int32), matrix, {'axis': 1, 'keepDims': True})
for axis in (None, 0, 1, -1):
    case('cumsum', jnp.cumsum(matrix, axis=axis), matrix, *([] if axis is None else [{'axis': axis}]))
case('cumsum', jax.lax.cumsum(matrix, axis=1, reverse=True), matrix, 1, True)

classes = jnp.asarray([[0, 2], [3, -1]], jnp.int32)
for axis in (-1, 0, 1):
    case('oneHot', jax.nn.one_hot(classes, 4, axis=axis, dtype=jnp.float32), classes, 4, {'axis': axis})
case('oneHot', jax.nn.one_hot(classes, 3, dtype=jnp.bfloat16), classes, 3, {'dtype': 'bf16'})
scale, bias = normal(4), normal(4)
standard = lambda a, axis, epsilon=1e-6: (a - a.mean(axis, keepdims=True)) * jax.lax.rsqrt(a.var(axis, keepdims=True) + epsilon)
case('layerNorm', standard(cube, -1), cube)
case('layerNorm', standard(cube, (1, 2), 0.1), cube, {'axis': [1, 2], 'epsilon': 0.1})
case('layerNorm', standard(cube, -1) * scale + bias, cube, -1, scale, bias)
labels = jnp.asarray([1, 0, 4, 2], jnp.int32)
picked = -jnp.take_along_axis(jax.nn.log_softmax(matrix), labels[:, None], 1)[:, 0]
case('crossEntropy', picked, matrix, labels)
soft = jax.nn.softmax(normal(4, 5))
case('crossEntropy', -(soft * jax.nn.log_softmax(matrix)).sum(-1), matrix, soft)

case('where', jnp.where(matrix > 0, matrix, 2), matrix > 0, matrix, 2)
case('where', jnp.where(matrix[:, :1] > 0, matrix, matrix[0]), matrix[:, :1] > 0, matrix, matrix[0])
indices = jnp.asarray([[0, 3], [-1, 2], [9, -7]], jnp.int32)
for mode in ('fill', 'clip', 'wrap'):
    for array in (matrix, matrix.astype(jnp.int32), (matrix * 100).astype(jnp.uint8)):
        for axis in (None, 0, 1):
            case('take', jnp.take(array, indices, axis=axis, mode=mode), array, indices, {'mode': mode} if axis is None else {'axis': axis, 'mode': mode})
case('take', jnp.take(matrix, jnp.asarray(2, jnp.uint8), axis=1), matrix, jnp.asarray(2, jnp.uint8), 1)
for axis in (0, 1, -1):
    case('stack', jnp.stack([matrix, matrix + 1], axis), [matrix, matrix + 1], axis)
case('split', jnp.split(matrix, 2), matrix, 2)
case('split', jnp.split(matrix, [1, 4], axis=1), matrix, [1, 4], 1)
case('split', jnp.split(matrix, [2, 2], axis=-1), matrix, [2, 2], -1)
for shapes in ([(4, 5), (5, 3)], [(5,), (5,)], [(4, 5), (5,)], [(5,), (5, 2)], [(2, 3, 4, 5), (5, 2)], [(2, 1, 4, 5), (3, 5, 2)],
               [(5,), (3, 5, 2)], [(3, 4, 5), (5,)]):
    a, b = (normal(*shape) for shape in shapes)
    case('matmul', jnp.matmul(a, b), a, b)
for subscripts, shapes in {
    'ij,jk->ik': [(4, 5), (5, 3)], 'bij,bjk->bik': [(2, 3, 4), (2, 4, 5)], 'ii': [(4, 4)], 'ii->i': [(4, 4)], 'ij->ji': [(2, 3)],
    'ij->': [(2, 3)], 'ij,kl->ijkl': [(2, 3), (4, 2)], 'ij,ij->i': [(3, 4), (3, 4)], 'ba': [(2, 3)], 'a,b,c->cab': [(2,), (3,), (4,)],
    'bhqd,bhkd->bhqk': [(2, 2, 3, 4), (2, 2, 5, 4)], '...ij,...jk': [(2, 3, 4), (4, 5)], '...i,i...->...': [(3, 4), (4, 3)],
    'ab,bc,cd,ad->b': [(2, 3), (3, 4), (4, 5), (2, 5)], 'iij,jk->k': [(3, 3, 2), (2, 4)], 'i j , j k -> i k': [(2, 3), (3, 2)],
    'a...b->b...a': [(2, 3, 4, 5)], '...,...': [(3, 1), (1, 4)], 'ij,j': [(3, 2), (2,)],
}.items():
    operands = [normal(*shape) for shape in shapes]
    case('einsum', jnp.einsum(subscripts, *operands), subscripts, operands)
scalar = lambda value, type_name='f32': jnp.asarray(value, TYPES[type_name])
case('linspace', jnp.linspace(scalar(1.5), 4, 7), scalar(1.5), 4, 7)
case('linspace', jnp.linspace(scalar(-2.0, 'f64'), 5, 9, endpoint=False), scalar(-2.0, 'f64'), 5, 9, False)
case('linspace', jnp.linspace(scalar(3.0), 9, 1), scalar(3.0), 9, 1)

for seed, wide in ((0, False), (42, False), (2**31 - 1, False), (-3, False), (2**40 + 5, True)):
    with jax.enable_x64(wide):
        case('key', jax.random.PRNGKey(seed), seed)
key = jax.random.PRNGKey(17)
case('splitKey', jax.random.split(key), key)
case('splitKey', jax.random.split(key, 5), key, 5)
case('foldIn', jax.random.fold_in(key, 7), key, 7)
case('foldIn', jax.random.fold_in(key, 2**32 - 1), key, jnp.asarray(2**32 - 1, jnp.uint32))
for type_name in ('f32', 'f64', 'bf16', 'f16'):
    for shape in ((5,), (3, 4), ()):
        spelled = f"{type_name}[{','.join(map(str, shape))}]"
        case('uniform', jax.random.uniform(key, shape, TYPES[type_name]), key, spelled)
        case('normal', jax.random.normal(key, shape, TYPES[type_name]), key, spelled)
case('uniform', jax.random.uniform(key, (6,), jnp.float32, -3, 5), key, 'f32[6]', {'low': -3, 'high': 5})
keep = jax.random.bernoulli(key, jnp.float32(0.75), (4, 5))
case('dropout', jnp.where(keep, matrix / jnp.float32(0.75), 0), matrix, key, 0.25)

for narrow in (jnp.float16, jnp.bfloat16):
    large = jnp.round(normal(1003) * 10 + 100).astype(narrow)  # sums overflow in f16, the count is rounded in bf16
    case('sum', jnp.sum(large / 8), large / 8)
    case('mean', jnp.mean(large), large)
    case('variance', jnp.var(large), large)
    case('softmax', jax.nn.softmax(large[:40]), large[:40])
    case('logSoftmax', jax.nn.log_softmax(large[:40]), large[:40])
    case('logsumexp', jax.nn.logsumexp(large[:40]), large[:40])
    row, by, plus = (x.astype(narrow) for x in (jnp.round(normal(1, 300) * 20 + 100), normal(300), normal(300)))
    wide = standard(row.astype(jnp.float32), -1) * by + plus
    case('layerNorm', wide.astype(narrow), row, -1, by, plus)
    case('layerNorm', wide.astype(narrow), row, -1, by.astype(jnp.float32), plus)
short, many = jnp.asarray([5, 250], jnp.uint8), normal(2, 300)
case('oneHot', jax.nn.one_hot(short.astype(jnp.int32), 300, dtype=jnp.float32), short, 300)
case('crossEntropy', -jnp.take_along_axis(jax.nn.log_softmax(many), short[:, None], 1)[:, 0], many, short)

path = pathlib.Path(__file__).with_suffix('.json')
path.write_text('[\n' + ',\n'.join(json.dumps(case) for case in cases) + '\n]\n')
print(f'{len(cases)} cases in {path}')
