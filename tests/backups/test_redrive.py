"""The jobs of runs and restores that have ended, when an officer asks for them again."""

from uuid import uuid4

import pytest

from hubqueue import officers
from hubqueue.api import MoveRefused
from hubqueue.models import Job
from hubqueue.states import State
from tests.support.rows import make_job

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("kind", "key", "way"),
    [
        ("backups.run", "run_id", "Back up now"),
        ("backups.restore", "restore_id", "on the page of the run"),
    ],
)
def test_what_has_ended_is_not_taken_up_again_and_the_way_to_another_is_told(
    kind: str, key: str, way: str
) -> None:
    job = make_job(State.DEAD, kind=kind, queue="backups", payload={key: str(uuid4())})
    with pytest.raises(MoveRefused, match=way):
        officers.redrive(job.id, actor="anna", reason="once more")
    assert Job.objects.get().state == State.DEAD
