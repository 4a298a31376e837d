"""Real worker processes and a real mail server: one is killed at the worst moment, and everybody is served."""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

import pytest
from django.contrib.auth import get_user_model

from notifications.models import Notification
from notifications.services import notify
from notifications.trial import TRIAL
from tests.support.mail import Mail, mail_server
from tests.support.wait import until
from tests.support.workers import WorkerTree, send

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
COUNT, DOOMED = 500, "p250@example.org"


def owner_of(port: int, pids: list[int]) -> int:
    """The process that holds the client's end of a connection from ``port``."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    (inode,) = [each[9] for each in lines if int(each[1].rpartition(":")[2], 16) == port]
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.readlink(descriptor) == f"socket:[{inode}]":
                    return pid
    raise AssertionError("nobody holds this connection")


def test_a_child_killed_between_the_servers_yes_and_its_record_costs_at_most_one_duplicate(
    process_env, tmp_path
):
    users = get_user_model().objects
    people = users.bulk_create(
        users.model(username=f"p{n}", email=f"p{n}@example.org") for n in range(COUNT)
    )
    killed: list[int] = []

    def kill(mail: Mail) -> None:
        if mail.recipient == DOOMED and not killed:
            pid = owner_of(mail.client[1], [each.pid for each in tree.children()])
            send(pid, SIGKILL)
            killed.append(pid)

    with mail_server(after_accepting=kill) as server:
        env = {**process_env, "MAIL_URL": server.url}
        options = ["--processes", "4", "--threads", "1", "--queues", "mail", "--no-scheduler"]
        tree = WorkerTree(options, env=env, log=tmp_path / "log")
        try:
            until(lambda: len(tree.regular()) == 4, timeout=60, message="four children")
            notify(TRIAL.name, people, cause="the worst moment")
            left = Notification.objects.exclude(state="sent")
            until(lambda: not left.exists(), timeout=200, message="the last mail", interval=0.2)
        finally:
            tree.kill_tree()
    assert len(killed) == 1
    times = Counter(server.recipients)
    assert set(times) == {each.email for each in people}
    assert [address for address, count in times.items() if count > 1] == [DOOMED]
    assert times[DOOMED] == 2
    first, second = (each.message for each in server.mails if each.recipient == DOOMED)
    assert first["Message-ID"] == second["Message-ID"]
    doubtful = Notification.objects.filter(uncertain_since__isnull=False)
    assert [each.recipient.email for each in doubtful] == [DOOMED]
    assert server.seen["connections"] < COUNT / 5
