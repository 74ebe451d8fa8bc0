#!/usr/bin/env python3
"""Writes tests/golden/protos.txt: serialized HloModuleProtos of golden cases, by real XLA.

A line a proto: family, case, base64. Of all cases, those that say something which none before them
says: an operation with an attribute, an element type of a constant, a word of the module's header.
"""

import base64
import glob
import os
import re

from jaxlib import _hlo

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_BYTES = 20000  # of a proto


def cases(path):
  """(name, HLO text) of each case; README.md has the format."""
  with open(path, 'rb') as file:
    data = file.read()
  for case in re.finditer(rb'^case (.*)\n(?:\w+ .*\n)*?hlo (\d+)\n', data, re.M):
    yield case[1].decode(), data[case.end():case.end() + int(case[2])].decode()


def features(text):
  found = set(re.findall(r'(\w+)=', text.split('\n', 1)[0]))
  for type_, opcode, rest in re.findall(r'= \(?(\w+)\[.*? ([a-z-]+)\((.*)', text):
    found.add((opcode, type_) if opcode == 'constant' else opcode)
    found.update((opcode, name) for name in re.findall(r', ([\w-]+)=', rest))
  return found


def main():
  seen = set()
  lines = []
  for path in sorted(glob.glob(os.path.join(HERE, '*.golden'))):
    family = os.path.basename(path)[:-len('.golden')]
    for name, text in cases(path):
      new = features(text) - seen
      if not new or re.match(r'[^\n]*\b(replica_count|num_partitions)=', text):  # these are not in a proto
        continue
      proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
      if len(proto) <= MOST_BYTES:
        seen |= new
        lines.append(f'{family} {name} {base64.b64encode(proto).decode()}\n')
  with open(os.path.join(HERE, 'protos.txt'), 'w') as out:
    out.writelines(lines)
  print(f'protos.txt: {len(lines)} protos, {sum(map(len, lines))} bytes')


if __name__ == '__main__':
  main()
