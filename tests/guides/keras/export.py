import os
os.environ['KERAS_BACKEND'] = 'jax'
import jax, jax.numpy as jnp, keras, numpy as np
from jax import export

keras.utils.set_random_seed(0)
model = keras.Sequential([
    keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation='relu', name='conv'),
    keras.layers.Flatten(), keras.layers.Dense(3, activation='softmax', name='dense')])

def predict(weights, x):
    values = [weights[v.path] for v in model.trainable_variables]
    return model.stateless_call(values, [], x)[0]

weights = {v.path: jnp.asarray(v.value) for v in model.trainable_variables}
x = jnp.arange(64.0).reshape(1, 8, 8, 1) / 64
exported = export.export(jax.jit(predict))(weights, x)
open('model.jax', 'wb').write(exported.serialize())
np.savez('model.npz', **{name.replace('/', '.'): np.asarray(w) for name, w in weights.items()})
print(predict(weights, x))
