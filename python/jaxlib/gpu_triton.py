"""Triton kernels for GPUs: this package has none."""
