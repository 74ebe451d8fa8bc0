"""The error of a missing GPU library."""


class GpuLibNotLinkedError(Exception):
    """Raised when the GPU library is not linked."""

    error_msg = (
        "JAX was not built with GPU support. Please use a GPU-enabled JAX to use"
        " this function."
    )

    def __init__(self):
        super().__init__(self.error_msg)
