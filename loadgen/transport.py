"""How queries travel: by which client, over which protocol and how many connections."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.loadgen.runtimes import RUNTIMES

CLIENTS = ("auto", "native", "python")
PROTOCOLS = ("grpc", "http")


@dataclass(frozen=True)
class TlsParams:
    """PEM files of a client: which authorities it trusts, and what it shows of itself.

    Parameters
    ----------
    ca : str
        The server's certificate is of one of these.
    certificate, key : str
        The client's; empty where the server wants none.
    """

    ca: str
    certificate: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("a client's certificate and key go together")


@dataclass(frozen=True)
class TransportParams:
    """The client and its connections.

    Parameters
    ----------
    client : str
        ``native``, ``python``, or ``auto``: native where that can be used.
    protocol : str
        ``grpc``, or ``http`` with binary tensors, which the native client speaks alone; or the name
        of a runtime (``surplus.loadgen.runtimes``) for models in this process.
    connections : int
        Of the native client, >= 1; 0: one a user of a closed loop, 16 for an open one. Of models
        in this process: threads of an open loop; 0: two a core.
    threads : int
        Of the native client, >= 1; users and connections are shared out among them.
    compares : bool
        Whether answers that differ from the first one count as errors; of the native client.
    shares_memory : bool
        Whether tensors lie in system shared memory; over gRPC, of the native client.
    tls : TlsParams or None
        What everything is encrypted with, by the Python client.
    """

    client: str = "auto"
    protocol: str = "grpc"
    connections: int = 0
    threads: int = 1
    compares: bool = False
    shares_memory: bool = False
    tls: TlsParams | None = None

    def __post_init__(self) -> None:
        if self.client not in CLIENTS:
            raise ValueError(f"unknown client {self.client!r}; there are: {', '.join(CLIENTS)}")
        if self.protocol not in (*PROTOCOLS, *RUNTIMES):
            known = ", ".join((*PROTOCOLS, *RUNTIMES))
            raise ValueError(f"unknown protocol {self.protocol!r}; there are: {known}")
        if self.connections < 0:
            raise ValueError(
                f"connections must be >= 1, or 0 for as many as fit, got {self.connections}"
            )
        if self.threads < 1:
            raise ValueError(f"threads must be >= 1, got {self.threads}")
        if self.shares_memory and self.protocol != "grpc":
            raise ValueError(f"shared memory is for protocol grpc, not {self.protocol}")
        if self.is_in_process:
            self._check_in_process()
        if self.tls is not None and self.client == "native":
            raise ValueError("the native client does not speak TLS")
        if (self.client == "python" or self.tls is not None) and self.needs_native:
            raise ValueError(f"the Python client cannot do this: {', '.join(self.needs_native)}")

    @property
    def is_in_process(self) -> bool:
        """Whether models are in this process."""
        return self.protocol in RUNTIMES

    def _check_in_process(self) -> None:
        asked = {
            "a client": self.client != "auto",
            "threads": self.threads > 1,
            "comparing answers": self.compares,
            "TLS": self.tls is not None,
        }
        if refused := [what for what, is_asked in asked.items() if is_asked]:
            raise ValueError(f"models in this process have no {', no '.join(refused)}")

    @property
    def needs_native(self) -> list[str]:
        """What the Python client does not have of what is asked for."""
        asked = {
            "protocol http": self.protocol == "http",
            "connections": self.connections > 0,
            "threads": self.threads > 1,
            "comparing answers": self.compares,
            "shared memory": self.shares_memory,
        }
        return [what for what, is_asked in asked.items() if is_asked]
