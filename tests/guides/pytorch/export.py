import torch
from torch.export import export
from torch_xla.stablehlo import exported_program_to_stablehlo

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).eval()
program = exported_program_to_stablehlo(export(model, (torch.zeros(1, 4),)))
program.save('model')   # functions/forward.bytecode, functions/forward.meta, data/NAME
print(model(torch.tensor([[5.1, 3.5, 1.4, 0.2]])).detach().numpy())
