#!/usr/bin/env python3
"""Writes tests/golden/cpu_targets.json: the custom calls that jaxlib registers for the CPU, and an approximate top k
of symbolic k and one whose candidates are not aggregated (base64 of jax.export's file, what it gives)."""

import base64
import json
import os

import jax
import numpy as np
from jax import export
from jaxlib.cpu import _lapack, _sparse

from corpus import HERE


def approximate():
  size, = export.symbolic_shape('b', constraints=['b>=4'])
  x = np.array([[3, 4, 1, 2, 0, 9, 7, 5], [8, -1, 6, 2, 3, 1, 0, 10]], np.float32)
  for name, f, x in (('max', lambda x: jax.lax.approx_max_k(x, size - 3), x),
                     ('min', lambda x: jax.lax.approx_min_k(x, size - 3), x),
                     ('half', lambda x: jax.lax.approx_max_k(x, size // 2, reduction_dimension=0), x.T)):
    shape = [size if n == 8 else n for n in x.shape]
    checks = [export.DisabledSafetyCheck.custom_call('stablehlo.dynamic_approx_top_k')]
    program = export.export(jax.jit(f), disabled_checks=checks)(jax.ShapeDtypeStruct(shape, np.float32))
    yield {'name': name, 'file': base64.b64encode(program.serialize()).decode(), 'argument': x.tolist(),
           'results': [np.asarray(r).tolist() for r in program.call(x)]}
  x = np.random.RandomState(0).permutation(260).astype(np.float32).reshape(1, 260)
  f = jax.jit(lambda x: jax.lax.approx_max_k(x, 3, recall_target=0.5, aggregate_to_topk=False))
  program = export.export(f, disabled_checks=[export.DisabledSafetyCheck.custom_call('ApproxTopK')])(x)
  yield {'name': 'not aggregated', 'file': base64.b64encode(program.serialize()).decode(), 'argument': x.tolist(),
         'results': [np.asarray(r).tolist() for r in f(x)]}


def main():
  targets = sorted([*_lapack.registrations(), *_sparse.registrations()])
  with open(os.path.join(HERE, 'cpu_targets.json'), 'w') as out:
    json.dump({'targets': targets, 'approximate': list(approximate())}, out, indent=1)
    out.write('\n')


if __name__ == '__main__':
  main()
