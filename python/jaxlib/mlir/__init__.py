"""MLIR in pure Python, as far as JAX's lowering uses it."""
