"""``manage.py leads VERB ...``: the officers' verbs on a terminal.

Exit codes: 0 done, 1 refused (one sentence), 2 the command line is wrong.
"""

import getpass
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from leads import officers, services
from leads.errors import LeadError
from leads.models import Answer, Event, Question
from leads.predicates import PredicateRefused

ON_EVENTS = {
    "run": "Walk the event's registrations now, done or not.",
    "park": "Take the event's request out of the claim until it is released.",
    "release": "Let a parked request be claimed again.",
    "rearm": "Have every registration of the event looked at again.",
}


class Command(BaseCommand):
    help = "Officers' verbs on lead requests, leads and rules."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for name, text in ON_EVENTS.items():
            verb = verbs.add_parser(name, help=text, description=text)
            verb.add_argument("event", help="the event's id or its code")
            verb.add_argument("--tenant", help="whose code it is")
            _add_who_and_why(verb)
        text = "After a merge in the CRM: move the groups of one lead to another."
        relink = verbs.add_parser("relink-lead", help=text, description=text)
        relink.add_argument("old")
        relink.add_argument("new")
        _add_who_and_why(relink)
        text = "Make a rule whose single condition is an answer to a question."
        rule = verbs.add_parser("rule-from-answer", help=text, description=text)
        rule.add_argument("question", help="the question's id or title")
        rule.add_argument("answer", help="the answer's id or title")
        rule.add_argument("--name", default="")
        rule.add_argument("--event", help="for this event only: its id or code")
        rule.add_argument("--tenant", help="whose code it is")
        for moment in ("create", "confirm", "done"):
            rule.add_argument(f"--on-{moment}", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            match options["verb"]:
                case "relink-lead":
                    moved = officers.relink_lead(options["old"], options["new"], **_who(options))
                    self.stdout.write(f"{moved} groups moved")
                case "rule-from-answer":
                    self._rule(options)
                case verb:
                    self._on_event(verb, options)
        except (LeadError, PredicateRefused) as refused:
            raise CommandError(f"{refused} ({refused.code})") from None
        except ValidationError as refused:
            raise CommandError(" ".join(refused.messages)) from None

    def _on_event(self, verb: str, options: dict[str, Any]) -> None:
        event = _event(options["event"], options["tenant"])
        answer = getattr(officers, verb)(event.pk, **_who(options))
        self.stdout.write(f"{verb}: {event}" + (f" (job {answer})" if answer else ""))

    def _rule(self, options: dict[str, Any]) -> None:
        question = _by_id_or_title(Question.objects.all(), options["question"], "question")
        answer = _by_id_or_title(
            Answer.objects.filter(question=question), options["answer"], "answer of this question"
        )
        moments = {f"on_{name}": options[f"on_{name}"] for name in ("create", "confirm", "done")}
        if not any(moments.values()):
            moments["on_create"] = True
        event = _event(options["event"], options["tenant"]) if options["event"] else None
        rule = services.rule_from_answer(
            question, answer, name=options["name"], event=event, by=getpass.getuser(), **moments
        )
        self.stdout.write(f"rule {rule.pk}: {rule}")


def _add_who_and_why(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", required=True, help="kept in the log")
    parser.add_argument("--actor", default="", help="who (the user of this terminal)")


def _who(options: dict[str, Any]) -> dict[str, str]:
    return {"actor": options["actor"] or getpass.getuser(), "reason": options["reason"]}


def _event(given: str, tenant: str | None) -> Event:
    as_id = _as_id(given)
    found = (
        Event.objects.filter(pk=as_id)
        if as_id
        else Event.objects.filter(code=given, tenant_id=tenant)
    ).first()
    if found is None:
        raise CommandError("Expected the id or the code of an event; there is none of this name.")
    return found


def _by_id_or_title(rows: Any, given: str, noun: str) -> Any:
    as_id = _as_id(given)
    found = (rows.filter(pk=as_id) if as_id else rows.filter(title=given)).first()
    if found is None:
        raise CommandError(f"Expected the id or the title of a {noun}; there is none of this name.")
    return found


def _as_id(given: str) -> UUID | None:
    try:
        return UUID(given)
    except ValueError:
        return None
