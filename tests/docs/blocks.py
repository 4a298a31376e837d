"""The documents of the repository and what stands in them: fenced blocks, headings, links, words in backticks.

A fence's first word is its language. What follows may say:

- ``file=PATH``: the block is a file of the quickstart's project, ``append`` adds to it;
- ``run``: a shell block that the quickstart's test runs line by line;
- ``no-run``: not executed; the reason follows in the same line and is required.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import CHECKOUT

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)$")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, what its fence says, and its text."""

    document: Path
    line: int
    language: str
    info: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.document.relative_to(CHECKOUT)}:{self.line}"

    @property
    def is_run(self) -> bool:
        return "no-run" not in self.info

    @property
    def reason(self) -> str:
        """Why it is not run; empty when it is."""
        return "" if self.is_run else " ".join(self.info[self.info.index("no-run") + 1 :])

    @property
    def file(self) -> str | None:
        return next((each.removeprefix("file=") for each in self.info if "file=" in each), None)

    def lines(self) -> Iterator[str]:
        """Command lines: continued lines joined, comments, prompts and blank lines dropped."""
        for line in self.text.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if line and not line.startswith("#"):
                yield line


def documents() -> list[Path]:
    """Every document that people read."""
    top = [CHECKOUT / name for name in ("README.md", "CHANGELOG.md")]
    return [*top, *sorted((CHECKOUT / "docs").rglob("*.md"))]


def blocks(document: Path, *languages: str) -> list[Block]:
    """The fenced blocks of a document, of these languages if any are given."""
    found = list(_blocks(document))
    return [each for each in found if not languages or each.language in languages]


def all_blocks(*languages: str) -> list[Block]:
    """The same over all documents."""
    return [block for document in documents() for block in blocks(document, *languages)]


def _blocks(document: Path) -> Iterator[Block]:
    opened: tuple[int, str, str] | None = None
    body: list[str] = []
    for number, line in enumerate(document.read_text().splitlines(), start=1):
        fence = FENCE.match(line)
        if opened is None:
            if fence:
                opened, body = (number, fence["indent"], fence["info"]), []
        elif fence and not fence["info"].strip():
            start, _, info = opened
            language, *rest = info.split() or [""]
            yield Block(document, start, language, tuple(rest), "\n".join(body) + "\n")
            opened = None
        else:
            body.append(line.removeprefix(opened[1]))
    assert opened is None, f"{document}: the fence of line {opened[0] if opened else 0} stays open"


def prose(document: Path) -> str:
    """The document without its fenced blocks."""
    kept, inside = [], False
    for line in document.read_text().splitlines():
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def links(document: Path) -> list[str]:
    """The targets of all links and images."""
    return [match["target"] or match["image"] for match in LINK.finditer(prose(document))]


def anchors(document: Path) -> set[str]:
    """The anchors GitHub makes of the headings."""
    headings = re.findall(r"^#+ +(.*?) *#*$", prose(document), flags=re.MULTILINE)
    return {slug(each) for each in headings}


def slug(heading: str) -> str:
    """A heading as GitHub writes its anchor."""
    plain = re.sub(r"[^\w\- ]", "", heading.lower())
    return plain.replace(" ", "-")


def words(document: Path) -> set[str]:
    """What the prose has in backticks."""
    return set(CODE.findall(prose(document)))


def command(line: str) -> list[str]:
    """A shell line as words, without assignments, exec, sudo and redirections before and after it."""
    found = shlex.split(line, comments=True)
    while found and (re.fullmatch(r"[A-Z_]+=.*", found[0], flags=re.DOTALL) or found[0] == "exec"):
        found.pop(0)
    if found[:2] == ["sudo", "-u"]:
        del found[:3]
    for stop, word in enumerate(found):
        if word in {"|", "&&", ";", ">", "<", ">>", "2>&1"}:
            return found[:stop]
    return found


def indented_code(document: Path) -> list[int]:
    """The lines of code blocks that are made by indenting only. Continued list items are none."""
    found, in_list, before = [], False, ""
    for number, line in enumerate(_numbered_prose(document), start=1):
        if re.match(r" {0,3}([-*+]|\d+\.) ", line):
            in_list = True
        elif line.strip() and not line.startswith(" "):
            in_list = False
        if line.startswith("    ") and not before.strip() and not in_list:
            found.append(number)
        before = line
    return found


def _numbered_prose(document: Path) -> Iterator[str]:
    """The lines of the document, those of fenced blocks emptied."""
    inside = False
    for line in document.read_text().splitlines():
        if FENCE.match(line):
            inside = not inside
            yield "(fence)"
        else:
            yield "(code)" if inside else line
