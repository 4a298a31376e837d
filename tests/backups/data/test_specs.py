"""What is backed up is declared for every model, and a declaration that does not fit is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from unittest.mock import patch

import pytest
from django.apps import apps

from backups.data import spec
from backups.data.spec import Declared, SpecRefused, Specs, discover, undeclared
from backups.data.tables import Table, circles, tables
from leads.models import EventType


def test_every_model_is_declared_or_left_out_with_a_reason() -> None:
    specs = discover()
    assert undeclared(specs) == []
    assert all(len(reason) > 10 for reason in specs.left_out.values())
    assert {apps.get_model(label)._meta.label for label in specs.left_out} == specs.left_out.keys()


def test_what_opens_an_account_or_runs_a_job_is_never_in_archives() -> None:
    names = {table.label for table in tables(discover())}
    assert not names & {
        "sessions.Session",
        "accounts.Credential",
        "hubqueue.Job",
        "hubqueue.Failure",
    }


def test_what_is_referred_to_comes_first() -> None:
    found = tables(discover())
    place = {table.label: number for number, table in enumerate(found)}
    for table in found:
        for to in table.references:
            assert place[to] <= place[table.label]
    assert [table.label for table in found] == [table.label for table in tables(discover())]


def test_the_automatic_tables_come_with_their_model() -> None:
    names = {table.label for table in tables(discover())}
    assert {"auth.User_groups", "auth.User_user_permissions", "auth.Group_permissions"} <= names


def test_circles_stand_together() -> None:
    model = apps.get_model("leads.Lead")

    def table(label: str, *references: str) -> tuple[str, Table]:
        return label, Table(label, model, (), frozenset(references), Declared(model=label))

    found = dict([table("d", "c"), table("a", "b", "a"), table("b", "c", "a"), table("c")])
    assert circles(found) == [("c",), ("a", "b"), ("d",)]


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        (Declared(model="leads.Nothing"), "no installed model"),
        (Declared(model="Nothing"), "no installed model"),
        (Declared(model="leads.EventType", redact={"nome": ""}), "no column nome to redact"),
        (Declared(model="leads.EventType", stamped=("nome",)), "no column nome that could be"),
        (Declared(model="leads.EventType", tenant="nobody__id"), "nobody__id leads to no tenant"),
        (Declared(model="leads.EventType", tenant="name", shared=True), "must be one of the two"),
        (Declared(model="leads.EventType", shared_without="name"), "needs a tenant"),
        (Declared(model="leads.eventtype"), "its name is leads.EventType"),
        (Declared(model="leads.Answer"), "refers to leads.Question, which is not in archives"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(declared: Declared, why: str) -> None:
    with pytest.raises(SpecRefused, match=why):
        tables(Specs({declared.model: declared}, {}))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("proxy", True, "is a proxy and has no rows: declare leads.EventType"),
        ("db_table", '"elsewhere"."types"', "its table must be in the usual schema"),
    ],
)
def test_a_model_that_cannot_be_followed_is_refused(name: str, value: object, why: str) -> None:
    declared = Declared(model="leads.EventType", incremental=True)
    with patch.object(EventType._meta, name, value), pytest.raises(SpecRefused, match=why):
        tables(Specs({declared.model: declared}, {}))


def test_a_reference_that_is_written_as_null_may_lead_to_what_is_left_out() -> None:
    declared = Declared(model="leads.Event", redact={"type_id": None})
    (table,) = tables(Specs({"leads.Event": declared}, {}))
    assert table.references == set()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"BACKUP": [{"model": "leads.Lead", "tenent": "x"}]}, "unknown field `tenent`"),
        ({"BACKUP": [{"tenant": "x"}]}, "missing required field `model`"),
        ({"BACKUP": [{"model": "leads.Lead"}, {"model": "leads.Lead"}]}, "declared twice"),
        (
            {"BACKUP": [{"model": "leads.Lead"}], "LEFT_OUT": {"leads.Lead": "why"}},
            "one of the two",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(given: dict[str, object], why: str) -> None:
    with only(given), pytest.raises(SpecRefused, match=why):
        discover()


@contextmanager
def only(given: dict[str, object]) -> Iterator[None]:
    """As if this were the file of the only application that has one."""
    module = ModuleType("leads.backup_spec")
    vars(module).update(given)

    def has(package: object, name: str) -> bool:
        return getattr(package, "__name__", "") == "leads"

    with (
        patch.object(spec, "import_module", return_value=module),
        patch.object(spec, "module_has_submodule", has),
    ):
        yield
