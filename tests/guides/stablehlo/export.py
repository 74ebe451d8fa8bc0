import jax, jax.numpy as jnp, numpy as np
from jax import export
from safetensors.numpy import save_file

f = jax.jit(lambda params, x: x @ params['w1'] + params['b1'])
params, x = {'w1': jnp.ones((2, 2)), 'b1': jnp.ones(2)}, jnp.ones(2)
open('model.bin', 'wb').write(export.export(f)(params, x).serialize())                # client.load('model.bin')
save_file({name: np.asarray(w) for name, w in params.items()}, 'weights.safetensors')

batch, = export.symbolic_shape('batch')                                               # of any batch size
any_x = jax.ShapeDtypeStruct((batch, 2), jnp.float32)
open('any.bin', 'wb').write(export.export(f)(params, any_x).serialize())
