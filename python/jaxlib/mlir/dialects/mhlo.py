"""Dialect mhlo: operations and attributes that StableHLO has as well."""

from .._ir.structs import define_enumerations, define_structures
from .._ir.views import define_dialect
from .stablehlo import ENUMERATIONS, STRUCTURES, TABLE

define_dialect("mhlo", globals(), TABLE)

define_structures("mhlo", globals(), STRUCTURES)
define_enumerations("mhlo", globals(), ENUMERATIONS)


def register_mhlo_dialect(context, load=True):
    """Does nothing: all dialects are always known."""


def register_mhlo_passes():
    """Does nothing: there are no passes of this dialect."""
