"""Kernels for GPUs, which this package has none of: all modules of jaxlib for them are this one."""


class GpuLibNotLinkedError(Exception):
    """Raised when the GPU library is not linked."""

    error_msg = (
        "JAX was not built with GPU support. Please use a GPU-enabled JAX to use"
        " this function."
    )

    def __init__(self):
        super().__init__(self.error_msg)


def registrations():
    """Returns the custom calls by platform."""
    return {"CUDA": [], "ROCM": []}


def batch_partitionable_targets():
    return []


def initialize_hybrid_kernels():
    """Does nothing."""


def has_magma():
    return False


def _missing(*args, **kwargs):
    raise GpuLibNotLinkedError()


_cusparse = _hipsparse = None
compute_rnn_workspace_reserve_space_sizes = _missing
cudnn_rnn_lowering = cudnn_rnn_bwd_lowering = _missing
miopen_rnn_lowering = miopen_rnn_bwd_lowering = _missing
