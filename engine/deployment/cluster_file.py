"""Reads ``CLUSTER.toml``: kinds of nodes, models with targets, where all of it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from surplus.cluster import CLUSTER_PLANNERS, ClusterModel, NodeKind
from surplus.cluster.frame.cluster_model import check_fits
from surplus.colocation.files.toml_file import read_toml
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.profile import PROFILES
from surplus.colocation.frame.service import Service
from surplus.colocation.profiles import affine as affine
from surplus.engine.errors import ConfigError
from surplus.placement.byte_sizes import bytes_of

T = TypeVar("T")


@dataclass(frozen=True)
class KindTable:
    """``[kinds.NAME]``: nodes that are alike.

    Parameters
    ----------
    memory : str
        Of each device, for models.
    devices : int
        That a node has.
    resources : mapping of str to float
        Of Ray, that a node has to have to be of this kind; asked of its autoscaler, too.
    most : int
        Nodes that may be in use, those included that the autoscaler would have to start; 0: as
        many as there are.
    price_per_hour : float
    start_s, load_s : float
        How long until a node serves that is asked for, and what loading a model takes besides its
        bytes.
    load_per_s : str
        Bytes of a model that come in a second.
    serve : tuple of str
        Options of ``engine serve`` there.
    """

    memory: str
    devices: int = 1
    resources: Mapping[str, float] = field(default_factory=dict)
    most: int = 0
    price_per_hour: float = 1.0
    start_s: float = 10.0
    load_s: float = 1.0
    load_per_s: str = "500MB"
    serve: tuple[str, ...] = ()

    def node_kind(self, name: str) -> NodeKind:
        """As the planner knows it."""
        return NodeKind(
            name,
            self.devices,
            bytes_of(self.memory),
            self.price_per_hour,
            start_ns=round(self.start_s * NS_PER_S),
            load_bytes_per_s=float(bytes_of(self.load_per_s)),
            fixed_load_ns=round(self.load_s * NS_PER_S),
        )


@dataclass(frozen=True)
class DeployedModel:
    """``[models.NAME]``.

    Parameters
    ----------
    slo_ms : float
        From a query to its answer.
    memory : str
        That an instance holds.
    profiles : mapping of str to table
        By kind of node: ``profile``, one of ``surplus.colocation``'s (``affine`` if it is not
        written), and its options.
    versions : tuple of int
        That are served side by side; empty: the newest of the repository.
    max_batch : int
    rate_per_s : float
        Expected at first.
    in_time : float
        Part of the queries that is to be in time.
    first_answer_s : float
        How late the first answer may be after a time without queries; 0: it stays loaded.
    """

    slo_ms: float
    memory: str
    profiles: Mapping[str, Mapping[str, Any]]
    versions: tuple[int, ...] = ()
    max_batch: int = 1
    rate_per_s: float = 1.0
    in_time: float = 0.99
    first_answer_s: float = 0.0

    def cluster_model(self, name: str) -> ClusterModel:
        """As the planner knows it."""
        for key in ("rate_per_s", "first_answer_s"):
            if getattr(self, key) < 0:
                raise ValueError(f"{key} must be >= 0, got {getattr(self, key)}")
        memory_bytes = bytes_of(self.memory)
        slo_ns = round(self.slo_ms * NS_PER_MS)
        service = Service(name, slo_ns, self.max_batch, memory_bytes=memory_bytes)
        profiles = {}
        for kind, table in self.profiles.items():
            options = dict(table)
            profiles[kind] = PROFILES.make(str(options.pop("profile", "affine")), **options)
        first_ns = round(self.first_answer_s * NS_PER_S) or None
        return ClusterModel(service, profiles, in_time=self.in_time, first_answer_ns=first_ns)


@dataclass(frozen=True)
class ClusterFile:
    """All of a file.

    Parameters
    ----------
    name : str
        Of the deployment: one of a name on a Ray cluster.
    repository : str
        Folder that all nodes see, or a URL that fsspec knows.
    kinds, models : mapping of str to table
    planner : str
        One of ``surplus.cluster``'s.
    options : mapping
        The planner's.
    window_s : float
        Rates are those of so long; > 0.
    idle_windows : int
        Without queries, after which a model with ``first_answer_s`` is unloaded.
    grace_s : float
        For which a replica serves on that clients are no longer told of; >= 0.
    resolver : str
        ``HOST:PORT``.
    """

    name: str
    repository: str
    kinds: Mapping[str, KindTable]
    models: Mapping[str, DeployedModel]
    planner: str = "surplus"
    options: Mapping[str, Any] = field(default_factory=dict)
    window_s: float = 10.0
    idle_windows: int = 6
    grace_s: float = 2.0
    resolver: str = "127.0.0.1:8080"

    @property
    def node_kinds(self) -> tuple[NodeKind, ...]:
        """In their order, which is the one in which nodes are told apart."""
        return _made("kinds", {name: table.node_kind for name, table in self.kinds.items()})

    @property
    def cluster_models(self) -> tuple[ClusterModel, ...]:
        """In their order."""
        return _made("models", {name: table.cluster_model for name, table in self.models.items()})


def read_cluster_file(path: Path) -> ClusterFile:
    """Read and check.

    Raises
    ------
    ConfigError
        Naming file and key; or the model that fits no kind of node, and what each lacks.
    """
    try:
        file = read_toml(ClusterFile, path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(str(error)) from error
    try:
        _check(file)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    return file


def _check(file: ClusterFile) -> None:
    if not (file.name.isascii() and file.name.replace("-", "").replace("_", "").isalnum()):
        raise ValueError(f"name must be of letters, digits, - and _, got {file.name!r}")
    if not file.kinds or not file.models:
        raise ValueError("at least one kind of node and one model are needed")
    if file.window_s <= 0 or file.grace_s < 0:
        text = f"{file.window_s} and {file.grace_s}"
        raise ValueError(f"window_s must be > 0 and grace_s >= 0, got {text}")
    if file.idle_windows < 1:
        raise ValueError(f"idle_windows must be >= 1, got {file.idle_windows}")
    CLUSTER_PLANNERS.make(file.planner, **file.options)
    for name, table in file.models.items():
        if unknown := [kind for kind in table.profiles if kind not in file.kinds]:
            raise ValueError(f"models.{name}.profiles: there is no kind {unknown[0]!r}")
    check_fits(file.cluster_models, file.node_kinds)


def _made(group: str, makers: Mapping[str, Callable[[str], T]]) -> tuple[T, ...]:
    """What is made of each name; errors say of which."""
    made = []
    for name, make in makers.items():
        try:
            made.append(make(name))
        except ValueError as error:
            raise ValueError(f"{group}.{name}: {error}") from error
    return tuple(made)
