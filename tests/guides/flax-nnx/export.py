import jax, jax.numpy as jnp, numpy as np
from flax import nnx
from flax.traverse_util import flatten_dict
from jax import export
from safetensors.numpy import save_file

class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.List([nnx.Linear(4, 16, rngs=rngs), nnx.Linear(16, 16, rngs=rngs)])
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)
        self.head = nnx.Linear(16, 3, rngs=rngs)
    def __call__(self, x):
        for layer in self.hidden:
            x = nnx.relu(layer(x))
        return nnx.softmax(self.head(self.dropout(self.norm(x))))

model, x = Net(nnx.Rngs(0)), jnp.array([[5.1, 3.5, 1.4, 0.2]])
model.eval()
graph, state, rest = nnx.split(model, (nnx.Param, nnx.BatchStat), ...)  # rest: keys and counters of random numbers

def with_keys(tree, convert):  # the keys of all dictionaries, converted
    return {convert(key): with_keys(value, convert) for key, value in tree.items()} if isinstance(tree, dict) else tree

def predict(variables, x):
    filled = jax.tree.map(lambda value: value, state)  # a copy
    nnx.replace_by_pure_dict(filled, with_keys(variables, lambda key: int(key) if key.isdigit() else key))
    return nnx.merge(graph, filled, rest)(x)

variables = with_keys(nnx.to_pure_dict(state), str)
exported = export.export(jax.jit(predict))(variables, x)
open('nnx.jax', 'wb').write(exported.serialize())
weights = {'.'.join(path): np.asarray(w) for path, w in flatten_dict(variables).items()}
save_file(weights, 'nnx.safetensors')
print(model(x))
