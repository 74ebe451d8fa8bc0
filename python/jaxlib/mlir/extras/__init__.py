"""Additions of MLIR's package that JAX does not need."""
