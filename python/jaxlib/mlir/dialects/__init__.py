"""Dialects, a module each."""
