"""Conversions between MLIR modules, their bytes and HLO."""

from jaxlib.mlir import ir


def _module(source):
    return source if isinstance(source, ir.Module) else ir.Module.parse(source)


def mlir_module_to_xla_computation(mlir_module, use_tuple_args=False, return_tuple=False):
    """Returns the HLO of a module, given as text or bytes."""
    text = _module(mlir_module).operation.get_asm(binary=True, enable_debug_info=True)
    from jaxlib._hlo import XlaComputation  # which imports jaxlib._jax

    return XlaComputation(text)


def xla_computation_to_mlir_module(computation):
    raise NotImplementedError("xla_computation_to_mlir_module: this jaxlib reads HLO, but writes "
                              "no StableHLO of it; compile the computation itself")


def hlo_to_stablehlo(computation):
    raise NotImplementedError("hlo_to_stablehlo: this jaxlib reads HLO, but writes no StableHLO "
                              "of it; compile the computation itself")


def mhlo_to_stablehlo(mlir_module):
    """Returns a module with the operations of MHLO renamed to StableHLO's."""
    module = ir.Module.parse(str(_module(mlir_module)))
    for operation in module.operation._nested():
        if operation._name.startswith("mhlo."):
            operation._name = f"stablehlo.{operation._name[5:]}"
    return module.operation.get_asm(binary=True)


def serialize_portable_artifact(mlir_module, target, use_mixed_serialization=False):
    """Returns the module as MLIR bytecode in VHLO of the version `target`."""
    from jaxlib.mlir._ir.portable import serialize
    if not isinstance(mlir_module, (ir.Module, bytes, str)):
        raise TypeError("mlir_module must be bytes, str, or MlirModule")
    return serialize(_module(mlir_module), target)


def deserialize_portable_artifact(mlir_module, context=None):
    """Returns the module of a portable artifact."""
    from jaxlib.mlir._ir.portable import deserialize
    return deserialize(mlir_module)


def refine_polymorphic_shapes(mlir_module, enable_shape_assertions=True,
                              validate_static_shapes=True, enable_shardy=False):
    """Returns a module whose sizes follow from those of the arguments of its main function."""
    from jaxlib.mlir._ir.refinement import refine
    return refine(_module(mlir_module), enable_shape_assertions, validate_static_shapes)
