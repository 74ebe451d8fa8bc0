"""Runs programs on real XLA:CPU for sums.mjs: each line of its input is a request, and each answer a line."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'golden'))

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import harness  # noqa: E402

TYPES = {'f32': np.float32, 'f64': np.float64, 'c64': np.complex64, 'c128': np.complex128,
         'bf16': ml_dtypes.bfloat16, 'f16': np.float16}

for line in sys.stdin:
  request = json.loads(line)
  operand = np.fromfile(request['folder'] + '/operand', dtype=TYPES[request['type']])
  results = harness.run(request['text'], [[operand.reshape(request['dims'])]], check=False)
  np.ascontiguousarray(results[0][request['result']]).tofile(request['folder'] + '/result')
  print('done', flush=True)
