"""Stands for the dialect of Pallas on TPUs; all that is asked of it is an error."""


def __getattr__(name):
    raise AttributeError(f"{__name__}.{name}: this jaxlib compiles for the CPU of xla-wasm; Pallas "
                         "kernels for TPUs cannot be lowered (interpret=True runs them)")
