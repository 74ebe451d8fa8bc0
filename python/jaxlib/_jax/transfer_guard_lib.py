"""The older name of guard_lib's transfer guards."""

from .guard_lib import GuardState as TransferGuardState  # noqa: F401
from .guard_lib import TransferGuardLevel, global_state, thread_local_state  # noqa: F401
