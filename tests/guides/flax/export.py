import flax.linen as nn, jax, jax.numpy as jnp, numpy as np
from flax.traverse_util import flatten_dict
from jax import export
from safetensors.numpy import save_file

class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.softmax(nn.Dense(3)(nn.relu(nn.Dense(16)(x))))

model, x = Mlp(), jnp.array([[5.1, 3.5, 1.4, 0.2]])
variables = model.init(jax.random.key(0), x)
exported = export.export(jax.jit(lambda variables, x: model.apply(variables, x)))(variables, x)
open('model.jax', 'wb').write(exported.serialize())
weights = {'.'.join(path): np.asarray(w) for path, w in flatten_dict(variables).items()}
save_file(weights, 'model.safetensors')
print(model.apply(variables, x))
