"""Writes gguf/: a GGUF file with a tensor of each type that is read, and its values as the gguf package dequantises them.

build/venv/bin/pip install gguf; build/venv/bin/python tests/golden/gguf_files.py
"""
import pathlib

import numpy as np
import gguf

FOLDER = pathlib.Path(__file__).parent / "gguf"
TYPES = gguf.GGMLQuantizationType
BY_PACKAGE = [TYPES.Q8_0, TYPES.Q4_0, TYPES.Q4_1, TYPES.Q5_0, TYPES.Q5_1]
# The package does not quantise these: random blocks, with scales that are finite.
BY_CHANCE = {TYPES.Q4_K: [0, 2], TYPES.Q5_K: [0, 2], TYPES.Q6_K: [208]}


def random_blocks(type_, halves, rows, columns, random):
    size, each = gguf.GGML_QUANT_SIZES[type_]
    blocks = random.integers(0, 256, (rows, columns // size, each), dtype=np.uint8)
    for at in halves:
        scale = random.normal(0, 0.01, (rows, columns // size, 1)).astype(np.float16)
        blocks[:, :, at:at + 2] = scale.view(np.uint8)
    return blocks.reshape(rows, -1)


def main():
    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(FOLDER / "types.gguf", "llama")
    writer.add_block_count(2)
    writer.add_token_list([f"token {i} é" for i in range(300)])
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    writer.add_uint64("general.big", 2**53 + 1)
    values = {}

    def add(name, data, type_=None):
        writer.add_tensor(name, data, raw_dtype=type_)
        values[name] = gguf.dequantize(data, type_) if type_ is not None else data.astype(np.float32)

    x = random.normal(0, 1, (3, 512)).astype(np.float32)
    add("f32", x)
    add("f16", x[:, :7].astype(np.float16))
    add("i8", np.arange(-5, 6, dtype=np.int8))
    add("bf16", gguf.quantize(x, TYPES.BF16), TYPES.BF16)
    add("cube", random.normal(0, 1, (2, 3, 5)).astype(np.float32))
    for type_ in BY_PACKAGE:
        add(type_.name, gguf.quantize(x, type_), type_)
    for type_, halves in BY_CHANCE.items():
        add(type_.name, random_blocks(type_, halves, 3, 512, random), type_)
    add("unread", random.integers(0, 256, (1, 84), dtype=np.uint8), TYPES.Q2_K)
    del values["unread"]
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    np.savez(FOLDER / "values.npz", **values)


if __name__ == "__main__":
    main()
