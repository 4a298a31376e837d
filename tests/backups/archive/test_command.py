"""What the command says and how it ends."""

import json
from io import StringIO

from django.core.management import call_command

from backups.archive.keys import KeyRing


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("backups", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_keygen_makes_a_key_that_the_setting_takes() -> None:
    one, other = said("keygen").strip(), said("keygen").strip()
    assert one != other
    assert len(KeyRing.parse(f"{one},{other}").keys) == 2
    told = json.loads(said("keygen", "--json"))
    assert KeyRing.parse(told["key"]).writing.id == told["id"]
