#!/usr/bin/env python3
"""Writes tests/golden/dialects.gz: JAX programs of stablehlo.gz in other dialects, as MLIR bytecode.

Uncompressed, it is a sequence of programs: a line `<family> <case> <form> <bytes>`, then as many bytes. Forms:

  mhlo    by XLA's own passes
  arith   with arith's constants

A program is kept if one of its operations, with its set of attributes, is not in a program before it.
"""

import gzip
import io
import os
import re
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import mhlo

HERE = os.path.dirname(os.path.abspath(__file__))
TO_MHLO = 'builtin.module(func.func(chlo-legalize-to-hlo),stablehlo-legalize-to-hlo)'


def programs():
  data = gzip.open(os.path.join(HERE, 'stablehlo.gz')).read()
  at = 0
  while at < len(data):
    end = data.index(b'\n', at)
    family, case, form, size = data[at:end].decode().split(' ')
    at = end + 1 + int(size)
    if form == 'text':
      yield family, case, data[end + 1:at].decode()


def operations(module):
  found = set()

  def see(operation):
    found.add((operation.name, tuple(sorted(operation.attributes))))
    return ir.WalkResult.ADVANCE

  module.operation.walk(see)
  return found


def bytecode(module):
  out = io.BytesIO()
  module.operation.write_bytecode(out)
  return out.getvalue()


def with_arith(text):
  """Constants of arith's, which has no complex ones."""
  return re.sub(r'stablehlo\.constant(?= dense<[^<>]*> : tensor<[\dx]*[fi]\d+>)', 'arith.constant', text)


def forms(text, everything):
  """Gives the forms in which the program is to be kept."""
  with mlir.make_ir_context():
    module = ir.Module.parse(text)
    arith = ir.Module.parse(with_arith(text))
    names = {(f'{name} {attributes}') for name, attributes in operations(arith) if name.startswith('arith')}
    if names - everything or ALL:
      everything |= names
      yield 'arith', bytecode(arith)
    passmanager.PassManager.parse(TO_MHLO).run(module.operation)
    names = {f'{name} {attributes}' for name, attributes in operations(module) if name.startswith('mhlo')}
    if names - everything or ALL:
      everything |= names
      yield 'mhlo', bytecode(module)


ALL = '--all' in sys.argv


def main():
  mhlo.register_mhlo_passes()
  everything, parts, refused = set(), [], 0
  for family, case, text in programs():
    try:
      kept = [*forms(text, everything)]
    except Exception as error:  # pylint: disable=broad-except
      if ALL:
        print(family, case, error)
      refused += 1  # what the passes cannot say in MHLO
      continue
    parts += [f'{family} {case} {form} {len(data)}\n'.encode() + data for form, data in kept]
  path = '/tmp/dialects_all.gz' if ALL else os.path.join(HERE, 'dialects.gz')
  with open(path, 'wb') as out:
    out.write(gzip.compress(b''.join(parts), 9, mtime=0))
  print(f'{path}: {len(parts)} programs, {os.path.getsize(path)} bytes; {refused} refused')


if __name__ == '__main__':
  main()
