"""Programs of other runtimes (plugins, Python on remote hosts): only HLO programs exist here."""

from .errors import unavailable


class Program:
    """A program; `text` is its MLIR module, as text or bytecode."""

    def __init__(self, text):
        self.text = text


class CompileOptions:
    """Options of compilation; `options` are those of XLA."""

    def __init__(self, options=None, devices=(), host_callbacks=()):
        self.options = options
        self.devices = devices
        self.host_callbacks = host_callbacks


def make_hlo_program(mlir_module):
    return Program(mlir_module)


def make_xla_compile_options(options, executable_devices, host_callbacks):
    return CompileOptions(options, executable_devices, host_callbacks)


def make_colocated_python_program(*args, **kwargs):
    raise unavailable("Python on remote hosts")


def make_colocated_python_compile_options():
    raise unavailable("Python on remote hosts")


def make_plugin_program(data):
    raise unavailable("A program of a plugin")


def make_plugin_compile_options():
    raise unavailable("A program of a plugin")
