"""Measures the speed of JAX on a jaxlib, in seconds of this process's time, and prints a line each.

    [PYTHONPATH=python] python python/tests/speed.py [--program FILE]

Needs Flax and Optax for the training step. Run it with the real jaxlib and with ours, in turn. With
`--program` it writes a training step of a perceptron, as StableHLO, for speed.mjs.
"""

import sys
import time

START = time.process_time()
import jax  # noqa: E402

IMPORT = time.process_time() - START

import jax.numpy as jnp  # noqa: E402


def best(function, rounds=5):
    """Returns the least time of a few runs."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def lowering():
    """Returns a function that traces and lowers a training step of a transformer of six blocks."""
    import optax
    from flax import linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            mask = nn.make_causal_mask(x[..., 0])
            x += nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            return x + nn.Dense(64)(nn.gelu(nn.Dense(256)(nn.LayerNorm()(x))))

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(256, 64)(tokens)
            for _ in range(6):
                x = Block()(x)
            return nn.Dense(256)(x)

    model, optimizer = Transformer(), optax.adamw(1e-3)
    tokens = jnp.zeros((2, 32), jnp.int32)
    params = jax.eval_shape(model.init, jax.random.key(0), tokens)
    state = jax.eval_shape(optimizer.init, params)

    def step(params, state, tokens):
        def loss(params):
            logits = model.apply(params, tokens)
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    def lower():
        jax.clear_caches()
        return jax.jit(lambda *arguments: step(*arguments)).lower(params, state, tokens)

    return lower


def calls(count=5000):
    """Returns the time of a call of a small compiled function."""
    f, x = jax.jit(lambda x: x + 1), jnp.ones(3)
    for _ in range(10):
        x = f(x)

    def run():
        y = x
        for _ in range(count):
            y = f(y)
        y.block_until_ready()

    return best(run) / count


def perceptron():
    """Returns a training step of a perceptron for digits, and its arguments."""
    sizes = (784, 256, 128, 10)
    keys = jax.random.split(jax.random.key(0), len(sizes))
    params = [(jax.random.normal(k, (a, b)) * a**-0.5, jnp.zeros(b))
              for k, a, b in zip(keys, sizes, sizes[1:])]
    x = jax.random.normal(keys[-1], (64, 784))
    labels = jnp.arange(64) % 10

    def loss(params, x, labels):
        for w, b in params[:-1]:
            x = jnp.maximum(x @ w + b, 0)
        w, b = params[-1]
        scores = jax.nn.log_softmax(x @ w + b)
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def step(params, x, labels):
        value, gradient = jax.value_and_grad(loss)(params, x, labels)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    return jax.jit(step, donate_argnums=0), (params, x, labels)


def steps(count=1000):
    """Returns how long training steps take by the clock, and of this process's time."""
    step, (params, x, labels) = perceptron()
    params, _ = step(params, x, labels)
    clock, start = time.perf_counter(), time.process_time()
    for _ in range(count):
        params, value = step(params, x, labels)
    float(value)
    return time.perf_counter() - clock, time.process_time() - start


def main():
    if sys.argv[1:2] == ["--program"]:
        step, arguments = perceptron()
        with open(sys.argv[2], "w") as file:
            file.write(step.lower(*arguments).as_text())
        return
    print(f"import: {IMPORT:.2f} s")
    print(f"a small call: {1e6 * calls():.1f} us")
    clock, own = steps()
    print(f"1,000 training steps: {clock:.2f} s by the clock, {own:.2f} s of Python's")
    try:
        lower = lowering()
    except ImportError as error:
        print(f"tracing and lowering: {error}")
        return
    lower()
    print(f"tracing and lowering: {best(lower, 3):.2f} s")


if __name__ == "__main__":
    main()
