"""Master keys are read as they are written, and refused without being quoted."""

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import override_settings

from backups.conf import conf
from backups.errors import KeysUnusable
from backups.keys import KeyRing, MasterKey

A, B = MasterKey.new(), MasterKey.new()


@pytest.mark.parametrize("between", [",", " ", "\n", " , "])
def test_the_first_key_writes_and_every_key_reads(between: str) -> None:
    ring = KeyRing.parse(f" {A.text}{between}{B.text} ")
    assert ring.writing == A
    assert [ring.reading(each.id) for each in (A, B)] == [A, B]


def test_no_key_is_no_fault_until_one_is_needed() -> None:
    assert KeyRing.parse(" ") == KeyRing()
    with pytest.raises(KeysUnusable, match="make one with manage.py backups keygen"):
        _ = KeyRing().writing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (A.text.replace(":", ""), "id:secret pairs"),
        (f"A_{A.text}", "id:secret pairs"),
        (A.text[:-4], "must be 32 bytes in base64"),
        (f"{A.text}AAAA", "must be 32 bytes in base64"),
        (f"{A.id}:{'ü' * 44}", "must be 32 bytes in base64"),
        (f"{A.id}:", "must be 32 bytes in base64"),
        (f"{A.text},{A.text}", "one key for an id"),
    ],
    ids=["no colon", "no id", "short", "long", "letters", "empty", "twice"],
)
def test_keys_that_cannot_be_read_are_refused_without_being_quoted(text: str, words: str) -> None:
    with pytest.raises(KeysUnusable, match=words) as refused:
        KeyRing.parse(text)
    secret = A.text.split(":")[1]
    assert secret[:20] not in str(refused.value)
    with override_settings(BACKUPS_KEYS=text):
        with pytest.raises(SystemCheckError, match="backups.E001") as found:
            call_command("check")
    assert secret[:20] not in str(found.value)


def test_keys_are_shown_nowhere() -> None:
    with override_settings(BACKUPS_KEYS=A.text):
        shown = f"{A!r} {conf()!r} {conf().keys!r}"
    assert A.text.split(":")[1] not in shown
    assert repr(A.secret) not in shown
