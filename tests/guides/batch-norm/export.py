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
