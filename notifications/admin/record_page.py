"""What the page of one message shows."""

from datetime import datetime
from typing import Any

from django.apps import apps
from django.db.models import Model
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html

from hubqueue.admin import cells
from hubqueue.admin.viewer import Viewer
from hubqueue.models import Job
from notifications.admin.standing import kind_of, pill, sentences
from notifications.decision import address_of
from notifications.deliver_handler import deliver
from notifications.models import Notification


def described(row: Notification, user: Viewer, now: datetime) -> dict[str, Any]:
    """The template's context. Addresses and links are for those only who may see what is behind them."""
    job = standing_job(row)
    return {
        "row": row,
        "title": f"{kind_of(row)} to {row.recipient}",
        "pill": pill(row),
        "sentences": sentences(row, job, now),
        "job": job if may(user, "hubqueue.view_job") else None,
        "jobs_of_it": _search(row) if may(user, "hubqueue.view_job") else "",
        "facts": _facts(row, user, now),
    }


def standing_job(row: Notification) -> Job | None:
    """The unfinished job that delivers it: found through the unique index of dedupe keys."""
    return Job.objects.unfinished_with_key(deliver.kind, str(row.pk)).first()


def may(user: Viewer, permission: str) -> bool:
    return user.has_perm(permission)


def view_permission(model: type[Model]) -> str:
    return f"{model._meta.app_label}.view_{model._meta.model_name}"


def _search(row: Notification) -> str:
    return f"{reverse('admin:hubqueue_job_changelist')}?q={row.pk}"


def _facts(row: Notification, user: Viewer, now: datetime) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = [
        ("to", _person(row.recipient, user)),
        ("kind of mail", format_html("{} <code>{}</code>", kind_of(row), row.category)),
        ("about", _about(row, user)),
        ("caused by", _person(row.actor, user) if row.actor else "nobody by hand"),
        ("cause", format_html("<code>{}</code>", row.cause_id)),
        ("tenant", row.tenant_id or "the installation itself"),
        ("attempts", str(row.attempts)),
        ("recorded", cells.when(row.created_at, now)),
    ]
    for label, moment in (
        ("uncertain since", row.uncertain_since),
        ("finished", row.finished_at),
    ):
        if moment is not None:
            facts.append((label, cells.when(moment, now)))
    facts.append(("id", str(row.pk)))
    return facts


def _person(person: Any, user: Viewer) -> object:
    """The name; the address and a link for those who may see accounts."""
    name = person.get_username()
    link = _page_of(person._meta.label_lower, person.pk, user)
    if not link:
        return name
    return format_html('<a href="{}">{}</a> {}', link, name, address_of(person) or "no address")


def _about(row: Notification, user: Viewer) -> object:
    if not row.subject_type:
        return cells.NOTHING
    said = f"{_name(row.subject_type)} {row.subject_id}"
    link = _page_of(row.subject_type, row.subject_id, user)
    return format_html('<a href="{}">{}</a>', link, said) if link else said


def _name(subject_type: str) -> str:
    try:
        return str(apps.get_model(subject_type)._meta.verbose_name)
    except (LookupError, ValueError):
        return subject_type


def _page_of(subject_type: str, key: object, user: Viewer) -> str:
    """The admin page of an object, if there is one and the user may open it."""
    label, _, model = subject_type.partition(".")
    if not may(user, f"{label}.view_{model}"):
        return ""
    try:
        return reverse(f"admin:{label}_{model}_change", args=[key])
    except NoReverseMatch:
        return ""
