import jax, jax.numpy as jnp
from jax import export

def loss(params, x):
    return jnp.mean((params['w'] * x - 1) ** 2)

params, x = {'w': jnp.ones(3)}, jnp.arange(3.0)
exported = export.export(jax.jit(loss))(params, x)
open('loss.bin', 'wb').write(exported.serialize(vjp_order=1))
print(jax.grad(loss)(params, x)['w'])
