"""jaxlib in pure Python, on xla-wasm."""

import sys

from . import gpu_common_utils
from ._absent import absent_modules
from .version import __version__ as __version__

for _name in ("linalg", "prng", "rnn", "solver", "sparse", "triton"):
    sys.modules[f"jaxlib.gpu_{_name}"] = gpu_common_utils
    globals()[f"gpu_{_name}"] = gpu_common_utils
absent_modules(
    "jaxlib.triton jaxlib.triton.dialect jaxlib.mosaic jaxlib.mosaic.python "
    "jaxlib.mosaic.python.tpu jaxlib.mosaic.python.mosaic_gpu")
