"""The buttons of a page: what the viewer may do, and where else to look."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from uuid import UUID

from django.urls import reverse

from hubqueue.admin.ask import Verb
from hubqueue.admin.viewer import Viewer


class Link(NamedTuple):
    """``look`` is empty, ``hq-danger`` or ``hq-quiet``."""

    label: str
    address: str
    look: str = "hq-quiet"


def verb_links(
    page: str, row: UUID, verbs: Iterable[Verb], viewer: Viewer, *, dangers: Iterable[Verb] = ()
) -> Iterator[Link]:
    """Those of ``verbs`` that the viewer may do; ``page`` is the name of the address that asks why."""
    for verb in verbs:
        if viewer.has_perm(verb.permission):
            look = "hq-danger" if verb in dangers else ""
            yield Link(verb.label, reverse(page, args=[row, verb.word]), look)


def job_links(job_id: UUID | None, viewer: Viewer) -> Iterator[Link]:
    """To the job, for whoever may see it."""
    if job_id and viewer.has_perm("hubqueue.view_job"):
        yield Link("Its job", reverse("admin:hubqueue_job_change", args=[job_id]))
