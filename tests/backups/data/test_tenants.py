"""A tenant's rows leave without others', and nothing leaves that its application holds back."""

from tests.backups.data.databases import Pair


def test_a_tenants_archive_holds_its_rows_and_the_shared_ones(pair: Pair) -> None:
    pair.execute(
        "INSERT INTO everything_person (id, name, tenant_id) VALUES"
        " (1, 'a', 'one'), (2, 'b', 'two'), (3, 'c', NULL), (4, 'd', 'o''%ne')"
    )
    pair.execute("INSERT INTO everything_club VALUES ('x')")
    pair.execute(
        "INSERT INTO everything_person_clubs (person_id, club_id) VALUES (1, 'x'), (2, 'x')"
    )
    pair.execute("INSERT INTO everything_stamped (person_id, number) VALUES (1, 1), (1, 2), (2, 1)")
    pair.execute("INSERT INTO everything_left (amount) VALUES (1)")

    def held(tenant: str) -> dict[str, int]:
        exported = pair.export(tenant=tenant)
        return {
            table.model.__name__: number
            for table, blocks in exported
            if (number := sum(block.count(b"\n") for block in blocks))
        }

    assert held("one") == {"Person": 1, "Club": 1, "Person_clubs": 1, "Stamped": 2}
    assert held("o'%ne") == {"Person": 1, "Club": 1}
    assert held("nobody") == {"Club": 1}


def test_redacted_columns_hold_the_words_of_the_spec_and_stamped_ones_are_absent(
    pair: Pair,
) -> None:
    pair.execute(
        "INSERT INTO everything_person (id, name, secret, tenant_id) VALUES"
        " (1, 'a', 'hush', 't'), (2, 'b', NULL, 't')"
    )
    pair.execute("INSERT INTO everything_stamped (person_id, number, stamp) VALUES (1, 1, 5)")
    for tenant in (None, "t"):
        exported = pair.export(tenant=tenant)
        assert b"hush" not in b"".join(block for _, blocks in exported for block in blocks)
    pair.load(exported)
    secrets = pair.execute("SELECT secret FROM everything_person ORDER BY id", of="copy")
    assert secrets == [("out % of 'it'",), (None,)]
    assert pair.execute("SELECT stamp FROM everything_stamped", of="copy") == [(7,)]
