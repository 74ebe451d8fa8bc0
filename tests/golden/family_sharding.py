"""shard_map and pmap as JAX exports them: a program over whole arrays for several devices, which
are partitions here. Every one is given the whole arrays, and has the whole results."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from corpus import family
from values import normals

NEAR = 'abs 2e-6 rel 2e-6'


def case(f, name, function, *args, devices):
  jitted = function if hasattr(function, 'lower') else jax.jit(function)
  lowered = jitted.lower(*args)
  text = lowered.compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=True)
  results = [np.asarray(x) for x in jax.tree.leaves(lowered.compile()(*args))]
  f.add(name, text.rstrip() + '\n', [list(args)] * devices, [results] * devices, NEAR)


def mapped(function, mesh, inputs, outputs):
  return jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False)


def train_step(w, x, y):
  loss, gradient = jax.value_and_grad(lambda w: ((jnp.tanh(x @ w) - y) ** 2).mean())(w)
  return w - 0.1 * lax.pmean(gradient, 'i'), lax.pmean(loss, 'i')


@family
def sharding(f):
  line = jax.make_mesh((4,), ('i',), axis_types=(AxisType.Auto,))
  grid = jax.make_mesh((2, 4), ('a', 'b'), axis_types=(AxisType.Auto,) * 2)
  x = normals('f32', (16,), 'x')
  for name, function, inputs, outputs in (
      ('psum', lambda x: lax.psum(x, 'i') + lax.axis_index('i'), P('i'), P('i')),
      ('all-gather', lambda x: 2 * lax.all_gather(x, 'i', tiled=True), P('i'), P()),
      ('psum-scatter', lambda x: lax.psum_scatter(x, 'i', tiled=True), P(), P('i')),
      ('ppermute', lambda x: lax.ppermute(x, 'i', [(j, (j + 1) % 4) for j in range(4)]), P('i'),
       P('i')),
      ('all-to-all', lambda x: lax.all_to_all(x, 'i', 0, 0, tiled=True), P('i'), P('i'))):
    case(f, name, mapped(function, line, inputs, outputs), x, devices=4)
  case(f, 'train', mapped(train_step, line, (P(), P('i'), P('i')), (P(), P())),
       normals('f32', (3, 2), 'w'), normals('f32', (8, 3), 'x'), normals('f32', (8, 2), 'y'),
       devices=4)
  case(f, 'matmul', mapped(lambda x, w: lax.psum(x @ w, 'b'), grid, (P('a', 'b'), P('b', None)),
                           P('a', None)), normals('f32', (4, 8), 'x'), normals('f32', (8, 3), 'w'),
       devices=8)
  # A scalar lies on a mesh of its own, without axes.
  case(f, 'scalar', mapped(lambda x, s: lax.psum(x * s, 'i'), line, (P('i'), P()), P()), x,
       np.float32(3), devices=4)
  for axes in (('a', 'b'), ('b', 'a')):
    case(f, f'two-axes.{"".join(axes)}', mapped(
        lambda x: 2 * x + 10 * lax.axis_index('a') + lax.axis_index('b'), grid, P(axes), P(axes)),
         x, devices=8)
  case(f, 'pmap', jax.pmap(lambda x: lax.pmean(2 * x, 'i'), axis_name='i'),
       normals('f32', (8, 3), 'pmap'), devices=8)
