"""The entry of a worker child: ``python -m hubqueue.runner.child CONFIGURATION``, a fresh interpreter."""

import gc
import json
import signal
import socket
import sys
from uuid import UUID

import django


def main() -> None:
    given = json.loads(sys.argv[1])
    wire_end = socket.socket(fileno=given["wire"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    django.setup()
    # Only now: these need Django's registry of apps.
    from hubqueue.conf import conf
    from hubqueue.lifecycle.database import alias
    from hubqueue.runner.board import Board
    from hubqueue.runner.loop import Loop
    from hubqueue.runner.memory import resident_bytes
    from hubqueue.runner.sessions import name_sessions, session_name, set_deadline
    from hubqueue.runner.wire import Wire

    worker = UUID(given["worker"])
    wire = Wire(wire_end)
    if given["max_memory"] and resident_bytes() > given["max_memory"]:
        wire.send(
            {
                "refuse": f"--max-memory: expected more than the {resident_bytes() // 2**20} MiB that an idle child"
                f" holds, got {given['max_memory'] // 2**20} MiB: raise it."
            }
        )
        sys.exit(1)
    name_sessions(session_name(worker))
    set_deadline(conf().statement_deadline)
    loop = Loop(
        worker,
        wire,
        caps=given["caps"],
        threads=given["threads"],
        async_jobs=given["async_jobs"],
        solo=given["solo"],
        max_jobs=given["max_jobs"],
        max_memory=given["max_memory"],
        using=alias(),
        name=session_name(worker),
        board=Board(given["board"], given["slots"]),
    )
    signal.signal(signal.SIGTERM, lambda *_: loop.drain())
    # What is there now stays for good: the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    wire.send({"hello": {"queues": list(given["caps"])}})
    loop.run()
    wire.send({"bye": loop.done})


if __name__ == "__main__":
    main()
