"""Chains of tests/fuzz/slopes.py, which meet zeros and ties: (name, function, arguments, the function that is lowered).

The first form of a chain is differentiated by JAX, the second one is the program. Their slopes are finite.
"""

import os
import sys

import jax
import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'fuzz'))

from slopes import make_chain  # noqa: E402

SEEDS = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 18, 19, 20, 21, 22, 23, 24,
    25, 26, 27, 28, 29, 32, 33, 34, 35, 36, 38, 39, 40, 41, 42, 44, 46, 48, 49, 50,
    51, 52, 53, 54, 55, 57, 58, 59, 61, 62, 64, 67, 68, 69, 70, 71, 73, 74, 75, 76,
]


def chain_cases():
  for seed in SEEDS:
    chain, _ = make_chain(seed)
    name = '; '.join(' '.join(step[0].split()[:2]) for step in chain.steps)
    yield f'chain {seed}: {name}', jax.jit(chain.function(1)), tuple(np.array(x) for x in chain.arguments), chain.function(0)
