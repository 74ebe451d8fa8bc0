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
