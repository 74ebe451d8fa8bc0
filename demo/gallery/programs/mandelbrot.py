import jax
import jax.numpy as jnp

W, H = 480, 360


def mandelbrot(x, y, scale, tens):
    """Colours of W x H points around x + iy, `scale` wide: z <- z * z + c in double precision."""
    cx = x + (jnp.arange(W) / W - 0.5) * scale
    cy = y + (jnp.arange(H)[:, None] / H - 0.5) * scale * H / W
    cx, cy = jnp.broadcast_to(cx, (H, W)), jnp.broadcast_to(cy, (H, W))

    def steps(_, s):
        a, b, n = s
        for _ in range(10):  # in one pass over the picture
            aa, bb = a * a, b * b
            inside = aa + bb < 16
            a, b, n = jnp.where(inside, aa - bb + cx, a), jnp.where(inside, 2 * a * b + cy, b), n + inside
        return a, b, n

    a, b, n = jax.lax.fori_loop(0, tens, steps, (cx, cy, jnp.zeros((H, W))))
    smooth = n - jnp.log2(jnp.log2(jnp.maximum(a * a + b * b, 4)) / 2)
    wave = lambda shift: jnp.where(n < 10 * tens, 127 - 127 * jnp.cos(0.35 * jnp.sqrt(smooth + 1) * 2 + shift), 8)
    return jnp.stack([wave(0.0), wave(0.6), wave(1.2)], -1).astype('uint8')


PROGRAMS = {'step': (mandelbrot, ['f64[]'] * 3 + ['s32[]'])}
