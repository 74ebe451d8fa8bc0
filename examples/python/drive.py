"""Runs a program by xla-wasm's command line, and reads the results. It needs no package of Python's."""

import json
import math
import subprocess

COMMAND = ['npx', 'xla-wasm']


def number(value):
  """JSON has no nan and no inf: they are strings."""
  return float(value)


def run(module, replicas=1, **arguments):
  """Returns each device's results, as lists of (shape, flat values)."""
  inputs = [part for name, value in arguments.items() for part in ('--input', f'{name}={json.dumps(value)}')]
  command = [*COMMAND, 'run', module, '--json', '--replicas', str(replicas), *inputs]
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode:
    raise RuntimeError(done.stderr.strip())
  devices = [json.loads(line) for line in done.stdout.splitlines()]
  return [[(output['shape'], [number(x) for x in output['data']]) for output in device['outputs']]
          for device in devices]


[[(shape, values)]] = run('power.hlo', base=[2, 10, -1], exponent=[10, 400, 0.5])
print(shape, values)
assert values[0] == 1024 and values[1] == math.inf and math.isnan(values[2])

print(len(run('power.hlo', replicas=4, base=[1, 2, 3], exponent=[2, 2, 2])), 'devices')

try:
  run('power.hlo', base=[1, 2, 3])
except RuntimeError as error:
  print(error)
