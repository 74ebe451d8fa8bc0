"""Real XLA:CPU for the fuzzer: one process that answers many programs.

On stdin and stdout, messages are a little-endian u32 length and that many bytes of JSON:

    {"hlo": text, "replicas": n, "inputs": [[[shape, base64], ...] of each replica]}
    {"outputs": [[[shape, base64], ...] of each replica]} or {"error": text}

Shapes and bytes are as tests/golden/README.md has them.
"""

import base64
import json
import os
import re
import struct
import sys

# The specification speaks of operations, so XLA shall run those that are written: the algebraic
# simplifier makes sqrt(x) * sqrt(x) x, drops the initial value of a reduction of one element and
# has 0 for the integers 100 / 10^2; the constant folder forgets signs of zeros. And by default XLA
# may keep in f32 what lies between two operations in bf16. Without the simplifier, dots that
# YNNPACK fuses have other, wrong results in each run, such as attention of 40 queries over 131
# keys. The last two only save time.
os.environ.setdefault('GOLDEN_XLA_FLAGS', ' '.join([
    '--xla_allow_excess_precision=false',
    '--xla_disable_hlo_passes=algsimp,simplification,constant_folding',
    '--xla_cpu_experimental_ynn_fusion_type=',
    '--xla_backend_optimization_level=0',
    '--xla_cpu_parallel_codegen_split_count=1',
]))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'golden'))

import numpy as np  # noqa: E402

import harness  # noqa: E402

NARROW = {'s2': np.int8, 's4': np.int8, 'u2': np.uint8, 'u4': np.uint8}


def decode(shape, data):
  type_, dims = re.fullmatch(r'(\w+)\[([\d,]*)\]', shape).groups()
  dims = [int(d) for d in dims.split(',') if d]
  dtype = harness.DTYPES[type_]
  flat = np.frombuffer(base64.b64decode(data), NARROW.get(type_, dtype))
  return flat.astype(dtype).reshape(dims)


def answer(request):
  inputs = [[decode(*leaf) for leaf in row] for row in request['inputs']]
  results = harness.run(request['hlo'], inputs, request['replicas'], check=False)
  return {'outputs': [[[harness.shape_of(x), harness.encode(x)] for x in row] for row in results]}


def main():
  requests = sys.stdin.buffer
  replies = os.fdopen(os.dup(1), 'wb')
  os.dup2(2, 1)  # whatever else is printed must not come between the messages
  while header := requests.read(4):
    request = json.loads(requests.read(struct.unpack('<I', header)[0]))
    try:
      reply = answer(request)
    except Exception as error:  # a refusal is an answer too
      reply = {'error': f'{type(error).__name__}: {error}'}
    data = json.dumps(reply).encode()
    replies.write(struct.pack('<I', len(data)) + data)
    replies.flush()


main()
