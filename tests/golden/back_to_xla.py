#!/usr/bin/env python3
"""Runs what toProto() makes of every golden case on real XLA, and compares with the stored results.

    build/venv/bin/python tests/golden/back_to_xla.py [family...]

A check of development time, which needs a build and Node. README.md says how it went last.
"""

import base64
import collections
import os
import re
import subprocess
import sys

import harness
import jax
import numpy as np
from jaxlib import _hlo, _jax

HERE = os.path.dirname(os.path.abspath(__file__))


def stored(family):
  """{ case: (text, replicas, partitions, inputs, outputs) }, these by device: [(shape, base64)]."""
  cases = {}
  with open(os.path.join(HERE, f'{family}.golden'), 'rb') as file:
    data = file.read()
  starts = re.finditer(rb'^case (.*)\n((?:\w+ .*\n)*?)hlo (\d+)\n', data, re.M)
  for case in starts:
    counts = dict(re.findall(r'^(replicas|partitions) (\d+)', case[2].decode(), re.M))
    tail = data[case.end() + int(case[3]):]
    tail = tail[:tail.index(b'end\n')].decode()
    leaves = {'in': collections.defaultdict(list), 'out': collections.defaultdict(list)}
    for kind, device, shape, content in re.findall(r'^(in|out) (\d+) (\S+) ?(\S*)$', tail, re.M):
      leaves[kind][int(device)].append((shape, content))
    sizes = [int(counts.get(name, 1)) for name in ('replicas', 'partitions')]
    text = data[case.end():case.end() + int(case[3])].decode()
    cases[case[1].decode()] = (text, *sizes, leaves['in'], leaves['out'])
  return cases


def array(shape, content):
  name, sizes = re.match(r'(\w+)\[([^\]]*)\]', shape).groups()
  dims = [int(size.replace('<=', '')) for size in sizes.split(',') if size]
  dtype = np.dtype(harness.DTYPES[name])
  data = base64.b64decode(content)
  if name in ('s2', 's4', 'u2', 'u4'):
    return np.frombuffer(data, np.int8 if name[0] == 's' else np.uint8).reshape(dims).astype(dtype)
  return np.frombuffer(data, dtype).reshape(dims)


def same(got, leaf):
  """The same bits, or both NaN; of floats, near enough for a program that was ordered otherwise."""
  want = array(*leaf)
  if got.tobytes() == want.tobytes():
    return True
  if got.shape != want.shape or np.dtype(got.dtype).kind in 'iub':
    return False
  wide = np.complex128 if got.dtype.kind == 'c' else np.float64
  return np.allclose(got.astype(wide), want.astype(wide), rtol=1e-4, atol=1e-5, equal_nan=True)


def check(proto, case):
  """What is wrong, or None. Raises what XLA does."""
  _, replicas, partitions, inputs, outputs = case
  count = replicas * partitions
  arguments = [[array(*leaf) for leaf in inputs[device]] for device in range(count)]
  results = harness.run(proto, arguments, replicas, partitions)
  for device in range(count):
    if len(results[device]) != len(outputs[device]):
      return f'{len(results[device])} results'
    for i, (got, leaf) in enumerate(zip(results[device], outputs[device])):
      if not same(got, leaf):
        return f'device {device}, result {i} differs'
  return None


def is_refused_anyway(text, case):
  """Whether XLA refuses its own proto of the text, too."""
  try:
    check(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto(), case)
    return False
  except Exception:  # whatever XLA says
    return True


def main(families):
  harness.to_stablehlo = lambda proto, check: _jax.mlir.hlo_to_stablehlo(proto)
  jax.numpy.linalg.eigvals(np.eye(2))  # LAPACK's custom calls are there once one was used
  command = ['node', os.path.join(HERE, 'back_to_xla.mjs'), *families]
  node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
  tally = collections.Counter()
  cases, current = {}, None
  for line in node.stdout:
    family, proto, name = line.rstrip('\n').split(' ', 2)
    if family != current:
      cases, current = stored(family), family
      print(dict(tally), family, flush=True)
    try:
      problem = check(base64.b64decode(proto), cases[name])
      kind = 'differs' if problem else 'same'
    except Exception as error:  # whatever XLA says
      problem = str(error).split('\n')[0][:300]
      kind = 'refused anyway' if is_refused_anyway(cases[name][0], cases[name]) else 'refused'
    tally[kind] += 1
    if problem and kind != 'refused anyway':
      print(f'{kind}: {family} {name}: {problem}', flush=True)
  print(dict(tally))


main(sys.argv[1:])
