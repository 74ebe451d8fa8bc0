#!/usr/bin/env python3
"""Writes jax.gz: programs of JAX's libraries, of unknown sizes and of meshes, as jax.export files.

    pip install jax==0.10.2 flatbuffers flax optax diffrax numpyro equinox optimistix lineax
    python from_jax.py

The programs of JAX alone are in ../stablehlo.gz.
"""

import os

os.environ['EQX_ON_ERROR'] = 'nan'  # no callbacks into Python
os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'

import re

import diffrax
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
import optimistix
from flax import nnx
from jax import export, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide

from writer import Writer

writer = Writer()
KEY = jax.random.key(0)
normal = lambda *sizes: jax.random.normal(KEY, sizes)


def exported(f, *shapes):
  """Of a jitted function; that it has custom calls (of LAPACK) is its own affair."""
  targets = set()
  while True:
    checks = [export.DisabledSafetyCheck.custom_call(target) for target in targets]
    try:
      return export.export(f, disabled_checks=checks)(*shapes)
    except Exception as error:
      found = set(re.findall(r'\b[a-z]\w+_ffi\b', str(error))) - targets
      if not found:
        raise
      targets |= found


def add(name, f, *args, shapes=None):
  """A function of trees, which is exported as one of their leaves: serialize() knows few trees."""
  leaves, tree = jax.tree.flatten(args)
  flat = jax.jit(lambda *leaves: jax.tree.leaves(f(*jax.tree.unflatten(tree, leaves))), keep_unused=True)
  writer.add(name, exported(flat, *(shapes or leaves)).serialize(), leaves, flat(*leaves))


# --- Flax, Optax ---


class Cnn(nn.Module):

  @nn.compact
  def __call__(self, x, train=False):
    x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(8, (3, 3))(x)))
    x = nn.avg_pool(x, (2, 2), strides=(2, 2))
    x = nn.GroupNorm(4)(nn.gelu(nn.Conv(16, (3, 3), strides=2)(x)))
    return nn.log_softmax(nn.Dense(10)(x.reshape(x.shape[0], -1)))


class Transformer(nn.Module):

  @nn.compact
  def __call__(self, tokens):
    x = nn.Embed(50, 32)(tokens)
    x = x + self.param('positions', nn.initializers.normal(), (tokens.shape[1], 32))
    for _ in range(2):
      h = nn.LayerNorm()(x)
      x = x + nn.MultiHeadDotProductAttention(4)(h, h, mask=nn.make_causal_mask(tokens))
      x = x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
    return nn.Dense(50)(x)


class Recurrent(nn.Module):

  @nn.compact
  def __call__(self, x, key):
    y = nn.RNN(nn.GRUCell(8))(nn.RNN(nn.OptimizedLSTMCell(16))(x))
    return nn.Dropout(0.3, deterministic=False)(y, rng=key)


class Mlp(nn.Module):

  @nn.compact
  def __call__(self, x):
    return nn.Dense(3)(nn.tanh(nn.Dense(16)(x)))


def flax(name, model, *args):
  add(name, model.apply, model.init(KEY, *args), *args)


def training():
  model, x, labels = Mlp(), normal(8, 4), jnp.arange(8) % 3
  weights = model.init(KEY, x)
  rate = optax.warmup_cosine_decay_schedule(0., 1e-2, 5, 50)
  optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate))

  def loss(weights, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model.apply(weights, x), labels).mean()

  def step(weights, state, x, labels):
    value, gradient = jax.value_and_grad(loss)(weights, x, labels)
    updates, state = optimizer.update(gradient, state, weights)
    return optax.apply_updates(weights, updates), state, value

  add('flax-training', step, weights, optimizer.init(weights), x, labels)


def optimizer(name, make):
  weights = {'w': normal(6, 4), 'b': jnp.zeros(4)}
  x = normal(5, 6)
  loss = lambda p: jnp.sum((jnp.tanh(x @ p['w'] + p['b']) - 0.5)**2)
  it = make()

  def step(weights, state):
    value, gradient = jax.value_and_grad(loss)(weights)
    more = dict(value=value, grad=gradient, value_fn=loss)
    more = more if isinstance(it, optax.GradientTransformationExtraArgs) else {}
    updates, state = it.update(gradient, state, weights, **more)
    return optax.apply_updates(weights, updates), state

  add(f'optax-{name}', step, weights, it.init(weights))


def flax_and_optax():
  image, tokens = normal(2, 16, 16, 3), jax.random.randint(KEY, (2, 12), 0, 50)
  flax('flax-cnn', Cnn(), image)
  flax('flax-transformer', Transformer(), tokens)
  flax('flax-recurrent', Recurrent(), normal(2, 7, 5), jax.random.PRNGKey(3))
  graph, state = nnx.split(nnx.Sequential(
      nnx.Linear(4, 8, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(8, 2, rngs=nnx.Rngs(1))))
  add('nnx-mlp', lambda state, x: nnx.merge(graph, state)(x), state, normal(3, 4))
  training()
  optimizer('momentum', lambda: optax.sgd(0.1, momentum=0.9, nesterov=True))
  optimizer('lion', lambda: optax.lion(1e-3))
  optimizer('adafactor', lambda: optax.adafactor(1e-3))
  optimizer('lbfgs', optax.lbfgs)
  optimizer('muon', lambda: optax.contrib.muon(1e-3))
  optimizer('prodigy', lambda: optax.contrib.prodigy(1e-3))


# --- Diffrax and its relatives ---


def solution(name, solver, controller, **options):

  def f(y0, a):
    term = diffrax.ODETerm(lambda t, y, a: jnp.stack([y[1], -a * y[0] - 0.1 * y[1]**3]))
    found = diffrax.diffeqsolve(
        term, solver, 0.0, 2.0, 0.01, y0, args=a, saveat=diffrax.SaveAt(ts=jnp.linspace(0, 2, 5)),
        stepsize_controller=controller, max_steps=4096, **options)
    return found.ys, found.stats['num_steps']

  add(f'diffrax-{name}', f, jnp.array([1., 0.]), jnp.float32(2.0))


def brownian(key, y0):
  path = diffrax.VirtualBrownianTree(0., 1., tol=1e-2, shape=(), key=key)
  drift, noise = diffrax.ODETerm(lambda t, y, _: -y), diffrax.ControlTerm(lambda t, y, _: 0.3, path)
  terms = diffrax.MultiTerm(drift, noise)
  return diffrax.diffeqsolve(terms, diffrax.Euler(), 0., 1., 0.05, y0, max_steps=200).ys


def decay(a, y0):
  term = diffrax.ODETerm(lambda t, y, a: -a * y)
  found = diffrax.diffeqsolve(
      term, diffrax.Tsit5(), 0., 1., 0.1, y0, args=a, max_steps=100,
      stepsize_controller=diffrax.PIDController(1e-5, 1e-5))
  return jnp.sum(found.ys**2)


def diffrax_and_relatives():
  adaptive = lambda tolerance: diffrax.PIDController(tolerance, tolerance)
  solution('tsit5', diffrax.Tsit5(), adaptive(1e-5))
  solution('kvaerno5', diffrax.Kvaerno5(), adaptive(1e-4))
  solution('heun', diffrax.Heun(), diffrax.ConstantStepSize())
  add('diffrax-brownian', brownian, jax.random.PRNGKey(1), jnp.float32(1.))
  add('diffrax-gradient', jax.value_and_grad(decay, argnums=(0, 1)), jnp.float32(0.7), jnp.arange(3.) + 1)
  net, static = eqx.partition(eqx.nn.MLP(3, 2, 8, 2, key=KEY), eqx.is_array)
  add('equinox-mlp', lambda net, x: jax.vmap(eqx.combine(net, static))(x), net, normal(4, 3))

  def fit(p, x, y):
    residual = lambda p, _: p[0] * jnp.exp(-p[1] * x) - y
    solver = optimistix.LevenbergMarquardt(1e-4, 1e-4)
    return optimistix.least_squares(residual, solver, p, max_steps=64).value

  x = jnp.linspace(0, 1, 10)
  add('optimistix-fit', fit, jnp.ones(2), x, 2 * jnp.exp(-3 * x))
  solve = lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.SVD()).value
  add('lineax-svd', solve, normal(6, 3), normal(6))


# --- NumPyro ---


def regression(x, y=None):
  w = numpyro.sample('w', dist.Normal(0, 1).expand([2]).to_event(1))
  s = numpyro.sample('s', dist.HalfCauchy(1.))
  numpyro.sample('y', dist.Normal(x @ w, s), obs=y)


def nuts(key, x, y):
  chain = MCMC(NUTS(regression), num_warmup=4, num_samples=3, progress_bar=False)
  chain.run(key, x, y)
  samples = chain.get_samples()
  return samples['w'], samples['s']


def variational(key, x, y):
  svi = SVI(regression, autoguide.AutoNormal(regression), numpyro.optim.Adam(0.01), Trace_ELBO())
  state, losses = lax.scan(lambda s, _: svi.update(s, x, y), svi.init(key, x, y), None, length=10)
  return losses, svi.get_params(state)


def distributions(key):
  all_of_them = [
      dist.Gamma(2., 1.), dist.Beta(2., 3.), dist.StudentT(3.), dist.Poisson(4.),
      dist.NegativeBinomial2(3., 2.), dist.Dirichlet(jnp.ones(3)),
      dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)), dist.Weibull(1., 2.), dist.Binomial(10, 0.3),
      dist.LKJCholesky(3, 1.), dist.TruncatedNormal(0., 1., low=-1.)]
  samples = [d.sample(k, (3,)) for d, k in zip(all_of_them, jax.random.split(key, 20))]
  return samples, [d.log_prob(s) for d, s in zip(all_of_them, samples)]


def numpyros():
  x = normal(20, 2)
  y, key = x @ jnp.array([1., -2.]) + 0.1, jax.random.PRNGKey(0)
  add('numpyro-nuts', nuts, key, x, y)
  add('numpyro-svi', variational, key, x, y)
  add('numpyro-distributions', distributions, key)
  predict = lambda key, w, s, x: Predictive(regression, {'w': w, 's': s})(key, x)['y']
  add('numpyro-predictive', predict, key, jnp.ones((4, 2)), jnp.ones(4), x)


# --- Unknown sizes ---


def unknown(name, f, sizes, *args):
  scope = export.SymbolicScope()
  shapes = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), a.dtype)
            for s, a in zip(sizes, args)]
  add(f'{name}-any', f, *args, shapes=shapes)


def unknown_sizes():
  square = normal(4, 3, 3)
  positive = lambda a: a @ a.swapaxes(-1, -2) + 3 * jnp.eye(3)
  unknown('mlp', lambda w, x: jnp.tanh(x @ w), ['4,5', 'b,4'], normal(4, 5), normal(3, 4))
  unknown('attention', lambda q, k: jax.nn.softmax(jnp.einsum('bqd,bkd->bqk', q, k)) @ k,
          ['b,t,8', 'b,t,8'], normal(2, 5, 8), normal(2, 5, 8))
  unknown('halves', lambda x: x.reshape(x.shape[0] // 2, 2, 3), ['2*b,3'], normal(4, 3))
  unknown('edges', lambda x: jnp.pad(x, ((1, 2), (0, 0)), mode='edge'), ['b,3'], normal(4, 3))
  unknown('convolution', lambda x, k: lax.conv_general_dilated(
      x, k, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')),
          ['b,h,w,3', '3,3,3,4'], normal(2, 7, 9, 3), normal(3, 3, 3, 4))
  unknown('pool', lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME'),
          ['b,h,w,3'], normal(2, 7, 9, 3))
  unknown('scan', lambda x: lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(3), x), ['t,3'], normal(6, 3))
  unknown('sort', lambda x: (jnp.sort(x, -1), jnp.argsort(x, -1)), ['b,t'], normal(2, 6))
  unknown('scatter', lambda x, i: x.at[i].add(1.), ['n', 'k'], normal(6), jnp.array([1, 4], jnp.int32))
  unknown('random', lambda x, k: x + jax.random.normal(k, x.shape), ['n,m', '2'], normal(6, 3),
          jax.random.PRNGKey(1))
  unknown('resize', lambda x: jax.image.resize(x, (2 * x.shape[0], 2 * x.shape[1], 3), 'bilinear'),
          ['h,w,3'], normal(4, 5, 3))
  unknown('cholesky', lambda a: jnp.linalg.cholesky(positive(a)), ['b,3,3'], square)
  unknown('solve', jnp.linalg.solve, ['b,3,3', 'b,3,2'], square, normal(4, 3, 2))
  unknown('eigenvalues', lambda a: jnp.linalg.eigvalsh(a + a.swapaxes(-1, -2)), ['b,3,3'], square)
  unknown('qr', lambda a: jnp.abs(jnp.linalg.qr(a)[1]), ['b,4,3'], normal(4, 4, 3))
  unknown('svd', lambda a: jnp.linalg.svd(a, compute_uv=False), ['b,4,3'], normal(4, 4, 3))


# --- Meshes ---


def mesh(name, f, sizes, ins, outs, *args):
  devices = np.array(jax.devices()[:np.prod(list(sizes.values()))]).reshape(list(sizes.values()))
  places = Mesh(devices, tuple(sizes))
  mapped = jax.jit(jax.shard_map(f, mesh=places, in_specs=ins, out_specs=outs, check_vma=False))
  placed = [jax.device_put(a, NamedSharding(places, spec)) for a, spec in zip(args, ins)]
  shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for a in placed]
  program = export.export(mapped)(*shapes).serialize()
  writer.add(f'mesh-{name}', program, args, jax.tree.leaves(mapped(*placed)))


def meshes():
  grid = {'i': 2, 'j': 4}
  mesh('psum', lambda x: lax.psum(x, 'i'), {'i': 8}, (P('i'),), P(), normal(8, 3))
  mesh('ring', lambda x: lax.ppermute(x, 'i', [(k, (k + 1) % 4) for k in range(4)]), {'i': 4}, (P('i'),),
       P('i'), normal(8, 3))
  mesh('gather', lambda x: lax.all_gather(x, 'j', tiled=True), grid, (P('i', 'j'),), P('i'), normal(8, 4))
  mesh('all-to-all', lambda x: lax.all_to_all(x, 'i', 1, 0, tiled=True), {'i': 4}, (P('i'),), P('i'),
       normal(8, 8))
  mesh('index', lambda x: x + lax.axis_index('i') * 10 + lax.axis_index('j'), grid, (P('i', 'j'),),
       P('i', 'j'), normal(4, 4))
  mesh('product', lambda a, b: lax.psum(a @ b, 'j'), {'i': 2, 'j': 2}, (P('i', 'j'), P('j', None)),
       P('i', None), normal(4, 8), normal(8, 6))


flax_and_optax()
diffrax_and_relatives()
numpyros()
unknown_sizes()
meshes()
writer.write('jax.gz')
