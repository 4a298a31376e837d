"""A member opens without this product, by what the document says alone."""

from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag

from backups.archive.packing import zstd
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, write
from tests.conftest import CHECKOUT
from tests.docs.blocks import blocks


def test_the_recipe_of_the_document_opens_every_member(store: Directory) -> None:
    (recipe,) = [
        each
        for each in blocks(CHECKOUT / "docs" / "backups" / "archive.md", "python")
        if "def content" in each.text
    ]
    assert "from backups" not in recipe.text
    names: dict[str, Any] = {}
    exec(recipe.text, names)

    noise = [Random(1).randbytes(150_000).hex().encode() + b"\n"]
    rows = {"leads.lead": noise, "leads.event": []}
    manifest = write(store, rows=rows)
    whole = store.root / str(manifest.name)
    for member in manifest.members:
        found = names["content"](whole, member.path, KEY.text)
        if member.records is None:
            assert Path(member.path).name == sha256(found).hexdigest()
        else:
            label = member.path.removeprefix("data/").removesuffix(".jsonl.zst")
            assert zstd.decompress(found) == b"".join(rows[label])
    with pytest.raises(InvalidTag):
        names["content"](whole, "data/leads.event.jsonl.zst", KEY.text.replace("A", "B"))
