"""Writes functions of sharded arrays (shard_map), with JAX's derivatives, to shards.json.gz:

    build/venv/bin/python tests/golden/gradients/shards.py

The entries are those of generate.py, and have partitions, and the program in three forms: StableHLO with Shardy's
shardings, StableHLO with XLA's own (before Shardy), and the HLO of the first one.
"""

import gzip
import json
import os
import sys

os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from generate import HERE, entry  # noqa: E402
from jax import lax, shard_map  # noqa: E402
from jax.sharding import Mesh, PartitionSpec as P  # noqa: E402

random = np.random.default_rng(5)
CASES = []


def numbers(*shape, dtype=np.float32):
  return jnp.asarray(random.standard_normal(shape), dtype)


def mesh_of(*sizes):
  devices = np.array(jax.devices()[:int(np.prod(sizes))])
  return Mesh(devices.reshape(sizes), tuple('ijk'[:len(sizes)]))


def case(name, sizes, in_specs, out_specs, body, *arguments, before=None, after=None, **options):
  mapped = shard_map(body, mesh=mesh_of(*sizes), in_specs=in_specs, out_specs=out_specs, **options)
  function = lambda *xs: (after or (lambda y: y))(mapped(*(before(*xs) if before else xs)))
  CASES.append((name, int(np.prod(sizes)), function, arguments))


def ring(n, by=1):
  return [(i, (i + by) % n) for i in range(n)]


for n in (2, 4, 8):
  x, w = numbers(8, 6), numbers(6, 8)
  case(f'psum-{n}', (n,), (P('i'), P()), P(), lambda x, w: lax.psum(jnp.sin(x @ w).sum(), 'i'), x, w)
  case(f'psum-unchecked-{n}', (n,), (P('i'), P()), P(), lambda x, w: lax.psum(jnp.sin(x @ w).sum(), 'i'), x, w,
       check_vma=False)
  case(f'pmean-{n}', (n,), (P('i'), P()), P(), lambda x, w: lax.pmean(jnp.mean((x @ w) ** 2), 'i'), x, w)
  case(f'all-gather-{n}', (n,), P('i'), P('i'), lambda x: x * lax.all_gather(x, 'i').sum(0), x)
  case(f'all-gather-tiled-{n}', (n,), (P('i'), P('i')), P(None, 'i'),
       lambda x, y: jnp.tanh(lax.all_gather(x, 'i', tiled=True) @ y.T), x, numbers(8, 6))
  case(f'ppermute-{n}', (n,), P('i'), P('i'), lambda x, n=n: x * lax.ppermute(x * x, 'i', ring(n)), x)
  case(f'ppermute-open-{n}', (n,), P('i'), P('i'), lambda x, n=n: x * lax.ppermute(x * x, 'i', ring(n)[:-1]), x)
  case(f'psum-scatter-{n}', (n,), (P(None, 'i'), P('i')), P('i'),
       lambda x, w: lax.psum_scatter(jnp.sin(x @ w), 'i', scatter_dimension=0, tiled=True), numbers(8, 8), numbers(8, 5))
  case(f'all-to-all-{n}', (n,), P('i'), P(None, 'i'),
       lambda x: jnp.sin(lax.all_to_all(x, 'i', 1, 0, tiled=True)) ** 2, numbers(8, 8))

# Halo exchange: a stencil over neighbours.
def stencil(x, n, periodic):
  left = lax.ppermute(x[-1:], 'i', ring(n) if periodic else ring(n)[:-1])
  right = lax.ppermute(x[:1], 'i', ring(n, -1) if periodic else ring(n, -1)[1:])
  padded = jnp.concatenate([left, x, right])
  return jnp.tanh(padded[:-2] - 2 * padded[1:-1] + padded[2:])


for n in (2, 4, 8):
  for periodic in (True, False):
    case(f'halo-{n}-{periodic}', (n,), P('i'), P('i'), lambda x, n=n, p=periodic: stencil(x, n, p), numbers(16))
case('halo-loop', (4,), P('i'), P('i'), lambda x: lax.fori_loop(0, 5, lambda _, v: stencil(v, 4, True), x), numbers(8))
case('halo-scan', (4,), (P('i'), P()), (P('i'), P(None, 'i')),
     lambda x, w: lax.scan(lambda v, u: (stencil(v * u, 4, True), v), x, w), numbers(8), numbers(5))


def perceptron(x, w, v):
  return jnp.tanh(x @ w) @ v


case('data-parallel', (4,), (P('i'), P(), P()), P(), lambda *a: lax.pmean(jnp.mean(perceptron(*a) ** 2), 'i'),
     numbers(8, 5), numbers(5, 6), numbers(6, 3))
case('tensor-parallel', (4,), (P(), P(None, 'i'), P('i')), P(), lambda *a: lax.psum(perceptron(*a), 'i'),
     numbers(3, 5), numbers(5, 8), numbers(8, 2), after=lambda y: (y ** 2).sum())
case('fsdp', (4,), (P('i'), P('i'), P('i')), P(),
     lambda x, w, v: lax.pmean(jnp.mean(perceptron(x, lax.all_gather(w, 'i', tiled=True), lax.all_gather(v, 'i', tiled=True)) ** 2), 'i'),
     numbers(8, 4), numbers(4, 8), numbers(8, 2))
case('two-axes', (2, 4), (P('i'), P(None, 'j'), P('j')), P('i'), lambda *a: lax.psum(perceptron(*a), 'j'),
     numbers(4, 5), numbers(5, 8), numbers(8, 2))
case('two-axes-sum', (2, 4), (P('i'), P('j')), P(), lambda x, y: lax.psum((x[:, None] * jnp.sin(y)).sum(), ('i', 'j')),
     numbers(4), numbers(8))
case('two-axes-one-dimension', (2, 4), P(('i', 'j')), P(('j', 'i')), lambda x: x * jnp.cos(lax.psum(x.sum(), 'j')), numbers(16))
case('two-axes-whole', (2, 2), (P('i'), P()), P('i'), lambda x, w: jnp.sin(x * w), numbers(4), numbers(), check_vma=False)
case('three-devices', (3,), (P('i'), P()), P(), lambda x, w: lax.pmean(jnp.sin(x * w).mean(), 'i'), numbers(6), numbers())
case('index', (4,), (P('i'), P()), P('i'), lambda x, w: x * w[lax.axis_index('i')], numbers(8), numbers(4))
case('whole-of-replicas', (4,), P(), P(), lambda x: jnp.sin(x) * x, numbers(5))
case('several-results', (4,), (P('i'), P('i')), (P('i'), P(), P('i')),
     lambda x, n: (x * x, lax.psum(x.sum(), 'i'), n + 1), numbers(8), jnp.arange(8))
case('uses-around', (4,), (P('i'), P()), P('i'), lambda x, w: jnp.sin(x) * w, numbers(8), numbers(),
     before=lambda x, w: (x * w, jnp.sum(x)), after=lambda y: (y ** 3).sum())
case('closure', (2,), P('i'), P('i'), lambda x, w=numbers(4): x * w, numbers(8))
case('narrow', (2,), (P('i'), P()), P(), lambda x, w: lax.psum((x * w).sum(), 'i'), numbers(4, dtype=jnp.bfloat16),
     numbers(dtype=jnp.bfloat16))
case('complex', (2,), P('i'), P(), lambda x: lax.psum(jnp.sin(x).sum(), 'i'),
     numbers(4) + 1j * numbers(4))
case('double', (4,), P('i'), P(), lambda x: lax.psum(jnp.exp(x).sum(), 'i') ** 2, numbers(8, dtype=np.float64))
case('branch', (4,), (P('i'), P()), P('i'), lambda x, p: lax.cond(p[0] > 0, lambda v: v * lax.psum(v, 'i'), lambda v: jnp.sin(v), x),
     numbers(8), jnp.asarray([1.0], np.float32), check_vma=False)
case('some-axes', (2, 2), (P('i'), P()), P(), lambda x, w: lax.psum(jnp.sin(x * w).sum(), 'i'), numbers(4), numbers(),
     axis_names={'i'})


def nested(x, w):
  inner = shard_map(lambda u, v: lax.psum(jnp.sin(u * v), 'j'), in_specs=(P(None, 'j'), P('j')), out_specs=P(), axis_names={'j'})
  return lax.psum(inner(x, w).sum(), 'i')


# JAX fails to differentiate it: it takes shards of a scalar that it saves. The function itself is of whole arrays.
case('nested', (2, 2), (P('i'), P()), P(), nested, numbers(4, 4), numbers(4), axis_names={'i'})
CASES[-1] = ('nested', 4, lambda x, w: jnp.sin(x * w).sum(), *CASES[-1][3:], CASES[-1][2])


def ring_attention(q, k, v, n=4):
  def step(carry, _):
    total, weight, k, v = carry
    scores = jnp.exp(q @ k.T)
    return (total + scores @ v, weight + scores.sum(1), lax.ppermute(k, 'i', ring(n)), lax.ppermute(v, 'i', ring(n))), None

  start = (jnp.zeros_like(v), jnp.zeros(q.shape[0], q.dtype), k, v)
  (total, weight, _, _), _ = lax.scan(step, start, None, length=n)
  return total / weight[:, None]


case('ring-attention', (4,), (P('i'), P('i'), P('i')), P('i'), ring_attention, *(numbers(8, 3) for _ in range(3)),
     check_vma=False)


def in_loop(x, w):
  mapped = shard_map(lambda v, u: lax.psum(jnp.tanh(v * u), 'i'), mesh=mesh_of(4), in_specs=(P('i'), P()), out_specs=P())
  return lax.scan(lambda c, u: (jnp.tile(mapped(c, u), 4), c.sum()), x, w)


CASES.append(('in-loop', 4, in_loop, (numbers(8), numbers(3))))


def maximum(x):
  """JAX has no rule for pmax: `lowered` has it, the function itself is of the whole array."""
  return jnp.max(x.reshape(4, 2), 0) ** 2


def mapped_maximum(x):
  return shard_map(lambda v: lax.pmax(v, 'i') ** 2, mesh=mesh_of(4), in_specs=P('i'), out_specs=P())(x)


CASES.append(('maximum', 4, maximum, (jnp.asarray([1, 7, 3, 2, 3, 7, 0, 7], np.float32),), mapped_maximum))


def programs(function, arguments):
  forms = {}
  for form, shardy in (('before', False), ('shardy', True)):
    jax.config.update('jax_use_shardy_partitioner', shardy)
    # A function of its own, as JAX caches what it has lowered.
    lowered = jax.jit(lambda *xs: function(*xs), keep_unused=True).lower(*arguments)
    forms[form] = lowered.as_text()
    if shardy:
      forms['hlo'] = lowered.compiler_ir('hlo').as_hlo_text(print_large_constants=True)
  return forms


def main():
  entries = []
  for name, partitions, function, arguments, *lowered in CASES:
    if sys.argv[1:] and sys.argv[1] not in name:
      continue
    written = lowered[0] if lowered else function
    made = entry(name, function, arguments, written, exported=lambda f: lambda *xs: programs(f, xs))
    entries.append({**made, 'partitions': partitions})
    print(name, {form: len(text) for form, text in made['program'].items()})
  with gzip.GzipFile(os.path.join(HERE, 'shards.json.gz'), 'wb', mtime=0) as file:
    file.write(json.dumps(entries, separators=(',', ':')).encode())


if __name__ == '__main__':
  main()
