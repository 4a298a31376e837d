"""SQL that makes the rows of a whole database wait for a person, as far as its schema knows how."""

from backups.data.spec import Specs

_STATEMENT = """
DO $outer$
BEGIN
    IF EXISTS (SELECT FROM django_migrations WHERE app = '{app}' AND name = '{since}') THEN
        {sql};
    END IF;
END
$outer$;
"""


def quiet(specs: Specs) -> str:
    """All that applications declare, for ``psql``, in the transaction that fills the database.

    What came with a migration that the database lacks is left out: ``migrate`` has yet to bring it.
    """
    declared = {each.model: each.quiet for each in specs.declared.values()} | specs.quiet
    return "".join(
        _STATEMENT.format(app=label.partition(".")[0], since=one.since, sql=one.over())
        for label, quiet in declared.items()
        for one in quiet
    )
