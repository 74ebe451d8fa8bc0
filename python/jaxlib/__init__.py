"""jaxlib in pure Python, on xla-wasm."""

from .version import __version__ as __version__
