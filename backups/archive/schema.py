"""Whether the rows of an archive fit the code that is here."""

from collections.abc import Iterable, Mapping, Sequence

from django.db.migrations.loader import MigrationLoader

from backups.errors import SchemaAhead

Schema = Mapping[str, Sequence[str]]


def known() -> dict[str, list[str]]:
    """The migrations that the code here has, by app, with those that others replace. Asks no database."""
    loader = MigrationLoader(None)
    replaced = {each for one in loader.disk_migrations.values() for each in one.replaces}
    found: dict[str, list[str]] = {}
    for app, name in sorted({*loader.disk_migrations, *replaced}):
        found.setdefault(app, []).append(name)
    return found


def refuse_ahead(archived: Schema, here: Schema, *, apps: Iterable[str]) -> None:
    """Raise ``SchemaAhead`` when the archive was written by newer code than is here.

    ``archived`` holds the migrations of each app in the order in which they were applied, ``apps`` those that have
    rows in the archive. What was applied before a migration that is known is history (squashed, and deleted
    since), not news; an app that is not here and has no rows does not matter.
    """
    ahead = [
        f"{app}.{name}"
        for app in sorted(archived.keys() & {*here, *apps})
        for name in _news(archived[app], {*here.get(app, ())})
    ]
    if ahead:
        more = f" and {len(ahead) - 3} more" if len(ahead) > 3 else ""
        raise SchemaAhead(
            f"The archive was written by newer code, with {', '.join(ahead[:3])}{more}:"
            " install the version that wrote it, or a later one."
        )


def _news(applied: Sequence[str], here: set[str]) -> Sequence[str]:
    last = max((place for place, name in enumerate(applied) if name in here), default=-1)
    return applied[last + 1 :]
