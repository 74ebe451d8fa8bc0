"""Refinement of unknown sizes by those of the arguments of a main function."""


def refine(module, enable_shape_assertions, validate_static_shapes):
    """Returns the module as bytes; the core finds the sizes and checks the assertions itself."""
    return module._text().encode("utf-8", "surrogateescape")
