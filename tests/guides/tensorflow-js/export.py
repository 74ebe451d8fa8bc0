import jax, jax.numpy as jnp
from jax import export

def smooth(image, sigma):
    """A Gaussian blur: a convolution with a kernel that is computed, twice."""
    x = jnp.arange(-2.0, 3.0)
    kernel = jnp.exp(-x**2 / (2 * sigma**2))
    kernel /= kernel.sum()
    rows = jax.vmap(lambda row: jnp.convolve(row, kernel, mode='same'))
    return rows(rows(image).T).T

image = jnp.zeros((5, 5)).at[2, 2].set(1)
open('smooth.jax', 'wb').write(export.export(jax.jit(smooth))(image, jnp.float32(1)).serialize())
print(smooth(image, 1.0)[2])
