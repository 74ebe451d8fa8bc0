"""Native XLA:CPU on one thread, for against_native.mjs: a line of JSON in, a line of JSON out.

    native.py FOLDER    NAME.hlo and NAME.json are there

    {"prepare": NAME, "folder": DIR}  draws NAME's inputs, runs it; writes NAME.inI.npy, NAME.outI.npy
    {"round": MS, "clock": "wall"}    runs the prepared program for MS; milliseconds per call, of
                                      the wall or of the processor ("cpu")
"""
import json
import os
import pathlib
import sys
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'
os.environ['JAX_PLATFORMS'] = 'cpu'

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jaxlib import _hlo, _jax  # noqa: E402
from jaxlib import xla_client as xc  # noqa: E402

jax.config.update('jax_enable_x64', True)

FOLDER = pathlib.Path(sys.argv[1])
CLOCKS = {'wall': time.perf_counter, 'cpu': time.process_time}
DTYPES = {
    'pred': np.bool_, 'f16': np.float16, 'f32': np.float32, 'f64': np.float64, 'bf16': ml_dtypes.bfloat16,
    'c64': np.complex64, 'c128': np.complex128, 'f8e5m2': ml_dtypes.float8_e5m2,
    'f8e4m3fn': ml_dtypes.float8_e4m3fn,
    **{f'{kind}{bits}': np.dtype(f'{name}{bits}')
       for bits in (8, 16, 32, 64) for kind, name in (('s', 'int'), ('u', 'uint'))},
}


def draw(spec, random):
    """One parameter's numbers; export.py has the specifications."""
    shape, scale, shift = spec['shape'], spec['scale'], spec['shift']
    if spec['draw'] == 'normal':
        numbers = random.standard_normal(shape) * scale + shift
        if spec['dtype'] in ('c64', 'c128'):
            numbers = numbers + 1j * random.standard_normal(shape) * scale
    elif spec['draw'] == 'uniform':
        numbers = random.random(shape) * scale + shift
    elif spec['draw'] == 'integers':
        numbers = random.integers(int(shift), int(shift) + int(scale), shape)
    else:
        numbers = np.full(shape, scale)
    return np.asarray(numbers).astype(DTYPES[spec['dtype']])


def save(path, array):
    """Writes .npy; types that NumPy lacks are raw bytes."""
    array = np.asarray(array, order='C')  # ascontiguousarray would give a scalar a dimension
    own = array.dtype.kind in 'biufc' and array.dtype.itemsize > 1 or array.dtype.kind in 'biu'
    np.save(path, array if own else array.view(f'V{array.dtype.itemsize}'))


class Program:

    def __init__(self, name, folder):
        text = (FOLDER / f'{name}.hlo').read_text()
        specs = json.loads((FOLDER / f'{name}.json').read_text())
        random = np.random.default_rng(0)
        inputs = [draw(spec, random) for spec in specs]
        for i, array in enumerate(inputs):
            save(f'{folder}/{name}.in{i}.npy', array)
        client = jax.devices()[0].client
        module = _hlo.hlo_module_from_text(text)
        mlir = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
        devices = xc.DeviceList(tuple(client.devices()[:1]))
        start = time.perf_counter()
        self.executable = client.compile_and_load(mlir, devices, xc.CompileOptions())
        self.compile_ms = (time.perf_counter() - start) * 1e3
        self.inputs = [jax.device_put(x) for x in inputs]
        for i, array in enumerate(self.run()):
            save(f'{folder}/{name}.out{i}.npy', np.asarray(array))

    def run(self):
        sharded = self.executable.execute_sharded(self.inputs)
        arrays = [shards[0] for shards in sharded.disassemble_into_single_device_arrays()]
        return jax.block_until_ready(arrays)

    def round(self, milliseconds, now):
        calls, start = 0, now()
        while calls == 0 or (now() - start) * 1e3 < milliseconds:
            self.run()
            calls += 1
        return (now() - start) * 1e3 / calls


# LAPACK's functions are looked up at their first use by jax itself.
jax.block_until_ready(jax.numpy.linalg.cholesky(jax.numpy.eye(2)))

program = None
for line in sys.stdin:
    request = json.loads(line)
    try:
        if 'prepare' in request:
            program = Program(request['prepare'], request['folder'])
            stats = program.executable.get_compiled_memory_stats()
            reply = {'compileMs': program.compile_ms, 'temporaries': stats.temp_size_in_bytes}
        else:
            reply = {'ms': program.round(request['round'], CLOCKS[request.get('clock', 'wall')])}
    except Exception as error:  # told, and the next program goes on
        reply = {'error': f'{type(error).__name__}: {str(error)[:300]}'}
    print(json.dumps(reply), flush=True)
