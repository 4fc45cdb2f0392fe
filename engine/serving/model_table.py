"""The models of a server by name and version."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from surplus.engine.errors import UnknownModelError
from surplus.engine.serving.response_cache import ResponseCache
from surplus.engine.serving.served_model import ModelState, ServedModel
from surplus.engine.serving.step_counts import share_out


class ModelTable:
    """Name -> version -> model, in the order in which they were added.

    Parameters
    ----------
    cache : ResponseCache, optional
        Keeps answers of those models whose configurations ask for that.
    """

    def __init__(self, cache: ResponseCache | None = None) -> None:
        self._cache = cache
        self._versions: dict[str, dict[str, ServedModel]] = {}
        self._watch: Callable[[ServedModel], None] = lambda model: None

    def watch(self, look: Callable[[ServedModel], None]) -> None:
        """Call ``look`` with each model that is here, that comes, or whose state changes."""
        self._watch = look
        for model in self:
            self._be_watched(model)

    def _be_watched(self, model: ServedModel) -> None:
        model.on_change = lambda: self._watch(model)
        model.before_change = lambda: share_out(self)
        self._watch(model)

    def add(self, name: str, version: str = "1") -> ServedModel:
        """Enter a model, LOADING; call its ``set_ready`` or ``set_unavailable`` when decided.

        Raises
        ------
        ValueError
            If the name is empty, the version no positive number, or both are there already.
        """
        if not name:
            raise ValueError("a model needs a name")
        if not (version.isascii() and version.isdigit() and int(version) > 0):
            raise ValueError(f"version {version!r} of model {name!r} is no positive number")
        versions = self._versions.setdefault(name, {})
        if version in versions:
            raise ValueError(f"model {name!r} version {version} is there already")
        versions[version] = ServedModel(name, version, self._cache)
        self._be_watched(versions[version])
        return versions[version]

    def remove(self, model: ServedModel) -> None:
        """Forget a model that was never served."""
        versions = self._versions[model.name]
        del versions[model.version]
        if not versions:
            del self._versions[model.name]
        model.on_change = model.before_change = lambda: None

    def find(self, name: str, version: str = "") -> ServedModel:
        """Model of that name and version; without a version the newest that is ready.

        Raises
        ------
        UnknownModelError
            If the name is unknown or has no such version; the message lists what there is.
        """
        versions = self.versions(name)
        if not version:
            return _newest(versions)
        if version not in versions:
            known = ", ".join(versions)
            raise UnknownModelError(f"model {name!r} has no version {version!r}; it has {known}")
        return versions[version]

    def is_ready(self, name: str, version: str = "") -> bool:
        """Whether the model that :meth:`find` gives is ready; False where it gives none."""
        try:
            return self.find(name, version).state is ModelState.READY
        except UnknownModelError:
            return False

    def versions(self, name: str) -> dict[str, ServedModel]:
        """Every version of a model.

        Raises
        ------
        UnknownModelError
            If the name is unknown; the message lists the models.
        """
        if name not in self._versions:
            known = ", ".join(map(repr, self._versions)) or "none"
            raise UnknownModelError(f"unknown model {name!r}; served: {known}")
        return self._versions[name]

    def select(self, name: str = "", version: str = "") -> list[ServedModel]:
        """Models of that name and version; all names or all versions where one is empty.

        Raises
        ------
        UnknownModelError
            As :meth:`find`.
        """
        if not name:
            return list(self)
        return [self.find(name, version)] if version else list(self.versions(name).values())

    def all_ready(self) -> bool:
        """Whether every name has a version that is ready, or was unloaded on request.

        Triton's strict readiness.
        """
        return all(
            any(m.state is ModelState.READY or m.is_unloaded for m in versions.values())
            for versions in self._versions.values()
        )

    def __iter__(self) -> Iterator[ServedModel]:
        for versions in self._versions.values():
            yield from versions.values()


def _newest(versions: dict[str, ServedModel]) -> ServedModel:
    if len(versions) == 1:
        return next(iter(versions.values()))
    return max(
        versions.values(),
        key=lambda model: (model.state is ModelState.READY, int(model.version)),
    )
