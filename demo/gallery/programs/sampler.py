import jax
import jax.numpy as jnp

CHAINS, N = 4096, 256


def energy(p, kind):  # minus the logarithm of a density, at a point of the plane
    x, y = p
    ring = lambda: 8 * (jnp.hypot(x, y) - 1.2)**2
    banana = lambda: 0.5 * (x / 0.8)**2 + 6 * (y - x * x + 0.6)**2
    four = lambda: -jax.nn.logsumexp(-12 * (jnp.abs(x) - 0.9)**2 - 12 * (jnp.abs(y) - 0.9)**2) + 0.5 * jnp.cos(3 * x)
    funnel = lambda: 0.5 * (y / 0.9)**2 + 0.5 * x * x * jnp.exp(-2.5 * y) * 4 - 1.25 * y
    waves = lambda: 0.8 * (x * x + y * y) + 2 * jnp.cos(5 * x) + 2 * jnp.cos(5 * y)
    return jax.lax.switch(kind, [ring, banana, four, funnel, waves])


def start(seed):
    return 0.6 * jax.random.normal(jax.random.key(seed), (CHAINS, 2)), jnp.zeros((N, N)), jnp.uint32(seed)


def sampler(points, counts, turn, kind, step, fade):
    """Langevin's steps with Metropolis' choice (MALA), and where the chains have been."""
    force, weigh = jax.vmap(jax.grad(energy), (0, None)), jax.vmap(energy, (0, None))
    a, b = jax.random.split(jax.random.key(turn))
    to = points - step * force(points, kind) + jnp.sqrt(2 * step) * jax.random.normal(a, points.shape)
    back = lambda to, of: -jnp.sum((to - of + step * force(of, kind))**2, -1) / (4 * step)
    ratio = weigh(points, kind) - weigh(to, kind) + back(points, to) - back(to, points)
    taken = jnp.log(jax.random.uniform(b, (CHAINS,))) < ratio
    points = jnp.where(taken[:, None], to, points)
    at = jnp.where(jnp.abs(points) < 2.5, (points / 5 + 0.5) * N, -1).astype('int32')
    counts = (counts * fade).at[at[:, 1], at[:, 0]].add(1.0, mode='drop', wrap_negative_indices=False)
    t = jnp.clip(0.9 * jnp.sqrt(counts / (jnp.max(counts) + 1e-6)), 0, 1)
    colour = jnp.stack([jnp.clip(2.2 * t - 0.3, 0, 1), t**1.5, jnp.clip(0.12 + 1.6 * t * (1 - t) + t**4, 0, 1)], -1)
    return points, counts, turn + 1, (255 * colour).astype('uint8'), jnp.mean(taken.astype('float32'))


PROGRAMS = {'start': (start, ['s32[]']),
            'step': (sampler, [f'f32[{CHAINS},2]', f'f32[{N},{N}]', 'u32[]', 's32[]', 'f32[]', 'f32[]'])}
