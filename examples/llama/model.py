"""A language model of Llama's kind in JAX: Llama 1 to 3, Mistral, Qwen 2 and 3, Gemma 1, by their config.json.
Weights are a dictionary by Hugging Face's names. A matrix is an array [rows, width], or a dictionary of `quants`, integers of
that shape, and `scales` (and `mins`) [rows, width / block]: element i of a row is quants[i] * scales[i // block] + mins[i // block].
"""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

CANDIDATES = 64  # how many of the likeliest tokens a draw chooses from, at most
KINDS = 'llama', 'mistral', 'qwen2', 'qwen3', 'gemma'


class Config:
    """Sizes and switches, from what config.json says."""

    def __init__(self, json):
        self.kind = json['model_type']
        if self.kind not in KINDS:
            raise ValueError(f'model_type is {self.kind}: of {", ".join(KINDS)}')
        self.layers, self.width, self.tokens = json['num_hidden_layers'], json['hidden_size'], json['vocab_size']
        self.inner, self.heads = json['intermediate_size'], json['num_attention_heads']
        self.groups = json.get('num_key_value_heads') or self.heads  # heads of keys and values
        self.depth = json.get('head_dim') or self.width // self.heads
        self.epsilon, self.tied = json['rms_norm_eps'], json.get('tie_word_embeddings', self.kind == 'gemma')
        biased = 'qkv' if self.kind == 'qwen2' else 'qkvo' if json.get('attention_bias') else ''
        self.biased = [f'self_attn.{part}_proj' for part in biased]
        self.biased += [f'mlp.{part}_proj' for part in ('gate', 'up', 'down') if json.get('mlp_bias')]
        self.head_norm, self.gemma = self.kind == 'qwen3', self.kind == 'gemma'
        rope = json.get('rope_parameters') or json.get('rope_scaling') or {}
        self.frequencies = frequencies(self.depth, rope.get('rope_theta') or json.get('rope_theta') or 10000.0, rope)

    def shapes(self):
        """The shape of each array of weights, by name."""
        width, inner, across = self.width, self.inner, self.groups * self.depth
        result = {'model.embed_tokens.weight': (self.tokens, width), 'model.norm.weight': (width,)}
        if not self.tied:
            result['lm_head.weight'] = (self.tokens, width)
        square = (self.heads * self.depth, width)
        matrices = {'self_attn.q_proj': square, 'self_attn.k_proj': (across, width), 'self_attn.v_proj': (across, width),
                    'self_attn.o_proj': square[::-1], 'mlp.gate_proj': (inner, width), 'mlp.up_proj': (inner, width),
                    'mlp.down_proj': (width, inner)}
        for i in range(self.layers):
            at = f'model.layers.{i}.'
            result |= {f'{at}{part}.weight': shape for part, shape in matrices.items()}
            result |= {f'{at}{part}.bias': matrices[part][:1] for part in self.biased}
            if self.head_norm:
                result |= {f'{at}self_attn.{part}_norm.weight': (self.depth,) for part in 'qk'}
            result |= {f'{at}input_layernorm.weight': (width,), f'{at}post_attention_layernorm.weight': (width,)}
        return result


def frequencies(depth, theta, rope):
    """Of rotary embeddings, in radians a position; Llama 3 slows the low ones down."""
    f, kind = theta ** (-np.arange(0, depth, 2) / depth), rope.get('rope_type', rope.get('type', 'default'))
    if kind == 'llama3':
        low, high, factor = rope['low_freq_factor'], rope['high_freq_factor'], rope['factor']
        turns = rope['original_max_position_embeddings'] * f / (2 * math.pi)  # in the context of its training
        smooth = np.clip((turns - low) / (high - low), 0, 1)
        f = f / factor * (1 - smooth) + f * smooth
    elif kind == 'linear':
        f = f / rope['factor']
    elif kind != 'default':
        raise ValueError(f'rope_type is {kind}: of default, linear, llama3')
    return f.astype(np.float32)


def dequantised(w):
    if not isinstance(w, dict):
        return w.astype(jnp.float32)
    scales, quants = w['scales'].astype(jnp.float32), w['quants'].astype(jnp.float32)
    blocks = quants.reshape(*scales.shape, -1) * scales[..., None]
    return (blocks + w['mins'].astype(jnp.float32)[..., None] if 'mins' in w else blocks).reshape(quants.shape)


def linear(w, name, x):
    y = x @ dequantised(w[f'{name}.weight']).T
    return y + w[f'{name}.bias'].astype(jnp.float32) if f'{name}.bias' in w else y


def rows(w, indices):
    """Rows of a matrix, of which only they are dequantised."""
    return dequantised(jax.tree.map(lambda part: part[indices], w))


def norm(c, x, g):
    x = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + c.epsilon)
    return x * (1 + g.astype(jnp.float32) if c.gemma else g.astype(jnp.float32))


def rotated(x, angles):  # [heads, positions, depth]
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], -1)


def attention(c, w, at, x, cache, place):
    """Adds the keys and values of x [n, width] to the cache, [groups, context, depth] each, from `place` on."""
    def heads(part, count):
        y = linear(w, f'{at}{part}_proj', x).reshape(-1, count, c.depth).transpose(1, 0, 2)
        return norm(c, y, w[f'{at}{part}_norm.weight']) if c.head_norm and part != 'v' else y

    places = place + jnp.arange(x.shape[0])
    angles = places[:, None].astype(jnp.float32) * c.frequencies
    put = lambda old, new: lax.dynamic_update_slice(old, new.astype(old.dtype), (0, place, 0))
    q = rotated(heads('q', c.heads), angles).reshape(c.groups, c.heads // c.groups, -1, c.depth)
    keys, values = put(cache[0], rotated(heads('k', c.groups), angles)), put(cache[1], heads('v', c.groups))
    scores = jnp.einsum('ghnd,gmd->ghnm', q, keys.astype(jnp.float32)) * c.depth**-0.5
    scores = jnp.where(jnp.arange(keys.shape[1]) <= places[:, None], scores, -jnp.inf)
    mixed = jnp.einsum('ghnm,gmd->nghd', jax.nn.softmax(scores), values.astype(jnp.float32))
    return linear(w, at + 'o_proj', mixed.reshape(x.shape[0], -1)), (keys, values)


def mlp(c, w, at, x):
    gate = linear(w, at + 'gate_proj', x)
    return linear(w, at + 'down_proj', (jax.nn.gelu(gate) if c.gemma else jax.nn.silu(gate)) * linear(w, at + 'up_proj', x))


def forward(c, w, cache, tokens, place):
    """tokens [n] at the positions from `place` on -> [n, width], and the new cache: keys and values of each layer."""
    x = rows(w['model.embed_tokens.weight'], tokens) * (math.sqrt(c.width) if c.gemma else 1)
    new = []
    for i, old in enumerate(cache):
        at = f'model.layers.{i}.'
        y, kept = attention(c, w, at + 'self_attn.', norm(c, x, w[at + 'input_layernorm.weight']), old, place)
        x = x + y
        x = x + mlp(c, w, at + 'mlp.', norm(c, x, w[at + 'post_attention_layernorm.weight']))
        new.append(kept)
    return norm(c, x, w['model.norm.weight']), new


def sample(logits, seen, random, temperature, top_k, top_p, penalty):
    """Draws a token by a random number of 0 to 1; top_k is at most CANDIDATES. `seen` [tokens]: those that are less likely."""
    logits = jnp.where(seen, jnp.where(logits > 0, logits / penalty, logits * penalty), logits)
    values, tokens = lax.top_k(logits, min(CANDIDATES, logits.size))
    p = jax.nn.softmax(jnp.where(jnp.arange(values.size) < top_k, values / temperature, -jnp.inf))
    before = jnp.cumsum(p) - p
    p = jnp.where(before < jnp.maximum(top_p, 1e-6), p, 0)  # the likeliest token always
    total = jnp.cumsum(p)
    return tokens[jnp.minimum(jnp.sum(total <= random * total[-1]), values.size - 1)]


def step(c, w, cache, seen, tokens, place, last, *settings):
    """Reads tokens [n], of which number `last` is the last (the others fill up): logits after it, a token drawn, cache, seen."""
    x, cache = forward(c, w, cache, tokens, place)
    seen = seen | jnp.any((jnp.arange(seen.size) == tokens[:, None]) & (jnp.arange(tokens.size) <= last)[:, None], 0)
    logits = linear(w, 'model.embed_tokens' if c.tied else 'lm_head', lax.dynamic_slice_in_dim(x, last, 1))[0]
    return logits, sample(logits, seen, *settings), cache, seen
