"""Programs of other runtimes (plugins, Python on remote hosts): only HLO programs run here."""

from .errors import status_error, unavailable


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


def make_colocated_python_program(name, pickled_function, devices, input_avals, output_avals, /):
    return None


def make_colocated_python_compile_options():
    return CompileOptions()


def load(client, program, options):
    """Compiles an HLO program. JAX takes the error for others as PJRT's, and calls their Python."""
    if not isinstance(program, Program):
        raise status_error("INVALID_ARGUMENT", "PjRtCompiler requires an HloProgram")
    return client.compile_and_load(
        program.text, options.devices, options.options, options.host_callbacks)


def make_plugin_program(data):
    raise unavailable("A program of a plugin")


def make_plugin_compile_options():
    raise unavailable("A program of a plugin")
