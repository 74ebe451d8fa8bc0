"""Errors of the runtime: `JaxRuntimeError` and the status codes that it carries."""

# ORDER STATUS
CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
UNKNOWN = CODES.index("UNKNOWN")


class JaxRuntimeError(RuntimeError):
    """Runtime errors thrown by the JAX runtime.

    While the JAX runtime may raise other exceptions as well, most exceptions
    thrown by the runtime are instances of this class.
    """

    def __init__(self, msg=None, code=None):
        self.error_message = "" if msg is None else str(msg)
        self.error_code = UNKNOWN if code is None else int(code)
        super().__init__(self.error_message)

    @property
    def error_code_string(self):
        return CODES[self.error_code] if 0 <= self.error_code < len(CODES) else "UNKNOWN"


def status_error(code, message):
    """Returns the error of a status: its code's name, then the message."""
    return JaxRuntimeError(f"{code}: {message}", CODES.index(code))


def unavailable(what):
    """Returns the error of a feature that this package leaves out; `what` is its subject."""
    return status_error("UNIMPLEMENTED", f"{what} cannot be had in jaxlib on xla-wasm.")
