"""What a document's snippets may take for granted: the names that its story has at hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def stage(document: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The namespace in which the Python blocks of ``document`` run one after another."""
    names: dict[str, Any] = {"__name__": f"docs_{document.stem.replace('-', '_')}"}
    yield names
