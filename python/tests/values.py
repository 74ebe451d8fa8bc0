"""Writes values.json, the values of jax_test.py's functions on the real jaxlib.

    build/venv/bin/python python/tests/values.py
"""

import json
import pathlib

from functions import FUNCTIONS, run

HERE = pathlib.Path(__file__).parent

if __name__ == "__main__":
    values = {name: run(name) for name in FUNCTIONS}
    (HERE / "values.json").write_text(json.dumps(values, indent=0) + "\n")
