import jax, jax.numpy as jnp, numpy as np
from flax import nnx
from flax.traverse_util import flatten_dict
from jax import export
from safetensors.numpy import save_file

class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(4, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)
        self.head = nnx.Linear(16, 3, rngs=rngs)
    def __call__(self, x):
        return nnx.softmax(self.head(self.dropout(nnx.relu(self.norm(self.hidden(x))))))

model, x = Net(nnx.Rngs(0)), jnp.array([[5.1, 3.5, 1.4, 0.2]])
model.eval()
graph, state, rest = nnx.split(model, (nnx.Param, nnx.BatchStat), ...)  # rest: keys and counters of random numbers

def predict(variables, x):
    filled = jax.tree.map(lambda value: value, state)  # a copy
    nnx.replace_by_pure_dict(filled, variables)
    return nnx.merge(graph, filled, rest)(x)

variables = nnx.to_pure_dict(state)
exported = export.export(jax.jit(predict))(variables, x)
open('nnx.jax', 'wb').write(exported.serialize())
weights = {'.'.join(path): np.asarray(w) for path, w in flatten_dict(variables).items()}
save_file(weights, 'nnx.safetensors')
print(model(x))
