import jax
import jax.numpy as jnp

N = 512


def start(seed):
    return (jax.random.uniform(jax.random.key(seed), (N, N)) < 0.25).astype('uint8'), jnp.zeros((N, N), 'uint8')


def life(cells, trail, x, y, press):
    """One generation; the pointer at (x, y) sows cells. What died stays in sight for a while."""
    away = jnp.hypot(jnp.arange(N) - x * N, jnp.arange(N)[:, None] - y * N)
    cells = cells | ((away < 8) & (press > 0) & (away.astype('int32') % 2 == 0)).astype('uint8')
    rows = cells + jnp.roll(cells, 1, 0) + jnp.roll(cells, -1, 0)
    around = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1)  # with the cell itself
    cells = ((around == 3) | ((around == 4) & (cells == 1))).astype('uint8')
    trail = jnp.where(cells == 1, 255, trail - trail // 16 - (trail > 0)).astype('uint8')
    red = jnp.where(cells == 1, 255, trail // 4)
    return cells, trail, jnp.stack([red, jnp.where(cells == 1, 240, trail // 3), jnp.where(cells == 1, 190, trail // 2)], -1).astype('uint8')


PROGRAMS = {'start': (start, ['s32[]']), 'step': (life, [f'u8[{N},{N}]'] * 2 + ['f32[]'] * 3)}
