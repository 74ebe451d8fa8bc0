import jax
import jax.numpy as jnp

H, W = 360, 480


def blur(x, sigma, reach=12):
    """By a Gaussian, along columns and then along rows."""
    g = jnp.exp(-0.5 * (jnp.arange(-reach, reach + 1) / sigma)**2)
    g = g / g.sum()
    x = jnp.pad(x, ((reach, reach), (reach, reach), (0, 0)), 'edge')
    x = sum(g[i] * x[i:i + H] for i in range(2 * reach + 1))
    return sum(g[i] * x[:, i:i + W] for i in range(2 * reach + 1))


def picture_filter(picture, kind, amount):
    """Soft, sharp, lines, paint, or night."""
    x = picture.astype('float32') / 255
    grey = lambda x: x @ jnp.array([[0.3], [0.59], [0.11]])
    soft = lambda x: blur(x, 0.3 + 8 * amount)
    sharp = lambda x: x + 4 * amount * (x - blur(x, 2.0, 6))
    lines = lambda x: jnp.repeat(1 - 12 * (0.2 + amount) * jnp.maximum(blur(grey(x), 2.2, 6) - blur(grey(x), 1.2, 4) - 0.004, 0), 3, -1)
    paint = lambda x: (jnp.floor(blur(x, 0.5 + 2 * amount, 6) * 6) + 0.5) / 6 * jnp.clip(lines(x) + 0.3, 0, 1)
    night = lambda x: (grey(x) * jnp.array([0.3, 0.4, 0.7]) + 2 * blur(jnp.maximum(x - 0.6, 0), 1 + 6 * amount))
    return (255 * jnp.clip(jax.lax.switch(kind, [soft, sharp, lines, paint, night], x), 0, 1)).astype('uint8')


PROGRAMS = {'step': (picture_filter, [f'u8[{H},{W},3]', 's32[]', 'f32[]'])}
