"""The same tests over hubqueue in both manners and over Django's own backends as controls."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import django
import pytest

from hubqueue.backend import HubQueueBackend, compat, run
from hubqueue.backend.compat import task_enqueued, task_finished, task_started
from hubqueue.testing import run_due_jobs
from tests.tasks import functions

OWN = "hubqueue.backend.HubQueueBackend"
THEIRS = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"


@dataclass(frozen=True)
class Stage:
    """A backend under test. ``stores``: results can be read back; ``runs``: functions are run at all."""

    name: str
    stores: bool
    runs: bool

    @property
    def is_own(self) -> bool:
        return self.name.startswith("hubqueue")

    def settled(self, result: Any) -> Any:
        """The result once everything due has run."""
        if self.is_own:
            run_due_jobs()
            result.refresh()
        return result


STAGES = {
    "hubqueue": Stage("hubqueue", stores=True, runs=True),
    "hubqueue-transactional": Stage("hubqueue-transactional", stores=True, runs=True),
    "immediate": Stage("immediate", stores=False, runs=True),
    "dummy": Stage("dummy", stores=True, runs=False),
}
ENTRIES: dict[str, dict[str, Any]] = {
    "hubqueue": {"BACKEND": OWN},
    "hubqueue-transactional": {"BACKEND": OWN, "OPTIONS": {"transactional": True}},
    "immediate": {"BACKEND": f"{THEIRS}.backends.immediate.ImmediateBackend"},
    "dummy": {"BACKEND": f"{THEIRS}.backends.dummy.DummyBackend"},
}


@pytest.fixture(autouse=True)
def fresh(transactional_db: None) -> Iterator[None]:
    functions.SEEN.clear()
    yield
    functions.SCRIPTS.clear()


@pytest.fixture
def use(settings: Any) -> Callable[..., None]:
    """Make an entry of ``TASKS`` the default."""

    def make(name: str = "hubqueue", **changes: Any) -> None:
        settings.TASKS = {"default": {**ENTRIES[name], **changes}}

    return make


@pytest.fixture
def stage(request: pytest.FixtureRequest, use: Callable[..., None]) -> Stage:
    """The stage a test is parametrized with, or hubqueue."""
    chosen: Stage = STAGES[getattr(request, "param", "hubqueue")]
    use(chosen.name)
    return chosen


def on(*names: str) -> pytest.MarkDecorator:
    """Parametrize a test over these stages."""
    return pytest.mark.parametrize("stage", names, indirect=True)


EVERY = on(*STAGES)
RUNNING = on("hubqueue", "hubqueue-transactional", "immediate")
STORING = on("hubqueue", "hubqueue-transactional", "dummy")
OURS = on("hubqueue", "hubqueue-transactional")


@pytest.fixture
def told() -> Iterator[list[tuple[str, Any, Any]]]:
    """What Django's signals said: (name, sender, status at that moment)."""
    heard: list[tuple[str, Any, Any]] = []
    signals = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}

    def listen(name: str) -> Callable[..., None]:
        def hear(sender: Any, task_result: Any, **kwargs: Any) -> None:
            heard.append((name, sender, task_result.status))

        return hear

    receivers = {name: listen(name) for name in signals}
    for name, signal in signals.items():
        signal.connect(receivers[name])
    yield heard
    for name, signal in signals.items():
        signal.disconnect(receivers[name])


__all__ = [
    "EVERY",
    "OURS",
    "RUNNING",
    "STAGES",
    "STORING",
    "HubQueueBackend",
    "compat",
    "on",
    "run",
]
