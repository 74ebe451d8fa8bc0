import jax
import jax.numpy as jnp

N, STEPS = 256, 8


def start(seed):
    spots = jax.random.uniform(jax.random.key(seed), (N // 16, N // 16)) < 0.08
    v = 0.5 * jnp.repeat(jnp.repeat(spots, 16, 0), 16, 1)
    return 1 - v, v


def laplacian(f):
    side = jnp.roll(f, 1, 0) + jnp.roll(f, -1, 0)
    across = f + 0.25 * side  # corners count a quarter of sides
    return 0.2 * side + 0.2 * (jnp.roll(across, 1, 1) + jnp.roll(across, -1, 1)) - f


def reaction(u, v, x, y, press, feed, kill):
    """Gray and Scott: v feeds on u, and both spread. The pointer adds v."""
    away = (jnp.arange(N) - x * N)**2 + (jnp.arange(N)[:, None] - y * N)**2
    v = jnp.where((away < 40) & (press > 0), 0.6, v)

    def step(_, uv):
        u, v = uv
        uvv = u * v * v
        return (u + laplacian(u) - uvv + feed * (1 - u), v + 0.5 * laplacian(v) + uvv - (feed + kill) * v)

    u, v = jax.lax.fori_loop(0, STEPS, step, (u, v))
    t = jnp.clip(v * 3, 0, 1)
    return u, v, (255 * jnp.stack([t**3, t * t * 0.3 + t * 0.6, 0.15 + 0.6 * jnp.sqrt(t)], -1)).astype('uint8')


PROGRAMS = {'start': (start, ['s32[]']), 'step': (reaction, [f'f32[{N},{N}]'] * 2 + ['f32[]'] * 5)}
