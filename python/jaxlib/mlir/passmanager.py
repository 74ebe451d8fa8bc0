"""Passes over modules, by their names in MLIR's pipelines."""

from ._ir.passes import PassManager  # noqa: F401
