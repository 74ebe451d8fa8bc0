"""A GPT of four layers: one token at a time, with a cache of keys and values, and its training."""
import jax
import jax.numpy as jnp
from jax import lax

LAYERS, WIDTH, HEADS, TOKENS, CONTEXT = 4, 128, 4, 1024, 128


def norm(x, g):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * g


def attend(q, k, v, mask):  # [..., position, width] each
    q, k, v = (t.reshape(t.shape[:-1] + (HEADS, -1)) for t in (q, k, v))
    s = jnp.einsum('...qhd,...khd->...hqk', q, k) / (WIDTH / HEADS)**0.5
    p = jax.nn.softmax(jnp.where(mask, s, -1e9), -1)
    return jnp.einsum('...hqk,...khd->...qhd', p, v).reshape(q.shape[:-2] + (WIDTH,))


def decode(w, cache, token, at):
    """Scores of the token after `token`, which is the one at position `at`; and the new cache."""
    x = (w['embed'][token] + w['place'][at])[None]
    mask = jnp.arange(CONTEXT) <= at
    new = []
    for b, (ks, vs) in zip(w['blocks'], cache):
        q, k, v = jnp.split(norm(x, b['n1']) @ b['qkv'], 3, -1)
        ks = lax.dynamic_update_slice(ks, k, (at, 0))
        vs = lax.dynamic_update_slice(vs, v, (at, 0))
        x = x + attend(q, ks, vs, mask) @ b['out']
        x = x + jax.nn.gelu(norm(x, b['n2']) @ b['up']) @ b['down']
        new.append((ks, vs))
    return (norm(x, w['last']) @ w['embed'].T)[0], new


# --- Training ---


def forward(w, tokens):
    n = tokens.shape[-1]
    x = w['embed'][tokens] + w['place'][:n]
    mask = jnp.tril(jnp.ones((n, n), bool))
    for b in w['blocks']:
        q, k, v = jnp.split(norm(x, b['n1']) @ b['qkv'], 3, -1)
        x = x + attend(q, k, v, mask) @ b['out']
        x = x + jax.nn.gelu(norm(x, b['n2']) @ b['up']) @ b['down']
    return norm(x, w['last']) @ w['embed'].T


def loss_of(w, tokens):  # [lines, positions + 1]
    scores = jax.nn.log_softmax(forward(w, tokens[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], -1))


def adam(w, m, v, g, step, rate):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, v, g)
    a, b = 1 - 0.9**step, 1 - 0.98**step
    new = lambda w, m, v: w - rate * (m / a / (jnp.sqrt(v / b) + 1e-8) + (0.05 * w if w.ndim > 1 else 0))
    return jax.tree.map(new, w, m, v), m, v


def train(w, m, v, tokens, step, rate, mean=lambda tree: tree):
    """One step of Adam. `mean` is over devices, each of which has lines of its own."""
    loss, gradient = jax.value_and_grad(loss_of)(w, tokens)
    loss, gradient = mean((loss, gradient))
    return loss, *adam(w, m, v, gradient, step, rate)


def initial(seed):
    keys = iter(jax.random.split(jax.random.key(seed), 64))
    normal = lambda *shape, scale=0.02: scale * jax.random.normal(next(keys), shape)
    block = lambda: dict(n1=jnp.ones(WIDTH), qkv=normal(WIDTH, 3 * WIDTH, scale=0.06), out=normal(WIDTH, WIDTH),
                         n2=jnp.ones(WIDTH), up=normal(WIDTH, 4 * WIDTH, scale=0.06), down=normal(4 * WIDTH, WIDTH))
    return dict(embed=normal(TOKENS, WIDTH), place=normal(CONTEXT, WIDTH), last=jnp.ones(WIDTH),
                blocks=[block() for _ in range(LAYERS)])


# --- Shapes, and training on several devices ---


def like(tree):
    return jax.tree.map(lambda x: f'f32[{",".join(map(str, x.shape))}]', jax.eval_shape(lambda: tree()))


WEIGHTS = like(lambda: initial(0))
CACHE = [(f'f32[{CONTEXT},{WIDTH}]',) * 2] * LAYERS
HALF = jax.tree.map(lambda shape: shape.replace('f32', 'bf16'), WEIGHTS)
DEVICES, LINES = 2, 2  # of training in the page; lines for each device


def widen(half):
    return jax.tree.map(lambda x: x.astype('float32'), half)


def train_on_devices(w, m, v, tokens, step):
    mesh = jax.make_mesh((DEVICES,), ('devices',), axis_types=(jax.sharding.AxisType.Auto,))
    every, each = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec('devices')
    one = lambda w, m, v, tokens, step: train(w, m, v, tokens, step[0], 1e-4, lambda t: lax.pmean(t, 'devices'))
    return jax.shard_map(one, mesh=mesh, in_specs=(every, every, every, each, every), out_specs=every,
                         check_vma=False)(w, m, v, tokens, step)


PROGRAMS = {
    'widen': (widen, [HALF]),
    'step': (decode, [WEIGHTS, CACHE, 's32[]', 's32[]']),
    'train': (train_on_devices, [WEIGHTS] * 3 + [f's32[{DEVICES * LINES},{CONTEXT + 1}]', 'f32[1]']),
}
