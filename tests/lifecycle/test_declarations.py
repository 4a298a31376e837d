"""What no handler can be is refused where it is declared, before any job of it exists."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from hubqueue.api import JobContext, handler
from hubqueue.registry import registry
from tests.support.handlers import scripted

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, "dotted words"),
    ("two words", {}, "dotted words"),
    ("k" * 101, {}, "up to 100 characters"),
    ("sample.x", {"max_attempts": 0}, "max_attempts must be 1 to 2147483647, got 0"),
    ("sample.x", {"max_attempts": 2**31}, "max_attempts must be 1 to 2147483647, got 2147483648"),
    ("sample.x", {"priority": 2**15}, "priority must fit 16 bits, got 32768"),
    ("sample.x", {"timeout": timedelta(0)}, "timeout must be longer than nothing"),
    ("sample.x", {"group": 0}, "group is 1 to 1000"),
    ("sample.x", {"group": 2, "detached": True}, "group is 1 to 1000"),
    (scripted.kind, {}, "Two handlers claim the kind 'sample.scripted'"),
    ("sample.x", {"aliases": [scripted.kind]}, "Two handlers claim the kind"),
]


@pytest.mark.parametrize(("kind", "rules", "sentence"), WRONG)
def test_a_handler_that_cannot_be_is_refused_at_its_declaration(
    kind: str, rules: dict[str, Any], sentence: str
) -> None:
    known = registry.kinds()

    def never(job: JobContext) -> None:
        """Is never called."""

    with pytest.raises(ImproperlyConfigured, match=sentence):
        handler(kind, **rules)(never)
    assert registry.kinds() == known
