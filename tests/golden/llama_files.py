"""Writes llama/: small models with random weights, one for each switch of examples/llama, and their logits.

    build/venv/bin/pip install gguf; build/venv/bin/python tests/golden/llama_files.py

NAME/config.json, model.safetensors and, of some, model.gguf (as llama.cpp's converter writes them) and step.LENGTH.mlirbc.
values.npz has the logits after each token of a text: of a reference in NumPy and f64, written from Hugging Face's definitions,
without a cache. examples/llama/model.py must agree with it, on real XLA.
"""
import json
import pathlib
import sys

import gguf
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = pathlib.Path(__file__).parent / 'llama'
sys.path += [str(ROOT / 'examples/llama'), str(ROOT / 'demo/gallery')]
import export
import model
import safetensors

CONTEXT, LENGTHS = 24, (1, 4)
BASE = dict(model_type='llama', hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, vocab_size=96, rms_norm_eps=1e-5, rope_theta=100.0, tie_word_embeddings=False,
            max_position_embeddings=CONTEXT)
SCALED = dict(rope_type='llama3', factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
CONFIGS = {
    'llama': BASE,
    'llama3': BASE | dict(rope_scaling=SCALED, num_key_value_heads=1),
    'qwen2': BASE | dict(model_type='qwen2', tie_word_embeddings=True, num_key_value_heads=4),
    'qwen3': BASE | dict(model_type='qwen3', head_dim=32, rope_parameters=dict(rope_type='default', rope_theta=1000.0)),
    'biased': BASE | dict(attention_bias=True, mlp_bias=True, rope_scaling=dict(type='linear', factor=2.0)),
    'gemma': BASE | dict(model_type='gemma', head_dim=16, tie_word_embeddings=True, hidden_act='gelu_pytorch_tanh'),
}
GGUF = {  # architecture, and the type of matrices, by configuration
    'llama': ('llama', 'Q8_0'), 'biased': ('llama', 'Q8_0'), 'qwen2': ('qwen2', 'Q4_0'), 'qwen3': ('qwen3', 'Q4_1'), 'gemma': ('gemma', 'Q8_0'),
}
EXPORTED = {'llama': 'int8', 'qwen2': 'int4'}


def reference(c, w, tokens):
    """Logits [n, vocabulary] in f64: LlamaForCausalLM and its kin, without a cache."""
    w = {name: np.asarray(x, np.float64) for name, x in w.items()}
    kind, n = c['model_type'], len(tokens)
    heads, groups = c['num_attention_heads'], c['num_key_value_heads']
    depth = c.get('head_dim', c['hidden_size'] // heads)
    rope = c.get('rope_parameters') or c
    inverse = 1.0 / rope['rope_theta'] ** (np.arange(0, depth, 2) / depth)
    s = c.get('rope_scaling', {})
    if s.get('type') == 'linear':
        inverse = inverse / s['factor']
    elif s:  # _compute_llama3_parameters
        length = 2 * np.pi / inverse
        low, high = (s['original_max_position_embeddings'] / s[f'{end}_freq_factor'] for end in ('low', 'high'))
        smooth = (s['original_max_position_embeddings'] / length - s['low_freq_factor']) / (s['high_freq_factor'] - s['low_freq_factor'])
        inverse = np.where(length > low, inverse / s['factor'], np.where(length < high, inverse, (1 - smooth) * inverse / s['factor'] + smooth * inverse))
    angles = np.outer(np.arange(n), inverse)
    cos, sin = (np.concatenate([f(angles)] * 2, -1) for f in (np.cos, np.sin))

    def linear(x, name):
        return x @ w[f'{name}.weight'].T + w.get(f'{name}.bias', 0)

    def norm(x, g):
        return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + c['rms_norm_eps']) * (g + (kind == 'gemma'))

    def rotate(x):
        return x * cos[:, None] + np.concatenate([-x[..., depth // 2:], x[..., :depth // 2]], -1) * sin[:, None]

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    x = w['model.embed_tokens.weight'][tokens] * (c['hidden_size']**0.5 if kind == 'gemma' else 1)
    for i in range(c['num_hidden_layers']):
        at = f'model.layers.{i}.'
        y = norm(x, w[at + 'input_layernorm.weight'])
        q, k, v = (linear(y, f'{at}self_attn.{part}_proj') for part in 'qkv')
        q, k, v = q.reshape(n, heads, depth), k.reshape(n, groups, depth), v.reshape(n, groups, depth)
        if kind == 'qwen3':
            q, k = norm(q, w[at + 'self_attn.q_norm.weight']), norm(k, w[at + 'self_attn.k_norm.weight'])
        k, v = (np.repeat(part, heads // groups, 1) for part in (rotate(k), v))
        scores = np.einsum('nhd,mhd->hnm', rotate(q), k) / np.sqrt(depth)
        scores[:, np.triu_indices(n, 1)[0], np.triu_indices(n, 1)[1]] = -np.inf
        x = x + linear(np.einsum('hnm,mhd->nhd', softmax(scores), v).reshape(n, -1), at + 'self_attn.o_proj')
        y = norm(x, w[at + 'post_attention_layernorm.weight'])
        gate, up = (linear(y, f'{at}mlp.{part}_proj') for part in ('gate', 'up'))
        gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3))) if kind == 'gemma' else gate / (1 + np.exp(-gate))
        x = x + linear(gate * up, at + 'mlp.down_proj')
    return linear(norm(x, w['model.norm.weight']), 'model.embed_tokens' if c['tie_word_embeddings'] else 'lm_head')


def random_weights(config, seed):
    """In bf16, as files have them."""
    random = np.random.default_rng(seed)
    draw = lambda name, shape: random.normal(0, shape[-1]**-0.5 if len(shape) > 1 else 0.3, shape) + (
        'norm' in name and not config.gemma)
    return {name: draw(name, shape).astype(ml_dtypes.bfloat16) for name, shape in config.shapes().items()}


def logits_of(config, w, tokens):
    """By model.py, on XLA: two prompts of 4 tokens, of which the last is not full, then token by token."""
    cache = [(jnp.zeros((config.groups, CONTEXT, config.depth)),) * 2 for _ in range(config.layers)]
    seen, result = jnp.zeros(config.tokens, bool), []
    step = jax.jit(lambda *given: model.step(config, *given, 0.5, 1.0, 40, 1.0, 1.0))
    parts = [(0, tokens[:4], 3), (4, [*tokens[4:7], 0], 2)] + [(at, tokens[at:at + 1], 0) for at in range(7, len(tokens))]
    for place, part, last in parts:
        logits, _, cache, seen = step(w, cache, seen, jnp.array(part), place, last)
        result.append(logits)
    return np.stack(result)


LLAMA_CPP = {
    'embed_tokens': 'token_embd', 'model.norm': 'output_norm', 'lm_head': 'output', 'model.layers': 'blk', 'self_attn.q_proj': 'attn_q',
    'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output', 'self_attn.q_norm': 'attn_q_norm',
    'self_attn.k_norm': 'attn_k_norm', 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down',
    'input_layernorm': 'attn_norm', 'post_attention_layernorm': 'ffn_norm',
}


def write_gguf(path, c, w, architecture, type_):
    """As convert_hf_to_gguf.py does: Llama's queries and keys are permuted, Gemma's norms have 1 added. Returns the weights of it."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(c['num_hidden_layers'])
    writer.add_context_length(c['max_position_embeddings'])
    writer.add_embedding_length(c['hidden_size'])
    writer.add_feed_forward_length(c['intermediate_size'])
    writer.add_head_count(c['num_attention_heads'])
    writer.add_head_count_kv(c['num_key_value_heads'])
    writer.add_layer_norm_rms_eps(c['rms_norm_eps'])
    writer.add_vocab_size(c['vocab_size'])
    writer.add_rope_freq_base((c.get('rope_parameters') or c)['rope_theta'])
    if c.get('rope_scaling', {}).get('type') == 'linear':
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(c['rope_scaling']['factor'])
    if 'head_dim' in c:
        writer.add_key_length(c['head_dim'])
        writer.add_value_length(c['head_dim'])
    kept = {}
    for name, x in w.items():
        x = np.asarray(x, np.float32)
        heads = {'q': c['num_attention_heads'], 'k': c['num_key_value_heads']}.get(name.split('self_attn.')[-1][0]) if '_proj' in name and 'self_attn' in name else None
        permuted = architecture == 'llama' and heads
        turn = lambda x, sizes: x.reshape(heads, *sizes, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)
        if permuted:
            x = turn(x, (2, x.shape[0] // heads // 2))
        if architecture == 'gemma' and 'norm' in name:
            x = x + 1
        title = name
        for theirs, ours in LLAMA_CPP.items():
            title = title.replace(theirs, ours)
        kind = gguf.GGMLQuantizationType[type_]
        data = gguf.quantize(x, kind) if x.ndim == 2 else x
        writer.add_tensor(title.replace('model.', ''), data, raw_dtype=kind if x.ndim == 2 else None)
        x = gguf.dequantize(data, kind) if x.ndim == 2 else x
        kept[name] = turn(x, (x.shape[0] // heads // 2, 2)) if permuted else x - 1 if architecture == 'gemma' and 'norm' in name else x
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return kept


def narrow(w, kind, most):
    """Matrices as integers in blocks of 32, with scales of f16."""
    def of(x):
        if x.ndim < 2:
            return np.asarray(x, np.float32)
        blocks = np.asarray(x, np.float32).reshape(x.shape[0], -1, 32)
        scales = (np.abs(blocks).max(-1) / most).astype(np.float16)
        return dict(quants=np.floor(blocks / scales[..., None].astype(np.float32) + 0.5).reshape(x.shape).astype(kind), scales=scales)

    return {name: of(x) for name, x in w.items()}


def check(name, got, wanted):
    apart = np.abs(got - wanted).max() / np.abs(wanted).max()
    print(f'{name}: {apart:.1e} apart')
    assert apart < 2e-6, name


def main():
    tokens = np.random.default_rng(5).integers(0, BASE['vocab_size'], 12)
    values = dict(tokens=tokens.astype(np.int32))
    read = [3, *range(6, len(tokens))]  # the places after which logits are taken
    for seed, (name, c) in enumerate(CONFIGS.items()):
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'config.json').write_text(json.dumps(c, indent=2) + '\n')
        config = model.Config(c)
        w = random_weights(config, seed)
        safetensors.write(folder / 'model.safetensors', w)
        values[name] = reference(c, w, tokens)[read]
        check(name, logits_of(config, w, tokens), values[name])
        if name in GGUF:
            kept = write_gguf(folder / 'model.gguf', c, w, *GGUF[name])
            values[f'{name}.gguf'] = reference(c, kept, tokens)[read]
            check(f'{name}.gguf', logits_of(config, kept, tokens), values[f'{name}.gguf'])
        if name in EXPORTED:
            weights = EXPORTED[name]
            less = narrow(w, ml_dtypes.int4 if weights == 'int4' else np.int8, 7 if weights == 'int4' else 127)
            wide = {name: np.asarray(model.dequantised(x)) for name, x in less.items()}
            values[f'{name}.{weights}'] = reference(c, wide, tokens)[read]
            check(f'{name}.{weights}', logits_of(config, less, tokens), values[f'{name}.{weights}'])
            for length in LENGTHS:
                (folder / f'step.{length}.mlirbc').write_bytes(export.export(config, weights, 32, CONTEXT, length).mlir_module_serialized)
    np.savez_compressed(FOLDER / 'values.npz', **{name: x.astype(np.int32 if name == 'tokens' else np.float64) for name, x in values.items()})


main()
