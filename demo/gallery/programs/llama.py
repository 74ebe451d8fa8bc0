"""A language model of Llama's kind (examples/llama/model.py), and its training on several devices."""
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import lax

FOLDER = pathlib.Path(__file__).parent
sys.path.append(str(FOLDER.parents[2] / 'examples/llama'))
import model

CONTEXT, BLOCK = 256, 32
JSON = dict(model_type='llama', hidden_size=128, intermediate_size=384, num_hidden_layers=6, num_attention_heads=4,
            num_key_value_heads=2, head_dim=32, vocab_size=1536, rms_norm_eps=1e-5, rope_theta=10000.0,
            tie_word_embeddings=True, max_position_embeddings=CONTEXT, hidden_act='silu')
CONFIG = model.Config(JSON)


def empty():
    """A cache without tokens."""
    zeros = jnp.zeros((CONFIG.groups, CONTEXT, CONFIG.depth))
    return [(zeros, zeros)] * CONFIG.layers


def loss_of(w, tokens):  # [lines, positions + 1]
    def scores(line):
        return model.linear(w, 'model.embed_tokens', model.forward(CONFIG, w, empty(), line, 0)[0])

    logs = jax.nn.log_softmax(jax.vmap(scores)(tokens[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(logs, tokens[:, 1:, None], -1))


def adam(w, m, v, g, step, rate):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, v, g)
    a, b = 1 - 0.9**step, 1 - 0.98**step
    return jax.tree.map(lambda w, m, v: w - rate * m / a / (jnp.sqrt(v / b) + 1e-8), w, m, v), m, v


def train(w, m, v, tokens, step, rate, mean=lambda tree: tree):
    """One step of Adam. `mean` is over devices, each of which has lines of its own."""
    loss, gradient = mean(jax.value_and_grad(loss_of)(w, tokens))
    return loss, *adam(w, m, v, gradient, step, rate)


def initial(seed):
    keys = iter(jax.random.split(jax.random.key(seed), 256))
    draw = lambda name, shape: jnp.ones(shape) if len(shape) == 1 else (
        0.02 if 'embed' in name else 0 if 'o_proj' in name or 'down' in name else shape[1]**-0.5) * jax.random.normal(next(keys), shape)
    return {name: draw(name, shape) for name, shape in CONFIG.shapes().items()}


def narrow(w):
    """Matrices as s8 in blocks of 32 with a scale each."""
    def of(x):
        if x.ndim < 2:
            return x
        blocks = x.reshape(x.shape[0], -1, BLOCK)
        scales = (jnp.max(jnp.abs(blocks), -1) / 127).astype(jnp.float16)
        quants = jnp.round(blocks / jnp.maximum(scales[..., None].astype(jnp.float32), 1e-8)).clip(-127, 127)
        return dict(quants=quants.astype(jnp.int8).reshape(x.shape), scales=scales)

    return {name: of(x) for name, x in w.items()}


def widen(w):
    return {name: model.dequantised(x) for name, x in w.items()}


# --- Shapes, and training on several devices ---


def step(w, cache, seen, tokens, place, last, random, temperature, top_k, top_p, penalty):
    return model.step(CONFIG, w, cache, seen, tokens, place, last, random, temperature, top_k, top_p, penalty)


DEVICES, LINES = 2, 2  # of training in the page; lines for each device


def train_on_devices(w, m, v, tokens, step):
    mesh = jax.make_mesh((DEVICES,), ('devices',), axis_types=(jax.sharding.AxisType.Auto,))
    every, each = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec('devices')
    one = lambda w, m, v, tokens, step: train(w, m, v, tokens, step[0], 1e-4, lambda t: lax.pmean(t, 'devices'))
    return jax.shard_map(one, mesh=mesh, in_specs=(every, every, every, each, every), out_specs=every,
                         check_vma=False)(w, m, v, tokens, step)


TYPES = {'float32': 'f32', 'float16': 'f16', 'int8': 's8', 'bool': 'pred', 'int32': 's32'}


def like(tree):
    return jax.tree.map(lambda x: f'{TYPES[x.dtype.name]}[{",".join(map(str, x.shape))}]', jax.eval_shape(tree))


WEIGHTS = like(lambda: initial(0))
NARROW = like(lambda: narrow(initial(0)))
STEP = [NARROW, like(empty), f'pred[{CONFIG.tokens}]'], ['s32[]', 's32[]', 'f32[]', 'f32[]', 's32[]', 'f32[]', 'f32[]']
PROGRAMS = {
    'one': (step, [*STEP[0], 's32[1]', *STEP[1]]),
    'many': (step, [*STEP[0], 's32[32]', *STEP[1]]),
    'widen': (widen, [NARROW]),
    'narrow': (narrow, [WEIGHTS]),
    'train': (train_on_devices, [WEIGHTS] * 3 + [f's32[{DEVICES * LINES},{CONTEXT + 1}]', 'f32[1]']),
}
