"""Programs over several meshes, which this package does not run."""


def __getattr__(name):
    raise AttributeError(f"jaxlib._sdy_mpmd.{name}: programs of several processes and meshes "
                         "(MPMD) do not run on xla-wasm")
