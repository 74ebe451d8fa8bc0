"""The models of language.mjs on native XLA:CPU (examples/llama/model.py); and their files for llama.cpp.

    native.py run THREADS     {"json": ..., "type": "int8"} prepares; {"round": true} takes a second: a line of JSON in, one out
    native.py gguf JSON TYPE PATH     writes a file of Q8_0 or Q4_0
"""
import json
import os
import pathlib
import sys
import time

if sys.argv[1] == 'run':
    threads = int(sys.argv[2])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    if threads == 1:
        os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'
    os.environ['JAX_PLATFORMS'] = 'cpu'

import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).parents[3]
sys.path.append(str(ROOT / 'examples/llama'))
CONTEXT, PLACE, BLOCK = 256, 128, 32


def run():
    import jax
    import jax.numpy as jnp
    import model

    def prepare(c, kind):
        config = model.Config(c)
        random = np.random.default_rng(0)
        made = {}

        def weight(shape):
            if len(shape) == 1:
                return jnp.ones(shape)
            if shape not in made:
                if kind.startswith('int'):
                    most = 127 if kind == 'int8' else 7
                    quants = random.integers(-most, most + 1, shape, np.int8)
                    made[shape] = (quants, np.full((shape[0], shape[1] // BLOCK), 1 / most / shape[1]**0.5, np.float16))
                else:
                    made[shape] = random.standard_normal(shape, np.float32) / shape[1]**0.5
            if kind.startswith('int'):
                quants, scales = made[shape]
                return dict(quants=jnp.array(quants, jnp.dtype(kind)), scales=jnp.array(scales))
            return jnp.array(made[shape], jnp.bfloat16 if kind == 'bf16' else jnp.float32)

        w = {name: weight(shape) for name, shape in config.shapes().items()}
        made.clear()
        zeros = lambda: jnp.zeros((config.groups, CONTEXT, config.depth))
        state = dict(cache=[(zeros(), zeros()) for _ in range(config.layers)], seen=jnp.zeros(config.tokens, bool), place=PLACE)
        step = jax.jit(lambda *given: model.step(config, *given), donate_argnums=(1, 2))

        def following():
            if state['place'] == CONTEXT:
                state['place'] = PLACE
            _, token, state['cache'], state['seen'] = step(
                w, state['cache'], state['seen'], jnp.array([5]), state['place'], 0, 0.5, 1.0, 40, 0.95, 1.1)
            state['place'] += 1
            return int(token)

        following()
        following()
        return following

    following = None
    for line in sys.stdin:
        asked = json.loads(line)
        if 'json' in asked:
            following = prepare(asked['json'], asked['type'])
            print(json.dumps({}), flush=True)
            continue
        end, least, count, cpu = time.perf_counter() + 1, np.inf, 0, time.process_time()
        while count < 2 or time.perf_counter() < end:
            begin = time.perf_counter()
            following()
            least, count = min(least, time.perf_counter() - begin), count + 1
        print(json.dumps(dict(ms=1000 * least, cpu=1000 * (time.process_time() - cpu) / count)), flush=True)


def write(c, kind, path):
    import gguf

    type_ = gguf.GGMLQuantizationType[kind]
    block = {'Q8_0': 34, 'Q4_0': 18}[kind]
    random = np.random.default_rng(0)
    width, inner, heads, groups = (c[name] for name in ('hidden_size', 'intermediate_size', 'num_attention_heads', 'num_key_value_heads'))
    across, tokens = width // heads * groups, c['vocab_size']
    writer = gguf.GGUFWriter(path, 'llama')
    writer.add_block_count(c['num_hidden_layers'])
    writer.add_context_length(c['max_position_embeddings'])
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    writer.add_layer_norm_rms_eps(c['rms_norm_eps'])
    writer.add_rope_freq_base(c['rope_theta'])
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(tokens)
    names = ['<unk>', '<s>', '</s>', *(f'<0x{i:02X}>' for i in range(256))]
    names += [chr(0x4E00 + i) for i in range(tokens - len(names))]  # a character each
    kinds = [2, 3, 3] + [6] * 256 + [1] * (tokens - 259)
    writer.add_tokenizer_model('llama')
    writer.add_token_list([name.encode() for name in names])
    writer.add_token_scores([0.0] * tokens)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    made = {}

    def matrix(name, rows, columns):
        if (rows, columns) not in made:
            data = random.integers(0, 256, (rows, columns // BLOCK, block), np.uint8)
            data[..., :2] = np.frombuffer(np.float16(1 / (127 if kind == 'Q8_0' else 7) / columns**0.5).tobytes(), np.uint8)
            made[rows, columns] = data.reshape(rows, -1)
        writer.add_tensor(name, made[rows, columns], raw_dtype=type_)

    norm = np.ones(width, np.float32)
    matrix('token_embd.weight', tokens, width)
    writer.add_tensor('output_norm.weight', norm)
    if not c['tie_word_embeddings']:
        matrix('output.weight', tokens, width)
    for i in range(c['num_hidden_layers']):
        for name, rows, columns in (('attn_q', width, width), ('attn_k', across, width), ('attn_v', across, width), ('attn_output', width, width),
                                    ('ffn_gate', inner, width), ('ffn_up', inner, width), ('ffn_down', width, inner)):
            matrix(f'blk.{i}.{name}.weight', rows, columns)
        for name in ('attn_norm', 'ffn_norm'):
            writer.add_tensor(f'blk.{i}.{name}.weight', norm)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if sys.argv[1] == 'run':
    run()
else:
    write(json.loads(sys.argv[2]), sys.argv[3], sys.argv[4])
