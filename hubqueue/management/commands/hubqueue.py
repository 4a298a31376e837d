"""``manage.py hubqueue VERB ...``: the officers' verbs on a terminal.

Exit codes: 0 all was done, 1 something was refused (one line each), 2 the command line is wrong.
"""

import getpass
import json
import os
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NoReturn
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils.dateparse import parse_datetime

from hubqueue import gauges, officers
from hubqueue.aside import Unreachable
from hubqueue.doctor import Finding, Patient, Report, Severity, examine
from hubqueue.errors import MoveRefused
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.redrive import Answer
from hubqueue.models import Pause, Worker
from hubqueue.querysets import database_now
from hubqueue.states import Move
from hubqueue.why import why

VERBS = {
    "park": (Move.PARK, "Set jobs aside until somebody releases them."),
    "release": (Move.RELEASE, "Let parked jobs go."),
    "run-now": (Move.RUN_NOW, "Make waiting or parked jobs due now."),
    "cancel": (Move.CANCEL, "Cancel jobs; running ones are asked to stop."),
    "redrive": (Move.REDRIVE, "Try dead letters again, by id or by filter."),
    "dismiss": (Move.DISMISS, "Put dead letters away."),
}

DOCTOR = "What makes the queue slow, unsafe or stuck: one line per finding."


class Command(BaseCommand):
    help = "Officers' verbs on jobs, queues, kinds and tenants."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for name, (_, text) in VERBS.items():
            verb = verbs.add_parser(name, help=text, description=text)
            verb.add_argument("ids", nargs="*" if name == "redrive" else "+", metavar="ID")
            _add_who_and_why(verb)
            if name == "redrive":
                _add_filters(verb)
        for name, text in (
            ("pause", "Start no jobs of a queue, kind or tenant; what runs goes on."),
            ("resume", "End a pause."),
        ):
            verb = verbs.add_parser(name, help=text, description=text)
            scope = verb.add_mutually_exclusive_group(required=True)
            for each in Pause.Scope.values:
                scope.add_argument(f"--{each}")
            _add_who_and_why(verb)
            if name == "pause":
                verb.add_argument(
                    "--until", help="end of the pause, with its offset: 2026-12-01T06:00+01:00"
                )
        reasons = verbs.add_parser("why", help="Why a job is not running.")
        reasons.add_argument("ids", nargs=1, metavar="ID")
        verbs.add_parser("workers", help="The workers and what the lease of each says.")
        verbs.add_parser("counts", help="Jobs per kind and state, counted within bounds.")
        _add_doctor(verbs.add_parser("doctor", help=DOCTOR, description=DOCTOR))

    def handle(self, *args: Any, **options: Any) -> None:
        match options["verb"]:
            case "why":
                self._why(_ids(options["ids"])[0])
            case "workers":
                self._workers()
            case "counts":
                self._counts()
            case "doctor":
                self._doctor(**options)
            case "pause" | "resume":
                self._pause_or_resume(**options)
            case _:
                self._verb(**options)

    def _verb(self, **options: Any) -> None:
        move, _ = VERBS[options["verb"]]
        actor, reason = _actor(options), _reason(options)
        chosen: Iterable[UUID] = _ids(options["ids"])
        filters = {key: options.get(key) for key in ("kind", "code", "queue", "tenant")}
        if move == Move.REDRIVE:
            if bool(chosen) == any(filters.values()):
                raise _usage(
                    "redrive takes either ids or at least one of --kind --code --queue --tenant."
                )
            if not chosen:
                chosen = officers.find_dead(**filters)
            if options["dry_run"]:
                self._dry_run(chosen)
                return
            answers: Iterator[Answer] = officers.redrive_many(chosen, actor=actor, reason=reason)
        else:
            answers = officers.each(move, chosen, actor=actor, reason=reason)
        self._report(move, answers)

    def _report(self, move: Move, answers: Iterable[Answer]) -> None:
        done = refused = 0
        for answer in answers:
            if answer.state is None:
                refused += 1
                self.stderr.write(f"{answer.job_id} refused ({answer.code}): {answer.message}")
            else:
                done += 1
                if done <= 100:
                    self.stdout.write(f"{answer.job_id} {answer.state}")
        self.stdout.write(f"{move}: {done} done, {refused} refused")
        if refused:
            raise SystemExit(1)

    def _dry_run(self, chosen: Iterable[UUID]) -> None:
        count = 0
        for job_id in chosen:
            count += 1
            if count <= 100:
                self.stdout.write(str(job_id))
        self.stdout.write(f"redrive: {count} would be tried; nothing was changed")

    def _pause_or_resume(self, **options: Any) -> None:
        scope = next(each for each in Pause.Scope.values if options[each] is not None)
        who = {"actor": _actor(options), "reason": _reason(options)}
        try:
            if options["verb"] == "pause":
                officers.pause(scope, options[scope], until=_until(options["until"]), **who)
            else:
                officers.resume(scope, options[scope], **who)
        except MoveRefused as refused:
            self._refuse(f"refused ({refused.code}): {refused}")
        self.stdout.write(f"{options['verb']}d: {scope} {options[scope]}")

    def _why(self, job_id: UUID) -> None:
        found = why(job_id)
        if found[0].code == "unknown_job":
            self._refuse(found[0].sentence)
        for reason in found:
            self.stdout.write(f"{reason.code}: {reason.sentence}")

    def _workers(self) -> None:
        now = database_now(alias())
        for worker in Worker.objects.using(alias()).order_by("host", "pid"):
            left = (worker.lease_until - now).total_seconds()
            state = "alive" if left > 0 else "lease passed"
            self.stdout.write(
                f"{worker.pk} {worker} {state} lease {left:+.0f}s queues {','.join(worker.queues)}"
            )

    def _counts(self) -> None:
        try:
            picture = gauges.current.answer()
        except Unreachable:
            self._refuse("The counts could not be read in time; try again.")
        for (kind, state), count in sorted(picture.depth.items()):
            self.stdout.write(f"{kind} {state} {count}")
        if picture.capped:
            self.stdout.write(
                f"counted up to {gauges.CAP} per priority in: {', '.join(sorted(picture.capped))}"
            )

    def _doctor(self, **options: Any) -> None:
        patient = Patient(processes=options["processes"], threads=options["threads"])
        report = Report.of(list(examine(patient)))
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(), indent=2))
        else:
            for finding in report.findings:
                self.stdout.write(finding.line(), self._style_of(finding))
            self.stdout.write(report.summary())
        if report.failed:
            raise SystemExit(1)

    def _style_of(self, finding: Finding) -> Callable[[str], str]:
        match finding.severity:
            case Severity.ERROR:
                return self.style.ERROR
            case Severity.WARNING:
                return self.style.WARNING
            case Severity.OK:
                return self.style.SUCCESS

    def _refuse(self, sentence: str) -> NoReturn:
        self.stderr.write(sentence)
        raise SystemExit(1)


def _add_who_and_why(verb: ArgumentParser) -> None:
    verb.add_argument("--reason", required=True, help="why; kept with the entry")
    verb.add_argument("--actor", help="who; default: the user of the operating system")


def _add_doctor(verb: ArgumentParser) -> None:
    verb.add_argument("--json", action="store_true", help="the same as one JSON object")
    verb.add_argument(
        "--processes", type=int, default=1, help="worker children of the worker that should fit (1)"
    )
    verb.add_argument("--threads", type=int, default=4, help="and its jobs at once per child (4)")


def _add_filters(verb: ArgumentParser) -> None:
    verb.add_argument("--kind")
    verb.add_argument("--code", help="the failure code the jobs died with")
    verb.add_argument("--queue")
    verb.add_argument("--tenant")
    verb.add_argument(
        "--dry-run", action="store_true", help="say what would be tried, change nothing"
    )


def _usage(sentence: str) -> CommandError:
    return CommandError(sentence, returncode=2)


def _ids(given: Iterable[str]) -> list[UUID]:
    found = []
    for text in given:
        try:
            found.append(UUID(text))
        except ValueError:
            raise _usage(f"Expected the id of a job (a UUID), got {text!r}.") from None
    return found


def _reason(options: dict[str, Any]) -> str:
    reason = str(options["reason"]).strip()
    if not reason or "\x00" in reason:
        raise _usage("--reason must say why, got nothing.")
    return reason


def _actor(options: dict[str, Any]) -> str:
    if options["actor"]:
        return str(options["actor"])
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid {os.getuid()}"


def _until(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise _usage(
            f"--until takes a moment with its offset (2026-12-01T06:00+01:00), got {text!r}."
        )
    return moment
