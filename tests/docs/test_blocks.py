"""Every snippet of the documents is run: Python, SQL and command lines, on a real PostgreSQL."""

import re
import shlex
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connection, transaction

from bench.__main__ import alone as bench_alone
from bench.commandline import parse as parse_bench
from hubqueue.conf import conf, read
from hubqueue.registry import registry
from notifications.categories import _categories
from tests.conftest import CHECKOUT
from tests.docs import commands
from tests.docs.blocks import Block, all_blocks, blocks, command, documents, indented_code
from tests.docs.stage import stage

PROGRAMS = {
    "bash", "cd", "createdb", "curl", "django-admin", "export", "git", "gunicorn", "kill", "make", "pip", "psql",
    "python", "python3", "systemctl",
}  # fmt: skip
QUICKSTART = "quickstart.md"


def named(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


def test_what_is_not_run_says_why() -> None:
    assert not [str(each) for each in all_blocks() if not each.is_run and len(each.reason) < 10]


def test_every_block_has_a_language() -> None:
    known = {"python", "sh", "sql", "text", "yaml", "ini", "json", "toml", "mermaid"}
    assert not [f"{each} {each.language!r}" for each in all_blocks() if each.language not in known]


@pytest.mark.parametrize("document", documents(), ids=named)
def test_code_is_fenced_so_that_it_is_run(document: Path) -> None:
    assert not indented_code(document)


@pytest.fixture
def own_registry() -> Iterator[None]:
    """What the snippets register is forgotten afterwards."""
    tables = [value for value in vars(registry).values() if isinstance(value, dict)]
    tables.append(_categories)
    before = [dict(each) for each in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    conf.cache_clear()


@pytest.mark.parametrize(
    "document", [each for each in documents() if each.name != QUICKSTART], ids=named
)
@pytest.mark.usefixtures("own_registry", "transactional_db")
def test_python_runs(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [each for each in blocks(document, "python") if each.is_run]
    with stage(document, monkeypatch) as names:
        for block in found:
            run_python(block, names)


def run_python(block: Block, names: dict[str, Any]) -> None:
    """Run a block; its lines count from where it stands in the document."""
    text = "\n" * block.line + block.text
    code = compile(text, str(block.document), "exec", dont_inherit=True)
    before = set(names)
    exec(code, names)
    for made in (names[each] for each in names.keys() - before):
        if isinstance(made, type) and made.__module__ == names["__name__"]:
            run_tests_of(made, block)
    if "HUBQUEUE" in names:
        settings = read(names.pop("HUBQUEUE"))
        assert settings.problems() == [], str(block)


def run_tests_of(made: type, block: Block) -> None:
    """A class of tests in a snippet is run, not only defined."""
    if issubclass(made, unittest.TestCase):
        outcome = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(made).run(outcome)
        assert outcome.testsRun, str(block)
        assert outcome.wasSuccessful(), f"{block}\n{outcome.errors}\n{outcome.failures}"


def sql_statements() -> list[tuple[str, str]]:
    """(where, statement) of every SQL block, and of every `psql -c`."""
    found = [
        (str(block), statement)
        for block in all_blocks("sql")
        if block.is_run
        for statement in _split(block.text)
    ]
    for block in all_blocks("sh"):
        for line in block.lines():
            told = command(line)
            if told[:1] == ["psql"]:
                found += [
                    (str(block), told[at + 1]) for at, w in enumerate(told) if w.endswith("c")
                ]
    return found


def _split(text: str) -> list[str]:
    bare = re.sub(r"--.*", "", text)
    return [each.strip() for each in bare.split(";") if each.strip()]


@pytest.mark.django_db(transaction=True)
def test_sql_runs() -> None:
    assert sql_statements()
    with transaction.atomic(), connection.cursor() as cursor:
        for where, statement in sql_statements():
            try:
                cursor.execute(statement)
            except Exception as problem:
                pytest.fail(f"{where}: {problem}\n{statement}", pytrace=False)
        transaction.set_rollback(True)


def command_lines() -> list[tuple[str, str]]:
    """(where, line) of every shell line, of commands behind a pipe, and of what systemd starts."""
    found = []
    for block in all_blocks("sh"):
        for line in block.lines():
            found.append((str(block), line))
            if "| xargs " in line:
                found.append(
                    (str(block), line.partition("| xargs ")[2].removeprefix("-r ") + " ID")
                )
    for block in all_blocks("ini"):
        found += [(str(block), each) for each in re.findall(r"^ExecStart=(.*)$", block.text, re.M)]
    return found


def test_command_lines_name_commands_and_options_that_exist() -> None:
    wrong = []
    for where, line in command_lines():
        problem = _problem(command(line))
        if problem:
            wrong.append(f"{where}: {line}\n    {problem}")
    assert not wrong, "\n".join(wrong)


def _problem(told: list[str]) -> str:
    match told:
        case ["./dev", word, *rest]:
            if word not in commands.dev_commands():
                return f"./dev knows no {word}"
            match word, rest:
                case "manage", [name, *arguments]:
                    return _misuse(name, arguments)
                case "demo", arguments:
                    return _misuse("demo", arguments)
                case "bench", [name, *_] if name not in bench_alone():
                    return _misused_bench(rest)
            return ""
        case [python, "manage.py", name, *arguments] if "python" in python:
            return _misuse(name, arguments)
        case ["manage.py", name, *arguments]:
            return _misuse(name, arguments)
        case [python, manage, name, *arguments] if manage.endswith("/manage.py"):
            return _misuse(name, arguments)
        case [program, *_] if Path(program).name in PROGRAMS:
            return ""
    return f"nobody checked what {shlex.join(told[:1])} is; add it to PROGRAMS"


def _misused_bench(arguments: list[str]) -> str:
    if "--help" in arguments:
        return ""
    try:
        parse_bench(arguments, bench_alone())
    except SystemExit:
        return "the bench refuses it"
    return ""


def _misuse(name: str, arguments: list[str]) -> str:
    try:
        parser = commands.parser(name)
    except KeyError:
        return f"there is no command {name}"
    if "-h" in arguments or "--help" in arguments:
        return ""
    try:
        parser.parse_args(arguments)
    except (CommandError, SystemExit) as refused:
        return str(refused)
    return ""


def test_the_prose_names_commands_that_exist() -> None:
    wrong = []
    for document in documents():
        for told in re.findall(
            r"`((?:\./dev|(?:python )?manage\.py) [^`]+)`", document.read_text()
        ):
            words = [each for each in re.split(r"\s+", told) if each]
            if words[0] == "python":
                words.pop(0)
            if words[0] == "./dev" and words[1] not in commands.dev_commands():
                wrong.append(f"{document.name}: {told}")
            name = words[2:3] if words[:2] == ["./dev", "manage"] else words[1:2]
            if words[0] == "manage.py" or words[1] == "manage":
                try:
                    commands.parser(*name) if name and name[0].islower() else None
                except KeyError:
                    wrong.append(f"{document.name}: {told}")
    assert not wrong
