"""Exports the programs of model.py for a config.json of Hugging Face: one for each number of tokens that it reads at once.

    python export.py config.json FOLDER [--weights int8] [--block 32] [--context 2048] [--lengths 1,16,128]

Writes FOLDER/step.LENGTH.mlirbc. Weights are parameters by their names: matrices in the given type, with scales of f16 for each
block of a row if it is int8 or int4. A prompt is read in the longest parts that it fills, the last one filled up; length 1 decodes.
"""
import argparse
import json
import pathlib

import jax
import jax.numpy as jnp

import model

TYPES = {'int8': jnp.int8, 'int4': jnp.int4, 'f32': jnp.float32, 'bf16': jnp.bfloat16, 'f16': jnp.float16}


def weights_like(config, weights, block):
    def like(shape):
        of = lambda shape, name: jax.ShapeDtypeStruct(shape, TYPES[name])
        if len(shape) == 1 or not weights.startswith('int'):
            return of(shape, 'f32' if len(shape) == 1 else weights)
        return dict(quants=of(shape, weights), scales=of((shape[0], shape[1] // block), 'f16'))

    return {name: like(shape) for name, shape in config.shapes().items()}


def export(config, weights, block, context, length, cache='f32'):
    """The step that reads `length` tokens, as a jax.export.Exported."""
    like = lambda shape, type_: jax.ShapeDtypeStruct(shape, type_)
    number, real = like((), jnp.int32), like((), jnp.float32)
    kept = like((config.groups, context, config.depth), TYPES[cache])

    def step(w, cache, seen, tokens, place, last, random, temperature, top_k, top_p, penalty):
        return model.step(config, w, cache, seen, tokens, place, last, random, temperature, top_k, top_p, penalty)

    return jax.export.export(jax.jit(step), platforms=['cpu'])(
        weights_like(config, weights, block), [(kept, kept)] * config.layers, like((config.tokens,), bool),
        like((length,), jnp.int32), number, number, real, real, number, real, real)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('config', type=pathlib.Path)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--weights', choices=TYPES, default='int8')
    parser.add_argument('--block', type=int, default=32)
    parser.add_argument('--context', type=int, default=2048)
    parser.add_argument('--lengths', default='1,16,128')
    given = parser.parse_args()
    config = model.Config(json.loads(given.config.read_text()))
    given.folder.mkdir(exist_ok=True)
    for length in map(int, given.lengths.split(',')):
        exported = export(config, given.weights, given.block, given.context, length)
        (given.folder / f'step.{length}.mlirbc').write_bytes(exported.mlir_module_serialized)


if __name__ == '__main__':
    main()
