"""Modules that are compiled in MLIR's package; here they are Python."""
