"""What the documents name exists: files, links, commands, options, metrics, settings, log lines."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from hubqueue.conf import Conf
from tests.conftest import CHECKOUT
from tests.docs import commands, names
from tests.docs.blocks import anchors, documents, links, words

DOCUMENTS = pytest.mark.parametrize(
    "document", documents(), ids=lambda path: str(path.relative_to(CHECKOUT))
)
TOP = (
    "backups/",
    "hubqueue/",
    "leads/",
    "config/",
    "docs/",
    "tests/",
    "templates/",
    "bench/",
    ".ci/",
)
OTHERS_OPTIONS = {
    "--bind",
    "--workers",
    "--deploy",
    "--noinput",
    "--until-idle",
    "--reload",
    "--help",
    "--check",
}


@DOCUMENTS
def test_every_link_leads_somewhere(document: Path) -> None:
    missing = []
    for target in links(document):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        aim = (document.parent / path).resolve() if path else document
        if not aim.exists() or (anchor and anchor not in anchors(aim)):
            missing.append(target)
    assert not missing


@DOCUMENTS
def test_every_file_that_is_named_exists(document: Path) -> None:
    missing = []
    for word in words(document):
        if not re.fullmatch(r"\.?[\w./-]+", word) or not word.startswith(TOP):
            continue
        if re.search(r"\b(NAME|ID)\b", word):
            continue
        if not (CHECKOUT / word).exists() and not list(CHECKOUT.glob(f"{word}.*")):
            missing.append(word)
    assert not missing


@DOCUMENTS
def test_every_option_that_is_named_exists(document: Path) -> None:
    known = commands.options() | OTHERS_OPTIONS
    named = {each for word in words(document) for each in re.findall(r"(?<!\S)--[a-z-]+", word)}
    assert not named - known


@DOCUMENTS
def test_every_metric_and_database_name_exists(document: Path, db: None) -> None:
    known = names.metrics() | names.database_names() | names.permissions()
    text = document.read_text()
    named = set(re.findall(r"(?<![\w./-])(?:accounts|hubqueue|leads)_[a-z0-9_]+(?![\w(./-])", text))
    invented = {"hubqueue_app"}  # the role that production.md makes
    unknown = named - known - invented
    assert not {each for each in unknown if not _is_prefix(each, known)}


def _is_prefix(word: str, known: set[str]) -> bool:
    """`hubqueue_duty_` followed by a star stands for several."""
    return word.endswith("_") and any(each.startswith(word) for each in known)


@DOCUMENTS
def test_every_setting_and_variable_that_is_named_exists(document: Path) -> None:
    text = document.read_text()
    keys = set(re.findall(r"HUBQUEUE\[['\"]([A-Z_]+)['\"]\]", text))
    assert not keys - names.settings()
    variables = set(
        re.findall(r"(?<![\w-])(?:ACCOUNTS|HUBQUEUE|LEADS|EVENT_LEAD|DATABASE)_[A-Z_]+", text)
    )
    code = names.source()
    assert not {each for each in variables if each not in code and each.lower() not in code}


@DOCUMENTS
def test_every_check_that_is_named_exists(document: Path) -> None:
    named = re.findall(r"\b(?:accounts|hubqueue|leads|config)\.[EW]\d{3}\b", document.read_text())
    assert not {each for each in named if each not in names.source()}


def test_every_document_is_in_the_index() -> None:
    index = CHECKOUT / "docs" / "README.md"
    listed = {(index.parent / each.partition("#")[0]).resolve() for each in links(index)}
    written = set((CHECKOUT / "docs").rglob("*.md")) - {index}
    assert not {each.name for each in written if each.resolve() not in listed}


def test_every_setting_stands_in_production_with_its_default() -> None:
    table = dict(
        re.findall(
            r"^\| `([A-Z_]+)` \| ([^|]+) \|",
            (CHECKOUT / "docs" / "production.md").read_text(),
            flags=re.MULTILINE,
        )
    )
    said = {name: table.get(name, "missing").strip() for name in names.settings()}
    assert said == {name: _shown(name) for name in names.settings()}


def _shown(name: str) -> str:
    default = getattr(Conf(), name.lower())
    match default:
        case timedelta():
            return _span(default)
        case bool():
            return "on" if default else "off"
        case int():
            return f"{default // 1024} KiB" if name.endswith("_LIMIT") else str(default)
        case None:
            return "none"
        case _:
            return f'`("{default[0]}",)`'


def _span(length: timedelta) -> str:
    if length.days:
        return f"{length.days} days"
    if length < timedelta(seconds=1):
        return f"{length.microseconds // 1000} ms"
    seconds = round(length.total_seconds())
    return f"{seconds // 3600} h" if seconds % 3600 == 0 else f"{seconds} s"


def test_every_log_line_in_production_is_written_by_the_code() -> None:
    text = (CHECKOUT / "docs" / "production.md").read_text()
    table = text.partition("## Log lines")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `([^`]+)` \| (error|warning|info) \|", table, flags=re.MULTILINE)
    assert len(lines) > 8
    missing = [line for line, _ in lines if not _is_said(line)]
    assert not missing


def _is_said(line: str) -> bool:
    code = names.source()
    # "worker died" is put together: "worker " and the event.
    return line in code or (line.startswith("worker ") and f'"{line.split()[1]}"' in code)


def test_every_failure_code_in_the_runbooks_is_given_by_the_code() -> None:
    text = (CHECKOUT / "docs" / "runbooks.md").read_text()
    table = text.partition("| code | meaning |")[2].partition("\n\n")[0]
    codes = re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)
    assert len(codes) == 5
    assert not [code for code in codes if f'"{code}"' not in names.source()]


def test_every_reason_that_why_gives_stands_in_the_runbooks() -> None:
    given = set(re.findall(r'Reason\(\s*"(\w+)"', (CHECKOUT / "hubqueue" / "why.py").read_text()))
    named = words(CHECKOUT / "docs" / "runbooks.md")
    # What needs no runbook: it is over, or it says what to do in the sentence.
    assert given - named == {"unknown_job", "dead", "finished", "wake_up_pending"}
