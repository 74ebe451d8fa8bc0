import flax.linen as nn, jax, jax.numpy as jnp, numpy as np, optax
from flax.traverse_util import flatten_dict
from jax import export
from safetensors.numpy import save_file

class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9)(nn.Dense(16)(x)))
        return nn.Dense(2)(nn.Dropout(0.1, deterministic=not train)(x))

def loss(params, batch_stats, x, y, key):
    logits, changed = Net().apply(
        {'params': params, 'batch_stats': batch_stats}, x, train=True,
        mutable=['batch_stats'], rngs={'dropout': jax.random.wrap_key_data(key)})
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), changed['batch_stats']

x, y = jnp.sin(jnp.arange(32.0)).reshape(8, 4), jnp.array([0, 1, 0, 1, 1, 0, 1, 0])
key = jax.random.key_data(jax.random.key(0))
variables = Net().init(jax.random.key(0), x, train=False)
params, batch_stats = variables['params'], variables['batch_stats']
open('loss.jax', 'wb').write(export.export(jax.jit(loss))(params, batch_stats, x, y, key).serialize())
weights = {'.'.join(path): np.asarray(w) for path, w in flatten_dict(variables).items()}
save_file(weights, 'start.safetensors')
predict = jax.jit(lambda variables, x: Net().apply(variables, x, train=False))
open('predict.jax', 'wb').write(export.export(predict)(variables, x).serialize())
print(loss(params, batch_stats, x, y, key)[0])

from flax import nnx

class NnxNet(nnx.Module):
    def __init__(self, rngs):
        self.hidden, self.head = nnx.Linear(4, 16, rngs=rngs), nnx.Linear(16, 2, rngs=rngs)
        self.norm, self.dropout = nnx.BatchNorm(16, momentum=0.9, rngs=rngs), nnx.Dropout(0.1)
    def __call__(self, x, rngs=None):
        return self.head(self.dropout(nnx.relu(self.norm(self.hidden(x))), rngs=rngs))

graph, params, averages, rest = nnx.split(NnxNet(nnx.Rngs(0)), nnx.Param, nnx.BatchStat, ...)

def filled(state, values):
    copy = jax.tree.map(lambda value: value, state)
    nnx.replace_by_pure_dict(copy, values)
    return copy

def nnx_loss(params_, averages_, x, y, key):
    m = nnx.merge(graph, filled(params, params_), filled(averages, averages_), rest)
    m.train()
    logits = m(x, nnx.Rngs(dropout=jax.random.wrap_key_data(key)))
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    return loss, nnx.to_pure_dict(nnx.state(m, nnx.BatchStat))

start = {'params_': nnx.to_pure_dict(params), 'averages_': nnx.to_pure_dict(averages)}
open('nnx.jax', 'wb').write(export.export(jax.jit(nnx_loss))(*start.values(), x, y, key).serialize())
save_file({'.'.join(path): np.asarray(w) for path, w in flatten_dict(start).items()}, 'nnx.safetensors')

optimiser = optax.adam(1e-2)
p, a = start.values()
state, losses = optimiser.init(p), []
for i in range(3):
    key = jax.random.key_data(jax.random.key(i))
    (value, a), slopes = jax.value_and_grad(nnx_loss, has_aux=True)(p, a, x, y, key)
    updates, state = optimiser.update(slopes, state, p)
    p = optax.apply_updates(p, updates)
    losses.append(round(float(value), 4))
print(losses)
