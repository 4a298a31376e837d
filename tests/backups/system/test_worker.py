"""A real worker that starts on the copy at once."""

from pathlib import Path

import pytest
from django.db import connections

from backups.archive.read import open_archive
from backups.system.restore import restore
from hubqueue.models import Job, Worker
from tests.backups.archive.made import RING
from tests.backups.system.test_system import job, write
from tests.conftest import _url
from tests.support.wait import until
from tests.support.workers import WorkerTree

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("tools"),
]
NOBODY = "01980000-0000-7000-8000-000000000002"


def test_a_worker_that_starts_on_the_copy_runs_nothing_of_the_original_and_what_is_new(
    store, copy, process_env, tmp_path: Path
):
    payload = {"run_id": NOBODY}
    old = {job("READY", payload=payload).pk for _ in range(20)}
    old.add(job("RUNNING", payload=payload, claimed_by=NOBODY).pk)
    name = str(write(store).name)
    restore(open_archive(store, name, RING), "copy")
    url = _url(connections["copy"].settings_dict)
    env = process_env | {"DATABASE_URL": url}
    tree = WorkerTree(
        ["--no-scheduler", "--queues", "backups"], env=env, log=tmp_path / "worker.log"
    )
    try:
        until(lambda: Worker.objects.using("copy").exists(), message="the worker's lease")
        fresh = Job.objects.using("copy").get(pk=min(old))
        fresh.pk, fresh.state, fresh.park_reason, fresh._state.adding = NOBODY, "READY", None, True
        fresh.save(using="copy", force_insert=True)
        until(
            lambda: Job.objects.using("copy").get(pk=NOBODY).state == "SUCCEEDED",
            message="the new job's end",
        )
        states = Job.objects.using("copy").filter(pk__in=old).values_list("state", "attempts")
        assert set(states) == {("PARKED", 0)}
        assert len(states) == 21
    finally:
        tree.kill_tree()
