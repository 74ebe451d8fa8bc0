"""Recurrent networks by cuDNN and MIOpen: this package has none, each function raises."""

from .gpu_common_utils import GpuLibNotLinkedError


def _missing(*args, **kwargs):
    raise GpuLibNotLinkedError()


compute_rnn_workspace_reserve_space_sizes = _missing
cudnn_rnn_lowering = cudnn_rnn_bwd_lowering = _missing
miopen_rnn_lowering = miopen_rnn_bwd_lowering = _missing
