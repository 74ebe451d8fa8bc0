"""Pallas' dialects for TPUs and GPUs, which this package does not have."""
