"""Sizes around the widths of SIMD kernels. Operands are made of iota: only results are stored."""

import numpy as np

from corpus import family, reducer
from family_dot import dot_text

SEED = np.int32(37)
EDGES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33)


def whole(name, type_, shape, modulus, shift):
  """Lines that make whole numbers from -shift up, which look shuffled.

  They depend on a parameter (37), or XLA would fold the program into a constant."""
  dims = ','.join(map(str, shape))
  total = 1
  for n in shape:
    total *= n
  return (f'{name}i = s32[{total}] iota(), iota_dimension=0\n'
          f'{name}K = s32[{total}] broadcast(p0), dimensions={{}}\n'
          f'{name}j = s32[{total}] multiply({name}i, {name}K)\n'
          f'{name}m = s32[] constant({modulus})\n'
          f'{name}M = s32[{total}] broadcast({name}m), dimensions={{}}\n'
          f'{name}r = s32[{total}] remainder({name}j, {name}M)\n'
          f'{name}s = s32[] constant({shift})\n'
          f'{name}S = s32[{total}] broadcast({name}s), dimensions={{}}\n'
          f'{name}d = s32[{total}] subtract({name}r, {name}S)\n'
          f'{name}c = {type_}[{total}] convert({name}d)\n'
          f'{name} = {type_}[{dims}] reshape({name}c)\n')


@family
def sizes(f):
  for i, m in enumerate(EDGES):
    k, n = EDGES[(i * 5 + 3) % len(EDGES)], EDGES[(i * 7 + 6) % len(EDGES)]
    for tag, lhs, rhs, lc, rc in (('nn', (m, k), (k, n), 1, 0), ('nt', (m, k), (n, k), 1, 1),
                                  ('tn', (k, m), (k, n), 0, 0)):
      text = dot_text(f'f32[{m},{n}]', (lc,), (rc,), (), ()).replace('p0, p1', 'a, b')
      f.hlo(f'dot.{tag}.{m}x{k}x{n}', None, whole('a', 'f32', lhs, 11, 5) + whole(
          'b', 'f32', rhs, 13, 6) + text, SEED, check=False)
  for n in (64, 67):
    text = dot_text(f'f32[{n},{n - 3}]', (1,), (0,), (), ()).replace('p0, p1', 'a, b')
    f.hlo(f'dot.large.{n}', None, whole('a', 'f32', (n, n + 1), 11, 5) + whole(
        'b', 'f32', (n + 1, n - 3), 13, 6) + text, SEED, check=False)
  for n in EDGES + (63, 65, 127, 1000):
    for type_ in ('f32', 's32', 's8', 'f64'):
      f.hlo(f'reduce.{type_}.{n}', None, whole('a', type_, (3, n), 23, 11) +
            f'z = {type_}[] constant(0)\n'
            f's = {type_}[3] reduce(a, z), dimensions={{1}}, to_apply=f\n'
            f't = {type_}[{n}] reduce(a, z), dimensions={{0}}, to_apply=f\n'
            f'u = {type_}[] reduce(a, z), dimensions={{0,1}}, to_apply=f\n'
            f'r = ({type_}[3], {type_}[{n}], {type_}[]) tuple(s, t, u)',
            SEED, computations=reducer('f', 'add', type_), check=False)
  for type_ in ('f32', 's8', 'f64', 's16', 'c64'):
    for m, n in ((5, 7), (17, 33), (16, 16), (1, 31), (40, 3)):
      f.hlo(f'transpose.{type_}.{m}x{n}', None, whole('a', type_, (m, n), 101, 50) +
            f'r = {type_}[{n},{m}] transpose(a), dimensions={{1,0}}', SEED, check=False)
  for n in EDGES:
    f.hlo(f'fused.{n}', None,
          whole('a', 'f32', (n,), 41, 20) + whole('b', 'f32', (n,), 43, 21) + f'''
        c = f32[{n}] add(a, b)
        d = f32[{n}] multiply(a, c)
        e = f32[{n}] maximum(c, d)
        z = f32[] constant(0)
        Z = f32[{n}] broadcast(z), dimensions={{}}
        p = pred[{n}] compare(a, Z), direction=GT
        g = f32[{n}] select(p, e, b)
        h = s32[{n}] convert(g)
        r = (f32[{n}], s32[{n}], pred[{n}]) tuple(g, h, p)''', SEED, check=False)
  for n in (2, 3, 16, 17, 100, 257):
    f.hlo(f'sort.{n}', None, whole('a', 's32', (n,), 89, 40) +
          f'r = s32[{n}] sort(a), dimensions={{0}}, is_stable=true, to_apply=less', SEED,
          check=False, computations='less {\n  x = s32[] parameter(0)\n  y = s32[] parameter(1)\n'
          '  ROOT r = pred[] compare(x, y), direction=LT\n}')
  for h, w, c, o in ((9, 9, 3, 8), (7, 17, 4, 5), (5, 6, 16, 3), (12, 12, 1, 1)):
    f.hlo(f'convolution.{h}x{w}x{c}x{o}', None, whole('a', 'f32', (1, h, w, c), 11, 5) + whole(
        'b', 'f32', (3, 3, c, o), 7, 3) + f'r = f32[1,{h},{w},{o}] convolution(a, b), '
        'window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f', SEED, check=False)
  for type_ in ('u8', 's8', 'u16', 's16'):
    for n in (15, 19, 131):
      dense_elements(f, type_, n)
    for n in (17, 67, 300):
      dense_reductions(f, type_, n)
  for type_ in ('pred', 'u8', 's8', 'u16', 's16', 'f16', 'bf16', 'f32', 'u32', 's64'):
    near_each_other(f, type_)
  for type_ in ('f8e4m3fn', 'f8e5m2', 'f8e3m4', 'f8e4m3fnuz'):
    levels(f, type_)
  for type_, colours in (('u8', 3), ('s16', 4), ('s32', 3)):
    f.hlo(f'colours.{type_}.{colours}', None, whole('a', type_, (36, 48, colours), 101, 50) + f'''
        b = {type_}[36,48,{colours}] xor(a, a)
        c = {type_}[36,48,{colours}] subtract(b, a)
        t = {type_}[{colours},36,48] transpose(c), dimensions={{2,0,1}}
        r = s8[{colours},36,48] convert(t)''', SEED, check=False)


def dense_elements(f, type_, n):
  """What is computed in lanes as wide as the elements: with a row, a column and a scalar that are the same for many."""
  made = (whole('a', type_, (3, n), 251, 99) + whole('b', type_, (3, n), 241, 103) + whole('v', type_, (n,), 89, 40) +
          whole('w', type_, (3,), 7, 2) + f'x = {type_}[3,{n}] broadcast(v), dimensions={{1}}\n'
          f'y = {type_}[3,{n}] broadcast(w), dimensions={{0}}\n')
  operations = [f'{name}(a, b)' for name in ('add', 'subtract', 'multiply', 'and', 'or', 'xor', 'maximum', 'minimum')]
  operations += ['not(x)', 'clamp(y, a, x)', 'popcnt(a)']
  if type_[0] == 's':
    operations += [f'{name}(a)' for name in ('negate', 'abs', 'sign')]
  results = [(type_, operation) for operation in operations]
  for amount in (0, 3, 7, 9):
    made += f'c{amount} = {type_}[] constant({amount})\nC{amount} = {type_}[3,{n}] broadcast(c{amount}), dimensions={{}}\n'
    results += [(type_, f'shift-{which}(a, C{amount})') for which in ('left', 'right-arithmetic', 'right-logical')]
  results += [('pred', f'compare(a, b), direction={which}') for which in ('EQ', 'NE', 'LT', 'LE', 'GT', 'GE')]
  made += f'p = pred[3,{n}] compare(a, y), direction=LT\nq = pred[3,{n}] convert(b)\no = pred[3,{n}] xor(p, q)\n'
  results += [('pred', 'not(o)'), (type_, 'convert(o)'), (type_, 'select(p, a, x)')]
  for i, (result, operation) in enumerate(results):
    made += f'r{i} = {result}[3,{n}] {operation}\n'
  shapes = ', '.join(f'{result}[3,{n}]' for result, _ in results)
  f.hlo(f'dense.{type_}.{n}', None, made + f'r = ({shapes}) tuple({", ".join(f"r{i}" for i in range(len(results)))})',
        SEED, check=False)


def dense_reductions(f, type_, n):
  made = whole('a', type_, (5, n), 251, 99) + whole('v', type_, (n,), 89, 40) + (
      f'x = {type_}[5,{n}] broadcast(v), dimensions={{1}}\nb = {type_}[5,{n}] xor(a, x)\n'
      f'p = pred[5,{n}] compare(a, x), direction=GT\n'
      f'zero = {type_}[] constant(0)\nz = {type_}[] constant(1)\nt = pred[] constant(true)\nu = pred[] constant(false)\n')
  results = []
  for name, kind, operand, init in (('add', type_, 'b', 'zero'), ('maximum', type_, 'b', 'z'), ('minimum', type_, 'b', 'z'),
                                    ('or', type_, 'b', 'z'), ('and', 'pred', 'p', 't'), ('or', 'pred', 'p', 'u')):
    for size, along in ((5, 1), (n, 0)):
      made += (f'r{len(results)} = {kind}[{size}] reduce({operand}, {init}), dimensions={{{along}}}, '
               f'to_apply={name}_{kind}\n')
      results.append(f'{kind}[{size}]')
  made += (f'r{len(results)} = {type_}[5,{n}] reduce-window(b, z), window={{size=5x1 pad=4_0x0_0}}, '
           f'to_apply=maximum_{type_}\n')
  results.append(f'{type_}[5,{n}]')
  computations = ''.join(reducer(f'{name}_{kind}', name, kind) for name, kind in (
      ('add', type_), ('maximum', type_), ('minimum', type_), ('or', type_), ('and', 'pred'), ('or', 'pred')))
  f.hlo(f'dense.reduce.{type_}.{n}', None,
        made + f'r = ({", ".join(results)}) tuple({", ".join(f"r{i}" for i in range(len(results)))})',
        SEED, computations=computations, check=False)


def near_each_other(f, type_):
  """Every second to sixth element, forwards and backwards: lanes that are in a vector, or not."""
  n, made, shapes = 240, whole('a', type_, (240,), 101, 50) + f'b = {type_}[240] reverse(a), dimensions={{0}}\n', []
  for stride in range(1, 7):
    count = n // stride
    for source in 'ab':
      made += (f'part{len(shapes)} = {type_}[{count}] slice({source}), slice={{[0:{n}:{stride}]}}\n'
               f'more{len(shapes)} = {type_}[{count}] maximum(part{len(shapes)}, part{len(shapes)})\n')
      shapes.append(f'{type_}[{count}]')
  f.hlo(f'near.{type_}', None, made + f'r = ({", ".join(shapes)}) tuple({", ".join(f"more{i}" for i in range(len(shapes)))})',
        SEED, check=False)


def levels(f, type_):
  """Sums that are rounded at every step, of more than one window of 32."""
  made = whole('i', 's32', (70, 145), 7, 3) + (
      f'a = {type_}[70,145] convert(i)\nzero = {type_}[] constant(0)\n')
  results = []
  for dims, shape in (('0', '[145]'), ('1', '[70]'), ('0,1', '[]')):
    made += f'r{len(results)} = {type_}{shape} reduce(a, zero), dimensions={{{dims}}}, to_apply=add_{type_}\n'
    results.append(f'{type_}{shape}')
  f.hlo(f'levels.{type_}', None, made + f'r = ({", ".join(results)}) tuple({", ".join(f"r{i}" for i in range(len(results)))})',
        SEED, computations=reducer(f'add_{type_}', 'add', type_), check=False)
