"""The version: that of the JAX release which this package serves, with a local label."""

_version = "0.10.2"
_label = "xla.wasm"
__version__ = f"{_version}+{_label}"
__version_info__ = tuple([int(part) for part in _version.split(".")])
_minimum_jaxlib_version = "0.10.1"
_minimum_jaxlib_version_info = (0, 10, 1)
_release_version = __version__
_git_hash = None
