"""Write an app's compiled catalogues: `python -m tests.support.catalogue notifications`. Needs no gettext."""

import io
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

CHECKOUT = Path(__file__).resolve().parents[2]


def catalogues(app: str) -> list[Path]:
    """The .po files of an app."""
    return sorted((CHECKOUT / app).glob("locale/*/LC_MESSAGES/django.po"))


def read(po: Path) -> Catalog:
    with po.open("rb") as file:
        return read_po(file, locale=po.parents[1].name, abort_invalid=True)


def compiled(catalogue: Catalog) -> bytes:
    out = io.BytesIO()
    write_mo(out, catalogue)
    return out.getvalue()


if __name__ == "__main__":
    for app in sys.argv[1:]:
        for po in catalogues(app):
            po.with_suffix(".mo").write_bytes(compiled(read(po)))
