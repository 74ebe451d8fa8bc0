"""Clients of remote IFRT servers: this package connects to none."""

from ._jax.errors import unavailable


class ClientConnectionOptions:
    """Options of a connection."""

    def __init__(self):
        self.on_disconnect = None
        self.on_connection_update = None
        self.connection_timeout_in_seconds = None
        self.initialization_data = None


def get_client(proxy_server_address, options):
    raise unavailable("A client of a remote IFRT server")
