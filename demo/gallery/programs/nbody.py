import jax
import jax.numpy as jnp

BODIES, N = 1024, 384


def start(seed):
    """Two discs that turn, and pass each other."""
    a, b = jax.random.uniform(jax.random.key(seed), (2, BODIES))
    side = jnp.where(jnp.arange(BODIES) < BODIES // 2, 1.0, -1.0)
    r, angle = 0.03 + 0.5 * a, 6.2832 * b
    p = jnp.stack([r * jnp.cos(angle) + 0.9 * side, r * jnp.sin(angle) + 0.35 * side, 0.05 * (a - b)], -1)
    turn = 0.75 * jnp.sqrt(0.5 * a)
    v = jnp.stack([-turn * jnp.sin(angle) - 0.25 * side, turn * jnp.cos(angle), 0 * a], -1)
    return p, v, jnp.zeros((N, N, 3))


def nbody(p, v, glow, x, y, press):
    """Every body draws every other; the pointer draws all. Then what the camera sees."""
    x2 = jnp.sum(p * p, -1)
    r = jax.lax.rsqrt(x2[:, None] + x2 - 2 * p @ p.T + 0.004)  # 1 / distance, softened
    w = r * r * r / BODIES
    pull = w @ p - jnp.sum(w, 1, keepdims=True) * p
    to = jnp.stack([4 * x - 2, 4 * y - 2, 0]) - p
    pull = pull + 0.8 * press * to * (jnp.sum(to * to, -1, keepdims=True) + 0.05)**-1.5
    v = v + 0.012 * pull
    p = p + 0.012 * v
    at = ((p[:, :2] / 4 + 0.5) * N).astype('int32')
    speed = jnp.clip(jnp.linalg.norm(v, axis=-1, keepdims=True), 0, 1.5) / 1.5
    light = (1 - speed) * jnp.array([0.25, 0.45, 1.0]) + speed * jnp.array([1.0, 0.75, 0.35])
    glow = (0.86 * glow).at[at[:, 1], at[:, 0]].add(light, mode='drop')
    return p, v, glow, (255 * (1 - jnp.exp(-1.6 * glow))).astype('uint8')


PROGRAMS = {'start': (start, ['s32[]']),
            'step': (nbody, [f'f32[{BODIES},3]'] * 2 + [f'f32[{N},{N},3]'] + ['f32[]'] * 3)}
