#!/usr/bin/env python3
"""Writes tests/golden/*.golden by asking real XLA:CPU. `generate.py [family...]`; none means all."""

import importlib
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from corpus import FAMILIES, HERE, Family  # noqa: E402

MODULES = sorted(name[:-3] for name in os.listdir(HERE)
                 if name.startswith('family_') and name.endswith('.py'))


def main(wanted):
  for module in MODULES:
    importlib.import_module(module)
  unknown = [name for name in wanted if name not in FAMILIES]
  if unknown:
    sys.exit(f'no family {", ".join(unknown)}; there are {", ".join(sorted(FAMILIES))}')
  for name in wanted or sorted(FAMILIES):
    start = time.time()
    f = Family(name)
    FAMILIES[name](f)
    f.write()
    print(f'{"":24} {time.time() - start:.1f} s, {len(f.failures)} refused', flush=True)


if __name__ == '__main__':
  main(sys.argv[1:])
