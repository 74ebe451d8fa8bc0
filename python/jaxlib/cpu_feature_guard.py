"""The check of the processor: this package has no compiled part, so every processor will do."""


def check_cpu_features():
    """Does nothing."""
