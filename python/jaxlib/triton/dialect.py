"""Stands for the dialect of Triton."""

from .._absent import absent_names

__getattr__ = absent_names(__name__)
