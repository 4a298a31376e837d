"""Importing files: what a person really uploads, and what must come of it."""

import csv
import io
from datetime import datetime

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.models import Job
from hubqueue.testing import run_due_jobs
from leads import imports, services
from leads.errors import ImportRefused
from leads.importing import files
from leads.importing.columns import REQUIRED, read_header
from leads.importing.events import import_events
from leads.importing.lines import lines, records
from leads.importing.report import report_lines
from leads.importing.rows import Problem
from leads.models import (
    Answer,
    Event,
    ImportPiece,
    ImportProblem,
    ImportRun,
    Lead,
    LeadArm,
    Question,
    Registration,
    RegistrationAnswer,
)
from tests.leads.made import make_event, walk_all

pytestmark = pytest.mark.django_db
HEADER = "event;name;email;phone;company;sale_order;state;registered_at;Contact?"
GOOD = "K1;Ada;ada{n}@example.org;+1;Acme;S1;open;2026-05-01T10:00:00+02:00;yes"


@pytest.fixture
def event():
    return make_event(code="K1")


def file_of(*rows: str | bytes, header: str = HEADER, bom: bool = True, end: bytes = b"\r\n"):
    said = [header, *rows]
    body = b"".join((row if isinstance(row, bytes) else row.encode()) + end for row in said)
    return io.BytesIO((b"\xef\xbb\xbf" if bom else b"") + body)


def row(**changes: str) -> str:
    """A good row with these columns changed."""
    cells = dict(zip(HEADER.split(";"), GOOD.format(n=1).split(";"), strict=True))
    return ";".join({**cells, **changes}.values())


BAD = {
    "unknown_event": row(event="K9"),
    "no_event": row(event=""),
    "unreachable": row(email="", phone=""),
    "email": row(email="not-an-address"),
    "state": row(state="perhaps"),
    "date": row(registered_at="2026-02-31T10:00:00+01:00"),
    "no_zone": row(registered_at="2026-05-01T10:00:00"),
    "absurd_date": row(registered_at="1066-10-14T09:00:00+00:00"),
    "too_long": row(name="x" * 100_000),
    "control_character": row(email='"a@example.org\r\nBcc: b@example.org"'),
    "no_name": row(name="  "),
    "empty": ";;;;;;;;",
    "too_short_row": "K1;Short",
    "too_long_row": row() + ";one;more",
    "nul": row(name="Nu\x00l"),
    "not_utf8": row(name="M?").encode().replace(b"?", b"\xfcller"),
    "malformed": row(name='"A"b'),
}


@pytest.mark.parametrize("code", sorted(BAD))
def test_a_bad_row_is_named_by_its_line_and_reason_and_nothing_else_happens(event, code):
    file = file_of(GOOD.format(n=1), BAD[code], GOOD.format(n=2))
    loaded = imports.import_registrations(file)
    assert (loaded.imported, loaded.duplicates, loaded.bad) == (2, 0, 1)
    (problem,) = loaded.problems
    assert (problem.line, problem.code) == (3, code)
    assert Registration.objects.count() == 2


@pytest.mark.parametrize(
    "moment", ["99999-01-01T00:00:00+00:00", "31.02.2026", "now", "2026-05-01", "", "2026-05-01T25:00:00+00:00", "2026-W10-1T00:00+99:00"]  # noqa: E501
)  # fmt: skip
def test_a_date_that_is_none_is_refused(event, moment):
    loaded = imports.import_registrations(file_of(row(registered_at=moment)))
    assert loaded.imported == 0
    assert loaded.problems[0].code in {"date", "no_zone"}


def test_a_messy_file_has_the_right_outcome_and_the_same_file_again_changes_nothing(event):
    good = [GOOD.format(n=n) for n in range(20)]
    good[1] = row(name='"Two\r\nLines"', email="two@example.org")
    good[2] = row(name='=HYPERLINK("x")'.replace('"', '""').join('""'), email="f@example.org")
    good[3] = row(email="user@bücher.example")
    good[4] = row(email="UPPER.Case@EXAMPLE.ORG", state="OPEN")
    good[5] = row(email="", phone="+49 30 1")
    good[6] = row(email="dst@example.org", registered_at="2026-10-25 02:30:00+02:00")
    rows = [*good[:10], BAD["nul"], *good[10:], good[12], *BAD.values(), "", good[5], "", ""]

    for imported in (20, 0):
        loaded = imports.import_registrations(file_of(*rows))
        assert loaded.imported == imported
        assert loaded.duplicates == 22 - imported
        assert loaded.bad == len(BAD) + 2
        assert Registration.objects.count() == 20
    assert Registration.objects.get(email="two@example.org").name == "Two Lines"
    assert Registration.objects.get(email="f@example.org").name == '=HYPERLINK("x")'
    assert Registration.objects.get(email="UPPER.Case@EXAMPLE.ORG").state == "open"


def test_lines_are_counted_as_an_editor_counts_them(event):
    rows = [row(name='"A\r\n\r\nB"', email="a@example.org"), BAD["email"], "", BAD["state"]]
    loaded = imports.import_registrations(file_of(*rows))
    assert [(p.line, p.code) for p in loaded.problems] == [(5, "email"), (6, "empty"), (7, "state")]


def test_a_quotation_mark_that_is_never_closed_costs_its_own_line_only(event):
    rows = [row(name='"never closed'), *(GOOD.format(n=n) for n in range(300))]
    loaded = imports.import_registrations(file_of(*rows))
    assert (loaded.imported, loaded.bad) == (300, 1)
    assert [(p.line, p.code) for p in loaded.problems] == [(2, "malformed")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiters_line_ends_and_encodings_are_found_out(event, delimiter, end, encoding):
    text = "\n".join([HEADER, row(name="Zoë"), row(name="李坤", email="l@example.org")]) + "\n"
    text = text.replace(";", delimiter).replace("\n", end.decode())
    loaded = imports.import_registrations(io.BytesIO(text.encode(encoding)))
    assert loaded.problems == []
    assert set(Registration.objects.values_list("name", flat=True)) == {"Zoë", "李坤"}


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("", "empty line"),
        ("K1;Ada;ada@example.org;1;;;open;2026-05-01T10:00:00Z", "without any"),
        ("event;name;email;phone;company;sale_order;state", "missing are registered_at"),
        (HEADER + ";Email", "twice"),
        (HEADER + ";;", "twice"),
        (HEADER + ";" + "x" * 201, "200"),
        (HEADER + "".join(f";q{n}" for n in range(60)), "at most 50"),
    ],
)
def test_a_file_without_its_columns_is_refused_in_one_sentence(event, header, said):
    with pytest.raises(ImportRefused, match=said) as refused:
        imports.import_registrations(file_of(GOOD.format(n=1), header=header))
    assert str(refused.value).count("\n") == 0
    assert not Registration.objects.exists()


def test_an_empty_file_is_refused(event):
    with pytest.raises(ImportRefused):
        imports.import_registrations(io.BytesIO(b""))


def test_a_file_beyond_the_size_limit_is_refused(event, settings):
    settings.LEADS_IMPORT_SIZE_LIMIT = 1000
    with pytest.raises(ImportRefused, match="1000"):
        imports.import_registrations(file_of(*[GOOD.format(n=n) for n in range(50)]))


def test_a_line_of_many_megabytes_is_one_bad_record(event):
    loaded = imports.import_registrations(file_of("x" * 3_000_000, GOOD.format(n=1)))
    assert (loaded.imported, loaded.bad) == (1, 1)
    assert loaded.problems[0].line == 2


@given(st.binary(max_size=400))
@hypothesis_settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_bytes_break_the_reader_and_no_line_is_lost(content):
    body = content.replace(b"\xff\xfe", b"").replace(b"\xfe\xff", b"")
    found = list(records(lines([b"head\n", body]), ";"))
    starts = [each.line for each in found]
    assert starts == sorted(set(starts))
    assert all(1 <= line <= body.count(b"\n") + body.count(b"\r") + 2 for line in starts)


@given(
    st.lists(
        st.lists(st.text(alphabet='ab;"\n\r é', max_size=6), min_size=2, max_size=2), max_size=6
    )
)
@hypothesis_settings(max_examples=150, deadline=None)
def test_what_a_csv_writer_wrote_is_read_back(rows):
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=";", lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(
        [[cell.replace("\r", "") for cell in each] for each in rows]
    )
    found = list(records(lines([written.getvalue().encode()]), ";"))
    assert [each.problem for each in found] == [None] * len(rows)
    assert [each.cells for each in found] == [[c.replace("\r", "") for c in r] for r in rows]


def test_columns_beyond_the_known_ones_are_questions_and_empty_means_not_answered(event):
    imports.import_registrations(file_of(row(), row(email="b@example.org", **{"Contact?": ""})))
    question = Question.objects.get()
    assert question.title == "contact?"
    assert Answer.objects.get().title == "yes"
    assert RegistrationAnswer.objects.get().registration.email == "ada1@example.org"


def test_the_moment_is_kept_as_it_was_meant(event):
    imports.import_registrations(file_of(row()))
    stored = Registration.objects.get().created_at
    assert stored == datetime.fromisoformat("2026-05-01T10:00:00+02:00")


def test_an_import_arms_each_event_once_per_trigger_and_leads_come_of_it(event):
    services.create_rule(name="everybody", on_create=True)
    imports.import_registrations(file_of(*[GOOD.format(n=n) for n in range(30)]))
    assert list(LeadArm.objects.values_list("trigger", flat=True)) == ["created"]
    walk_all()
    assert Lead.objects.get().registrations == 30


def test_the_exemption_generates_no_leads(event):
    services.create_rule(name="everybody", on_create=True)
    imports.import_registrations(file_of(GOOD.format(n=1)), arm_leads=False)
    assert not LeadArm.objects.exists()
    assert walk_all().summary.claimed == 0


def test_exempted_registrations_are_found_by_the_next_walk_of_their_event(event):
    services.create_rule(name="everybody", on_create=True)
    imports.import_registrations(file_of(GOOD.format(n=1)), arm_leads=False)
    services.register(event, name="B", phone="2", sale_order_id="S1")
    walk_all()
    assert Lead.objects.get().registrations == 2


def test_a_tenant_sees_its_own_events_only(event):
    theirs = make_event(code="K1", tenant_id="t1")
    imports.import_registrations(file_of(GOOD.format(n=1)), tenant="t1")
    assert Registration.objects.get().event == theirs
    loaded = imports.import_registrations(file_of(GOOD.format(n=1)), tenant="t2")
    assert loaded.problems[0].code == "unknown_event"


def upload(*rows, **options):
    said = {"tenant": None, "arm_leads": True, "by": "anna", **options}
    return imports.upload(file_of(*rows), "guests.csv", **said)


def test_an_uploaded_file_is_imported_by_a_job_and_leaves_its_report(event):
    run = upload(GOOD.format(n=1), BAD["email"], GOOD.format(n=2), GOOD.format(n=1))
    assert not Registration.objects.exists()
    assert imports.start(run)
    assert not imports.start(run)
    run_due_jobs()
    run.refresh_from_db()
    assert (run.state, run.records, run.imported, run.duplicates, run.bad) == ("done", 4, 2, 1, 1)
    assert run.finished_at is not None
    problems = ImportProblem.objects.order_by("line").values_list("line", "code")
    assert list(problems) == [(3, "email"), (5, "duplicate")]
    assert not ImportPiece.objects.exists()


def test_an_import_that_dies_goes_on_after_its_last_chunk(event, settings, monkeypatch):
    settings.LEADS_IMPORT_CHUNK = 3
    run = upload(*[GOOD.format(n=n) for n in range(10)], BAD["email"])
    imports.start(run)
    real, calls = files.load, []

    def dies(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError
        return real(*args, **options)

    monkeypatch.setattr(files, "load", dies)
    run_due_jobs()
    run.refresh_from_db()
    assert (run.state, run.records, Registration.objects.count()) == ("running", 6, 6)
    Job.objects.update(run_at=datetime.fromisoformat("2020-01-01T00:00:00+00:00"))
    run_due_jobs()
    run.refresh_from_db()
    assert (run.state, run.records, run.imported, run.duplicates, run.bad) == ("done", 11, 10, 0, 1)


def test_an_import_whose_job_is_cancelled_says_so(event):
    run = upload(GOOD.format(n=1))
    imports.start(run)
    officers.cancel(Job.objects.get().pk, actor="anna", reason="wrong file")
    run.refresh_from_db()
    assert (run.state, run.imported) == ("refused", 0)
    assert "given up" in run.refusal
    assert not Registration.objects.exists()


def test_an_upload_without_its_columns_is_refused_and_keeps_nothing(event):
    with pytest.raises(ImportRefused):
        imports.upload(io.BytesIO(b"a,b\n1,2\n"), "x", tenant=None, arm_leads=True, by="a")
    assert not ImportRun.objects.exists()


def test_a_preview_shows_what_was_understood(event):
    shown = imports.preview_run(upload(GOOD.format(n=1), BAD["not_utf8"], BAD["nul"]))
    assert (shown.encoding, shown.delimiter) == ("UTF-8", "semicolons")
    assert shown.columns[:2] == ("event", "name")
    assert shown.rows[0][:2] == ["K1", "Ada"]
    assert shown.rows[1][1] == "M?ller"


def test_no_cell_of_a_report_is_run_by_a_spreadsheet():
    lines = list(report_lines([Problem(3, "=1+1", "@SUM(A1)"), Problem(4, "x", "fine")]))
    assert lines == ["line,code,reason\r\n", "3,'=1+1,'@SUM(A1)\r\n", "4,x,fine\r\n"]


def test_the_header_may_be_quoted_and_in_capitals():
    layout = read_header('"EVENT", "Name" ,' + ",".join(REQUIRED[2:]))
    assert layout.names == REQUIRED


def test_events_are_created_once_and_a_bad_one_refuses_all():
    head = b"code,name,type,time_zone\n"
    good = head + b"A,Alpha,fair,Europe/Berlin\nB,Beta,,Asia/Tokyo\n"
    assert import_events(io.BytesIO(good)) == 2
    assert import_events(io.BytesIO(good)) == 0
    with pytest.raises(ImportRefused, match="Line 3: time_zone"):
        import_events(io.BytesIO(head + b"C,Gamma,,UTC\nD,Delta,,Mars/Olympus\n"))
    assert Event.objects.count() == 2


def test_the_command_imports_and_tells(event, tmp_path, capsys):
    path, report = tmp_path / "r.csv", tmp_path / "report.csv"
    path.write_bytes(file_of(GOOD.format(n=1), BAD["email"]).getvalue())
    call_command("import_registrations", str(path), "--report", str(report))
    said = capsys.readouterr().out
    assert "line 3: email is not an address" in said
    assert said.endswith("1 imported, 0 duplicates, 1 bad\n")
    assert report.read_bytes().startswith(b"line,code,reason\r\n3,email,")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_registrations", str(tmp_path / "no such file"))
    path.write_bytes(b"a;b\n")
    with pytest.raises(CommandError, match="Expected a header"):
        call_command("import_registrations", str(path))


def test_an_import_whose_job_is_redriven_goes_on_where_it_stood(event, monkeypatch):
    run = upload(GOOD.format(n=1))
    imports.start(run)
    job = Job.objects.get(kind="leads.import_registrations")
    Job.objects.filter(pk=job.pk).update(attempts=99)
    run_due_jobs()
    run.refresh_from_db()
    assert (Job.objects.get(pk=job.pk).state, run.state) == ("DEAD", "refused")
    officers.redrive(job.pk, actor="anna", reason="the cause is gone")
    run.refresh_from_db()
    assert (run.state, run.refusal, run.finished_at) == ("running", "", None)
    run_due_jobs()
    run.refresh_from_db()
    assert (run.state, run.imported) == ("done", 1)


def test_an_import_without_its_file_is_not_redriven(event):
    run = upload(GOOD.format(n=1))
    imports.start(run)
    job = Job.objects.get(kind="leads.import_registrations")
    officers.cancel(job.pk, actor="anna", reason="wrong file")
    run.pieces.all().delete()
    Job.objects.filter(pk=job.pk).update(state="DEAD")
    with pytest.raises(MoveRefused, match="upload it again"):
        officers.redrive(job.pk, actor="anna", reason="x")
