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


def case(f, name, function, *args, devices, shardy=True):
  jax.config.update('jax_use_shardy_partitioner', shardy)
  jitted = function if hasattr(function, 'lower') else jax.jit(function)
  lowered = jitted.lower(*args)
  text = lowered.compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=True)
  results = [np.asarray(x) for x in jax.tree.leaves(lowered.compile()(*args))]
  f.add(name, text.rstrip() + '\n', [list(args)] * devices, [results] * devices, NEAR)


def mapped(function, mesh, inputs, outputs):
  return jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False)


def partly(function, mesh, axes, inputs, outputs):
  """A shard_map over some of the mesh's axes; the others are left to the partitioner."""
  return jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, axis_names=axes,
                       check_vma=False)


def nested(mesh, outer, inner):
  """Sums over the inner computation's devices, then over the outer one's."""
  def block(x):
    return x * lax.psum(x.sum(), 'b')

  def rows(x):
    return partly(block, None, {'b'}, inner, inner)(x) + lax.pmax(x.max(), 'a')

  return partly(rows, mesh, {'a'}, outer, outer)


def unreduced(mesh):
  """Each device's product is an addend of the whole, there and back."""
  sums = P(None, None, unreduced={'a'})
  products = jax.shard_map(lambda x, w: x @ w, mesh=mesh, in_specs=(P(None, 'a'), P('a', None)),
                           out_specs=sums)
  reduce = jax.shard_map(lambda y: 2 * lax.psum(y, 'a'), mesh=mesh, in_specs=sums, out_specs=P())
  def function(x, w):
    return reduce(products(jax.reshard(x, P(None, 'a')), jax.reshard(w, P('a', None))))

  return function


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
  explicit = jax.make_mesh((2, 4), ('a', 'b'))
  square = normals('f32', (8, 8), 'square')
  tall = normals('f32', (8, 3), 'w')
  for shardy in (True, False):
    notation = 'shardy' if shardy else 'gspmd'
    case(f, f'{notation}.partly', partly(
        lambda x, w: lax.psum(x @ w, 'b'), grid, {'b'}, (P(None, 'b'), P('b', None)), P()),
         square, tall, devices=8, shardy=shardy)
    case(f, f'{notation}.partly-cut', partly(
        lambda x: x * lax.psum(x.sum(), 'a'), grid, {'a'}, P(None, 'a'), P(None, 'a')), square,
         devices=8, shardy=shardy)
    case(f, f'{notation}.nested', nested(grid, P('a'), P(None, 'b')), square, devices=8,
         shardy=shardy)
    case(f, f'{notation}.nested-one-dimension', nested(grid, P('a'), P('b')), square, devices=8,
         shardy=shardy)
    case(f, f'{notation}.axes-crossed', mapped(
        lambda x: x + 10 * lax.axis_index('a') + lax.axis_index('b'), grid, P('b', 'a'),
        P(('b', 'a'))), square, devices=8, shardy=shardy)
  case(f, 'nested-explicit', nested(explicit, P('a'), P(None, 'b')), square, devices=8)
  for axes in ((2, 4), (4, 2), (8, 1)):
    other = jax.make_mesh(axes, ('a', 'b'), axis_types=(AxisType.Auto,) * 2)
    case(f, f'two-meshes.{axes[0]}x{axes[1]}', lambda x, other=other: mapped(
        lambda y: y * lax.psum(y, 'a'), other, P('a'), P('a'))(mapped(
            lambda y: y - lax.pmean(y, 'b'), grid, P(None, 'b'), P(None, 'b'))(x)), square,
         devices=8)
  with jax.set_mesh(explicit):
    case(f, 'unreduced', unreduced(explicit), normals('f32', (4, 8), 'x'), tall, devices=8)
