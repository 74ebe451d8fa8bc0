#!/usr/bin/env python3
"""Runs a module through PJRT: what `xla-wasm run MODULE --on pjrt` starts. Needs jax, nothing else.

usage: pjrt.py FOLDER

FOLDER/run.json says what to run: { module: a file of a serialized HloModuleProto, replicas,
partitions, inputs: for each device in order a list of { type, dims, file }, coordinator, process,
processes, platform }. Results go to FOLDER/results.json and files beside it, in the same form; of
several processes, each writes those of its own devices.
"""

import json
import os
import sys


def main(folder):
  with open(os.path.join(folder, 'run.json'), encoding='utf8') as file:
    job = json.load(file)
  count = job['replicas'] * job['partitions']
  processes = job.get('processes') or 1
  flags = os.environ.get('XLA_FLAGS', '')
  if 'device_count' not in flags:  # on a CPU, as many devices as are wanted
    local = -(-count // processes)
    os.environ['XLA_FLAGS'] = f'{flags} --xla_force_host_platform_device_count={local}'
  try:
    import jax
  except ImportError:
    sys.exit('jax is not installed for this Python: pip install jax, or name another in PYTHON')
  if processes > 1:
    jax.config.update('jax_cpu_collectives_implementation', 'gloo')
    jax.distributed.initialize(job['coordinator'], processes, job['process'])
  jax.config.update('jax_enable_x64', True)
  results = run(jax, job, folder, count)
  write(folder, results)


def run(jax, job, folder, count):
  """{ device number: its results }, for the devices of this process."""
  from jaxlib import _jax
  from jaxlib import xla_client as xc
  from jax.sharding import Mesh, NamedSharding, PartitionSpec
  import numpy as np
  devices = jax.devices(job['platform']) if job.get('platform') else jax.devices()
  if len(devices) < count:
    sys.exit(f'the module needs {count} devices; here are {len(devices)} ({devices[0].platform})')
  devices = devices[:count]
  with open(os.path.join(folder, job['module']), 'rb') as file:
    bytecode = _jax.mlir.hlo_to_stablehlo(file.read())
  options = xc.CompileOptions()
  grid = np.array([d.id for d in devices], dtype=np.int32)
  assignment = xc.DeviceAssignment.create(grid.reshape(job['replicas'], job['partitions']))
  for o in (options, options.executable_build_options):
    o.num_replicas, o.num_partitions, o.device_assignment = job['replicas'], job['partitions'], assignment
  # What each partition does is stated, {manual}: the partitioner has nothing to add.
  options.executable_build_options.use_spmd_partitioning = job['partitions'] > 1
  client = devices[0].client
  own = [d for d in devices if d.process_index == jax.process_index()]
  executable = client.compile_and_load(bytecode, xc.DeviceList(tuple(devices)), options)
  # "Replicated" is not checked: each device holds its own argument.
  sharding = NamedSharding(Mesh(np.array(devices), ('device',)), PartitionSpec())
  arguments = []
  for i in range(len(job['inputs'][0])):
    shards = [jax.device_put(read(folder, job['inputs'][devices.index(d)][i]), d) for d in own]
    arguments.append(jax.make_array_from_single_device_arrays(shards[0].shape, sharding, shards))
  leaves = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
  return {devices.index(d): [np.asarray(leaf[i]) for leaf in leaves] for i, d in enumerate(own)}


def types():
  import ml_dtypes
  import numpy as np
  plain = {'pred': np.bool_, 'c64': np.complex64, 'c128': np.complex128, 'bf16': ml_dtypes.bfloat16}
  for bits in (8, 16, 32, 64):
    plain[f's{bits}'], plain[f'u{bits}'] = np.dtype(f'int{bits}'), np.dtype(f'uint{bits}')
  for bits in (16, 32, 64):
    plain[f'f{bits}'] = np.dtype(f'float{bits}')
  for name in dir(ml_dtypes):
    if name.startswith('float8_'):
      plain['f8' + name[len('float8_'):]] = getattr(ml_dtypes, name)
  return {name: np.dtype(kind) for name, kind in plain.items()}


def read(folder, leaf):
  import numpy as np
  path = os.path.join(folder, leaf['file'])
  return np.fromfile(path, dtype=types()[leaf['type']]).reshape(leaf['dims'])


def write(folder, results):
  names = {kind: name for name, kind in types().items()}
  said = {}
  for device, leaves in results.items():
    said[device] = []
    for i, leaf in enumerate(leaves):
      file = f'result.{device}.{i}.bin'
      leaf.tofile(os.path.join(folder, file))
      said[device].append({'type': names[leaf.dtype], 'dims': list(leaf.shape), 'file': file})
  with open(os.path.join(folder, 'results.json'), 'w', encoding='utf8') as out:
    json.dump(said, out)


main(sys.argv[1])
