"""Runs small programs of JAX on our jaxlib, and compares them with the real jaxlib's values."""

import json
import pathlib
import unittest

import numpy as np
from functions import FUNCTIONS, run

import jaxlib

VALUES = json.loads((pathlib.Path(__file__).parent / "values.json").read_text())


class JaxTest(unittest.TestCase):
    def test_jaxlib_is_ours(self):
        self.assertIn("xla.wasm", jaxlib.version.__version__)

    def test_every_function_has_values(self):
        self.assertEqual(set(VALUES), set(FUNCTIONS))


def _test(name):
    def test(self):
        got = run(name)
        self.assertEqual(len(got), len(VALUES[name]))
        for mine, wanted in zip(got, VALUES[name]):
            np.testing.assert_allclose(mine, wanted, rtol=2e-6, atol=2e-6)

    return test


for _name in FUNCTIONS:
    setattr(JaxTest, f"test_{_name}", _test(_name))

if __name__ == "__main__":
    unittest.main()
