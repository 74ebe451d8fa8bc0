"""Pallas' dialect of Triton, which this package does not have."""
