import jax.numpy as jnp

N = 256
DYES = jnp.array([[1.0, 0.45, 0.12], [0.08, 0.62, 0.62], [0.5, 0.2, 0.85]])
K = 2 * jnp.pi * jnp.fft.fftfreq(N), 2 * jnp.pi * jnp.fft.rfftfreq(N)


def start(seed):
    x, y = jnp.arange(N) / N, jnp.arange(N)[:, None] / N
    bands = jnp.stack([jnp.sin(9 * x + c + 3 * jnp.sin(7 * y + seed)) > 0.6 for c in (0, 2, 4)])
    return 2 * jnp.stack([jnp.sin(6.28 * y + x * 0), jnp.cos(6.28 * x + y * 0)]), bands.astype('float32')


def at(fields, x, y):
    """Fields between their points, linearly, on a torus."""
    x0, y0 = jnp.floor(x), jnp.floor(y)
    u, v = x - x0, y - y0
    i, j = x0.astype('int32') % N, y0.astype('int32') % N
    k, l = (i + 1) % N, (j + 1) % N
    return (1 - v) * ((1 - u) * fields[:, j, i] + u * fields[:, j, k]) + v * ((1 - u) * fields[:, l, i] + u * fields[:, l, k])


def fluid(velocity, dye, x, y, press, dx, dy):
    """Moves velocity and dye along the velocity, and takes out what diverges, by FFT."""
    row, column = jnp.arange(N, dtype='float32'), jnp.arange(N, dtype='float32')[:, None]
    spot = press * jnp.exp(-((row - x * N)**2 + (column - y * N)**2) / 150)
    velocity = velocity + spot * jnp.stack([dx, dy])[:, None, None] * 60
    colour = jnp.abs(jnp.sin(jnp.array([3.0, 5.0, 7.0]) * (x + y)))[:, None, None]
    moved = at(jnp.concatenate([velocity, dye + 0.3 * spot * colour]), row - velocity[0], column - velocity[1])
    f, (ky, kx) = jnp.fft.rfft2(moved[:2]), (K[0][:, None], K[1])
    f = f - jnp.stack([kx + 0 * ky, ky + 0 * kx]) * (kx * f[0] + ky * f[1]) / jnp.maximum(kx**2 + ky**2, 1e-9)
    velocity, dye = 0.999 * jnp.fft.irfft2(f, (N, N)), 0.9995 * moved[2:]
    return velocity, dye, (255 * jnp.clip(jnp.moveaxis(dye, 0, -1) @ DYES, 0, 1)).astype('uint8')


PROGRAMS = {'start': (start, ['f32[]']), 'step': (fluid, [f'f32[2,{N},{N}]', f'f32[3,{N},{N}]'] + ['f32[]'] * 5)}
