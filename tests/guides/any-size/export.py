import jax, jax.numpy as jnp
from jax import export

def loss(params, x, y):
    return jnp.mean((x @ params['w'] - y) ** 2)

size, = export.symbolic_shape('m')
x, y = jax.ShapeDtypeStruct((size, 3), 'float32'), jax.ShapeDtypeStruct((size,), 'float32')
open('any.jax', 'wb').write(export.export(jax.jit(loss))({'w': jnp.ones(3)}, x, y).serialize())
