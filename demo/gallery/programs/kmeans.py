import jax
import jax.numpy as jnp

POINTS, K, N = 2048, 6, 320
HUES = jnp.array([[60, 120, 230], [225, 100, 70], [50, 165, 120], [155, 95, 195], [205, 165, 40], [45, 165, 190]], 'float32')


def start(seed):
    a, b, c = jax.random.split(jax.random.key(seed), 3)
    middle = jax.random.uniform(a, (8, 2), minval=0.15, maxval=0.85)
    points = middle[jnp.arange(POINTS) % 8] + 0.05 * jax.random.normal(b, (POINTS, 2))
    return points, jnp.int32(600), jax.random.uniform(c, (K, 2))


def kmeans(points, count, centres, x, y, press):
    """Points that are drawn come in; each point goes to the nearest centre, each centre to its points."""
    drawn = jnp.stack([x, y]) + 0.03 * jax.random.normal(jax.random.key(count), (8, 2))
    points = jnp.where(press > 0, jax.lax.dynamic_update_slice(points, drawn, (count % POINTS, 0)), points)
    count = count + 8 * (press > 0)
    nearest = lambda p: jnp.argmin(jnp.sum((p[..., None, :] - centres)**2, -1), -1)
    known = (jnp.arange(POINTS) < count)[:, None]
    member = jax.nn.one_hot(nearest(points), K) * known
    target = (member.T @ points) / jnp.maximum(member.sum(0), 1)[:, None]
    centres = centres + 0.1 * jnp.where(member.sum(0)[:, None] > 0, target - centres, 0)
    grid = jnp.stack(jnp.meshgrid(jnp.arange(N), jnp.arange(N)), -1) / N
    picture = 20 + 0.25 * HUES[nearest(grid)]
    at = jnp.where(known, points * N, -1).astype('int32')
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        picture = picture.at[at[:, 1] + dy, at[:, 0] + dx].set(HUES[nearest(points)], mode='drop', wrap_negative_indices=False)
    ring = jnp.min(jnp.sum((grid[..., None, :] - centres)**2, -1), -1) < 3e-4
    return points, count, centres, jnp.where(ring[..., None], 255, picture).astype('uint8')


PROGRAMS = {'start': (start, ['s32[]']),
            'step': (kmeans, [f'f32[{POINTS},2]', 's32[]', f'f32[{K},2]'] + ['f32[]'] * 3)}
