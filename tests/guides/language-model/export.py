import jax
import jax.numpy as jnp

def dequantised(w):
    scales, quants = w['scales'].astype(jnp.float32), w['quants'].astype(jnp.float32)
    return (quants.reshape(*scales.shape, -1) * scales[..., None]).reshape(quants.shape)

def linear(w, x):
    return x @ dequantised(w).T

w = dict(quants=jax.ShapeDtypeStruct((64, 64), jnp.int8), scales=jax.ShapeDtypeStruct((64, 2), jnp.float16))
exported = jax.export.export(jax.jit(linear), platforms=['cpu'])(w, jax.ShapeDtypeStruct((1, 64), jnp.float32))
with open('linear.mlirbc', 'wb') as file:
    file.write(exported.mlir_module_serialized)
