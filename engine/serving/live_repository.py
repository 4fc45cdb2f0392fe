"""Models that come, change and go while the server runs: loaded beside what serves, then swapped.

What is loaded takes the place of what served only when all of it is ready; a load that fails
changes nothing but what the index says. On the server's event loop; loads run in threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from surplus.engine.devices.parsing import available_cores
from surplus.engine.ensembles.step_models import (
    all_ensembles,
    all_steps,
    configs_in,
    stamp_with_steps,
    steps_beside,
)
from surplus.engine.errors import ConfigError, EngineError, UnknownModelError, one_line
from surplus.engine.repository.layout import (
    RepositoryEntry,
    find_folders,
    read_entries,
    warn_of_fields,
)
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.former_models import FormerModels
from surplus.engine.serving.load_request import Override
from surplus.engine.serving.model_table import ModelTable
from surplus.engine.serving.overridden import Overridden
from surplus.engine.serving.say import say
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.served_model import ModelState, ServedModel

_log = logging.getLogger(__name__)

LoadServable = Callable[[RepositoryEntry], Servable]


class LiveRepository:
    """An ``surplus.engine.serving.model_control.ModelControl`` over folders.

    Parameters
    ----------
    roots : sequence of Path
        Repositories and single files, as ``find_models`` takes them.
    models : ModelTable
        What the server answers with.
    load : callable
        Loads a version; called in threads.
    """

    def __init__(self, roots: Sequence[Path], models: ModelTable, load: LoadServable) -> None:
        self._roots = roots
        self._models = models
        self._load = load
        self._threads = ThreadPoolExecutor(available_cores(), "surplus load")
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._stamps: dict[str, str] = {}
        self._overridden: dict[str, Overridden] = {}
        self._former = FormerModels()

    def adopt(self, stamps: dict[str, str]) -> None:
        """What the server has loaded at its start: by name, the stamp of its files then."""
        self._stamps = dict(stamps)

    def stamp(self, name: str) -> str:
        """Of the files that were last tried; empty if none were."""
        return self._stamps.get(name, "")

    @property
    def tried(self) -> list[str]:
        """Names of the models that were loaded, or could not be."""
        return list(self._stamps)

    async def folders(self) -> dict[str, Path]:
        """Folders of the models that there are now, by name."""
        return await asyncio.to_thread(partial(find_folders, *self._roots, may_be_empty=True))

    async def unlisted(self) -> Sequence[str]:
        """Names of models that could be loaded and never were."""
        known = {model.name for model in self._models}
        return [name for name in sorted(await self.folders()) if name not in known]

    async def load(self, name: str, override: Override | None = None) -> None:
        """As ``ModelControl.load``; with an ensemble what it is made of, and it with a step."""
        folder = await self._load_one(name, override)
        steps = [] if folder is None else await asyncio.to_thread(steps_beside, folder)
        for other in (*steps, *await self._ensembles_of(name)):
            with suppress(EngineError):  # said, and in the index
                await self._load_one(other)

    async def _ensembles_of(self, name: str) -> list[str]:
        """Names of those that are made of a model, and not unloaded by a client.

        Those that could not be loaded, too: what they lacked may be that model.
        """
        wanted = {model.name for model in self._models if not model.is_unloaded}
        folders = await self.folders()
        failed = {one: folders[one] for one in wanted & set(folders) if not self._is_served(one)}
        configs = self._configs() | await asyncio.to_thread(configs_in, failed)
        return [one for one in all_ensembles(name, configs) if one in wanted]

    def _configs(self) -> dict[str, ModelConfig]:
        return {model.name: model.config for model in self._models}

    async def _load_one(self, name: str, override: Override | None = None) -> Path | None:
        """Load one; its folder, if there is one."""
        folder = (await self.folders()).get(name)
        if folder is None and (override is None or not override.files):
            raise UnknownModelError(f"unknown model {name!r}: no repository has a folder of it")
        async with self._locks[name]:
            if override is not None:
                await self._load_overridden(name, override, folder)
            elif folder is not None:
                await self._load_folder(name, folder)
        return folder

    async def unload(self, name: str, *, dependents: bool = False) -> None:
        """As ``ModelControl.unload``."""
        known = self._configs()
        steps = [step for step in all_steps(name, known) if step in known] if dependents else []
        for one in (name, *steps):
            async with self._locks[one]:
                for model in self._models.versions(one).values():
                    self._release(model)
                self._stamps.pop(one, None)
                self._replace_overridden(one, None)

    async def close(self) -> None:
        """Load nothing any more; what was loaded is the data plane's."""
        await self._former.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for overridden in self._overridden.values():
            overridden.close()

    async def _load_overridden(self, name: str, override: Override, folder: Path | None) -> None:
        made = await asyncio.to_thread(Overridden, name, override, folder)
        try:
            await self._bring(name, made.entries)
        except BaseException:
            made.close()
            raise
        self._replace_overridden(name, made)
        self._stamps[name] = ""  # whatever its folder holds is something else

    def _replace_overridden(self, name: str, made: Overridden | None) -> None:
        if (before := self._overridden.pop(name, None)) is not None:
            before.close()
        if made is not None:
            self._overridden[name] = made

    async def _load_folder(self, name: str, folder: Path) -> None:
        stamp = await asyncio.to_thread(stamp_with_steps, folder)
        if self._stamps.get(name) == stamp and self._is_served(name):
            return
        self._stamps[name] = stamp
        entries = await asyncio.to_thread(read_entries, folder, name)
        warn_of_fields(entries)
        await self._bring(name, entries)
        self._replace_overridden(name, None)

    def _is_served(self, name: str) -> bool:
        """Whether it is as its files were when they were last tried."""
        known = [model for model in self._models if model.name == name]
        ready = [model for model in known if model.state is ModelState.READY]
        return bool(ready) and not any(model.note for model in ready)

    async def _bring(self, name: str, entries: Sequence[RepositoryEntry]) -> None:
        """Serve these versions and no others; if one cannot be loaded, all stays as it was."""
        new = [self._entered(entry) for entry in entries if not self._has(entry)]
        try:
            loaded = await self._all_loaded(entries)
        except EngineError as error:
            self._failed(name, new, one_line(error))
            raise
        wanted = {entry.version for entry in entries}
        for entry, servable in zip(entries, loaded, strict=True):
            model = self._models.find(name, entry.version)
            model.set_ready(servable)
            model.note = ""
            self._former.watch(model)
        for version, model in self._models.versions(name).items():
            if version not in wanted and not model.is_unloaded:
                self._release(model)
        say(f"{name}: serving version {', '.join(entry.version for entry in entries)}")

    async def _all_loaded(self, entries: Sequence[RepositoryEntry]) -> list[Servable]:
        loop = asyncio.get_running_loop()
        loads = [loop.run_in_executor(self._threads, self._load, entry) for entry in entries]
        done = await asyncio.gather(*loads, return_exceptions=True)
        failed = [one for one in done if isinstance(one, BaseException)]
        loaded = [one for one in done if not isinstance(one, BaseException)]
        if failed:
            for servable in loaded:
                servable.close()
            if isinstance(failed[0], EngineError):
                raise failed[0]
            raise ConfigError(f"{entries[0].name}: {one_line(failed[0])}") from failed[0]
        return loaded

    def _failed(self, name: str, new: Sequence[ServedModel], why: str) -> None:
        """Say so, in the index, too: of those that were never served, and of those that still are.

        Versions that are new to a model that is served are not entered for good.
        """
        say(f"{name}: not loaded: {why}")
        served = [m for m in self._models.versions(name).values() if m.state is ModelState.READY]
        for model in new:
            if served:
                self._models.remove(model)
            else:
                model.set_unavailable(why)
        for model in served:
            model.note = f"newer files of it are not served: {why}"

    def _has(self, entry: RepositoryEntry) -> bool:
        known = [model for model in self._models if model.name == entry.name]
        return any(model.version == entry.version for model in known)

    def _entered(self, entry: RepositoryEntry) -> ServedModel:
        return self._models.add(entry.name, entry.version)

    def _release(self, model: ServedModel) -> None:
        model.note = ""
        model.release()
        self._former.watch(model)
