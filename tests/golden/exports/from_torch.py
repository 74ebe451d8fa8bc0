#!/usr/bin/env python3
"""Writes torch.gz: PyTorch modules as torch_xla exports them, as bytecode and as text.

    pip install torch==2.9.0 torch_xla==2.9.0 numpy
    EXPERIMENTAL_XLA_UNBOUNDED_DYNAMISM=1 python from_torch.py

Weights are parameters of the program, which come first: meta.input_locations says which.
"""

import torch
from torch import nn
from torch.export import Dim, export
from torch_xla.stablehlo import VariableType, exported_program_to_stablehlo

from writer import Writer

writer = Writer()


def add(name, module, *args, forms=('bytecode',), **options):
  module = module.eval()
  results = module(*args)
  program = exported_program_to_stablehlo(export(module, args, **options))
  bundle = program._bundle
  sources = {
      VariableType.INPUT_ARG: lambda place: args[place.position].numpy(),
      VariableType.PARAMETER: lambda place: bundle.state_dict[place.name],
      VariableType.CONSTANT: lambda place: bundle.additional_constants[place.position],
  }
  meta = bundle.stablehlo_funcs[0].meta
  arguments = [sources[place.type_](place) for place in meta.input_locations]
  results = results if isinstance(results, tuple) else (results,)
  # The program's shapes, which may have dimensions of one that PyTorch's results have not.
  results = [r.detach().numpy().reshape(r.shape if meta.output_signature[i].dynamic_dims else
                                        meta.output_signature[i].shape) for i, r in enumerate(results)]
  for form in forms:
    text = program.get_stablehlo_text().encode() if form == 'text' else program.get_stablehlo_bytecode()
    own = name if form == 'bytecode' else f'{name}-{form}'
    writer.add(own, text, arguments, results)


class Transformer(nn.Module):

  def __init__(self):
    super().__init__()
    self.embed = nn.Embedding(20, 16)
    self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    self.out = nn.Linear(16, 20)

  def forward(self, x):
    return self.out(self.layer(self.embed(x)))


class Lstm(nn.Module):

  def __init__(self):
    super().__init__()
    self.lstm = nn.LSTM(4, 8, batch_first=True)

  def forward(self, x):
    y, (h, c) = self.lstm(x)
    return y, h, c


class Functions(nn.Module):

  def forward(self, x):
    return (x.topk(2)[0], x.sort(-1)[0], x.argmax(-1), torch.cumsum(x, 0), torch.erf(x),
            torch.where(x > 0, x, 0 * x), x.softmax(-1), torch.einsum('ij,kj->ik', x, x),
            nn.functional.interpolate(x[None, None], scale_factor=2.))


class Dynamic(nn.Module):

  def __init__(self):
    super().__init__()
    self.linear = nn.Linear(4, 3)

  def forward(self, x):
    return self.linear(x).softmax(-1)


torch.manual_seed(0)
add('mlp', nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), torch.randn(2, 4),
    forms=('bytecode', 'text'))
add('cnn', nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3), nn.LogSoftmax(-1)),
    torch.randn(2, 3, 8, 8), forms=('bytecode', 'text'))
add('transformer', Transformer(), torch.randint(0, 20, (2, 6)))
add('lstm', Lstm(), torch.randn(2, 5, 4))
add('functions', Functions(), torch.randn(4, 5))
add('dynamic-any', Dynamic(), torch.randn(5, 4), dynamic_shapes=({0: Dim('batch')},))
writer.write('torch.gz')
