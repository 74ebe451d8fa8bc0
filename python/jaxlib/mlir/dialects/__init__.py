"""Dialects, a module each."""

from ..._absent import absent_modules

absent_modules("".join([f"{__name__}.{name} " for name in (
    "gpu", "llvm", "nvgpu", "nvvm", "sparse_tensor", "_gpu_ops_gen")]))
