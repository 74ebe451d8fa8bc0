"""Writes programs that frameworks export, with arguments and results, to NAME.gz beside this file.

Uncompressed, it is a sequence of parts: a line `<program> <part> <bytes>`, then as many bytes. Parts:
`program`, in whatever form the framework writes it; `argument:<type>[<sizes>]` and
`result:<type>[<sizes>]`, in order, row-major and little-endian. A program's name that ends in "-any"
has unknown sizes, and is read for those of its arguments.
"""

import gzip
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {'bool': 'pred', 'bfloat16': 'bf16', 'complex64': 'c64', 'complex128': 'c128'}


def type_name(dtype):
  name = str(dtype)
  return TYPES.get(name) or name.replace('uint', 'u').replace('int', 's').replace('float', 'f')


class Writer:
  """Collects the programs of one file."""

  def __init__(self):
    self.parts = []

  def add(self, name, program, arguments, results):
    self.part(name, 'program', program)
    for kind, arrays in (('argument', arguments), ('result', results)):
      for array in map(np.asarray, arrays):
        sizes = ','.join(map(str, array.shape))
        self.part(name, f'{kind}:{type_name(array.dtype)}[{sizes}]', array.tobytes())

  def part(self, name, kind, data):
    self.parts.append(f'{name} {kind} {len(data)}\n'.encode() + data)

  def write(self, file):
    path = os.path.join(HERE, file)
    with open(path, 'wb') as out:
      out.write(gzip.compress(b''.join(self.parts), 9, mtime=0))
    print(f'{file}: {len(self.parts)} parts, {os.path.getsize(path)} bytes')
