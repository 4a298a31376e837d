"""hubqueue as a backend of Django's framework for background functions: ``@task`` and nothing else.

    TASKS = {"default": {"BACKEND": "hubqueue.backend.HubQueueBackend"}}

See docs/django-tasks.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured

from hubqueue.backend import options
from hubqueue.backend.compat import (
    AnyResult,
    AnyTask,
    BaseTaskBackend,
    InvalidTask,
    InvalidTaskBackend,
)
from hubqueue.conf import conf


class HubQueueBackend(BaseTaskBackend):
    """Functions run by ``manage.py runworker``, enqueued in the caller's transaction.

    ``OPTIONS``: see ``options.Options``. ``QUEUES`` must be queues of ``settings.HUBQUEUE``.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self._rules, self._problems = options.read(self.options)

    def validate_task(self, task: AnyTask) -> None:
        """Raise ``InvalidTask`` when no worker could run it."""
        super().validate_task(task)
        if task.queue_name not in conf().queues:
            raise InvalidTask(
                f"Queue {task.queue_name!r} is none of HUBQUEUE['QUEUES'] ({', '.join(conf().queues)}):"
                " add it there, or choose one of them."
            )

    def enqueue(  # type: ignore[override]
        self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> AnyResult:
        """Enqueue in the open transaction, if there is one: a rollback leaves no job.

        Raises ``PayloadRefused`` naming the argument that cannot be stored, or ``InvalidTask``.
        """
        if self._problems:
            raise InvalidTaskBackend(f"TASKS[{self.alias!r}]: {' '.join(self._problems)}")
        self.validate_task(task)
        # A function may be declared before Django's registry of apps is ready; rows need it.
        from hubqueue.backend.enqueue import put

        return put(self, self._rules, task, args, kwargs)

    def get_result(self, result_id: str) -> AnyResult:
        """The result as it stands in the database. Raises ``TaskResultDoesNotExist``."""
        from hubqueue.backend.results import read

        return read(result_id)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """What `manage.py check` says of this entry of ``TASKS``."""
        found = [Error(each, id="hubqueue.E030") for each in self._named(self._problems)]
        if not apps.is_installed("hubqueue"):
            found.append(
                Error(
                    "HubQueueBackend expects 'hubqueue' in INSTALLED_APPS: add it.",
                    id="hubqueue.E032",
                )
            )
        try:
            known = conf().queues
        except ImproperlyConfigured:  # the check of the settings tells
            return [*found]
        foreign = sorted(self.queues - set(known))
        found += [
            Error(each, id="hubqueue.E031")
            for each in self._named(
                f"QUEUES: expected some of HUBQUEUE['QUEUES'] ({', '.join(known)}), got {queue!r}."
                for queue in foreign
            )
        ]
        return [*found]

    def _named(self, problems: Iterable[str]) -> list[str]:
        return [f"TASKS[{self.alias!r}]: {each}" for each in problems]


__all__ = ["HubQueueBackend"]
