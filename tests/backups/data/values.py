"""A value of every type and form that PostgreSQL has, as rows."""

from django.db import NotSupportedError

from backups.data import checksum
from backups.data.snapshot import snapshot
from tests.backups.data.databases import Pair

# Text forms that PostgreSQL reads; what it keeps of them must come back.
VALUES: dict[str, list[str]] = {
    "big": ["-9223372036854775808", "9223372036854775807", "0"],
    "blob": ["", r"\x", r"\x00ff5c0a22", "\\x" + "e9" * 300_000],
    "flag": ["t", "f"],
    "chars": ["", " ", "NULL", "null", r"\N", r"\.", "a\tb\nc\rd\\e\"f'g", "\x01\x02\x7f", "ß→Ü"],
    "day": ["4713-01-01 BC", "0044-03-15 BC", "infinity", "-infinity", "5874897-12-31"],
    "moment": [
        "2026-03-29 01:59:59.999999+00",
        "0001-01-01 00:00:00+00 BC",
        "infinity",
        "-infinity",
        "294276-12-31 23:59:59.999999+00",
        "1883-11-18 12:03:57.000001-05:50:36",
    ],
    "number": ["NaN", "0", "-0.0000000001", "123456789012345678901234567890.1234567890"],
    "any_number": ["NaN", "Infinity", "-Infinity", "1.50", "1.500", "1e-300", "9" * 400],
    "duration": ["00:00:00", "-1 days +02:03:04.000001", "1 year -2 mons 3 days -04:05:06.7"],
    "mail": ["ada@example.org"],
    "file": ["a/b.txt"],
    "path": ["/a/b"],
    "float8": ["NaN", "inf", "-inf", "-0", "0.1", "1e308", "5e-324", "0.30000000000000004"],
    "float4": ["NaN", "-0", "0.1", "3.4028235e38", "1e-45", "16777217"],
    "address": ["::1", "192.0.2.1", "192.0.2.1/24", "2001:db8::/32"],
    "network": ["10.0.0.0/8", "::/0"],
    "integer": ["-2147483648", "2147483647"],
    "jsonb": [
        "null",
        '"null"',
        "1.50",
        "1e400",
        '{"a": [1, 1.0, 100000000000000000000000.10], "\\u2028": null}',
        '"\\ud83d\\ude00 \\" \\\\ \\n"',
        "[]",
    ],
    "json": ['{"b" :1,  "a":1.0,"b":2}', "1.50e+02", '"\\u0000"', "[ ]\n", '{"deep": "\\\\N"}'],
    "small": ["-32768", "32767"],
    "positive": ["9223372036854775807"],
    "slug": ["a-b_c"],
    "text": [
        "",
        "\uffff\ufffe\ufdd0\U0001ffff\U0010ffff",
        "e\u0301 \u00e9",
        "\u2028\u2029\u0085\ufeff",
        '{"json": "\\u0000"}',
        "".join(map(chr, range(1, 256))),
        "x\\" * 500_000,
        "\\.\n\\.\n",
    ],
    "time": ["00:00:00", "23:59:59.999999", "24:00:00"],
    "url": ["https://example.org/?a=%20&b='"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "array": ["{}", '{NULL,"NULL","",a,"\\"","\\\\","x,y","{}"}', "[-1:1]={a,b,c}"],
    "nested": ["{}", "{{1,NaN},{-0,inf}}", "{{0.1},{5e-324}}"],
    "integers": ["empty", "(,)", "[1,)", "(1,5]"],
    "bigs": ["[,9223372036854775806]", "empty"],
    "decimals": ["[1.50,2.500)", "(,NaN]", "empty"],
    "moments": ["[2026-01-01 00:00+00,infinity]", '(,"2026-01-01 00:00:00.000001+00")'],
    "days": ["[2026-01-01,2026-02-01)", "(,infinity)", "[0044-03-15 BC,)"],
    "many": ["{}", "{[1,2),[5,9),[20,)}"],
    "many_moments": ["{}", "{[2026-01-01 00:00+00,2026-01-02 00:00+00)}"],
    "padded": ["", "a", "ab  ", "abcde"],
    "unpadded": ["a  ", "", "  "],
    "local": ["2026-03-29 02:30:00.000001", "infinity", "0001-01-01 00:00:00 BC"],
    "timetz": ["23:59:59.999999+14:00", "00:00:00-15:59:59"],
    "money": ["-92233720368547758.08", "0.01"],
    "bits": ["", "0", "1" * 70],
    "xml": ["", "<a b='c'>&lt;\n</a>", "text <b/> text"],
    "search": ["", "'it''s':1A,2 'a b':3"],
    "query": ["'a' & !('b c' <-> 'd')"],
    "mac": ["08:00:2b:01:02:03"],
    "place": ["(1,-0)", "(Infinity,NaN)", "(0.1,5e-324)"],
    "odd name 100%": ["%s %% 100%", ""],
}


def fill(pair: Pair) -> int:
    """A row for every value, a row of NULLs, and some in which several meet."""
    wanted = [(column, value) for column, values in VALUES.items() for value in values]
    if not knows_xml(pair):
        wanted = [(column, value) for column, value in wanted if column != "xml"]
    for column, value in wanted:
        name = '"' + column.replace("%", "%%") + '"'
        pair.execute(f"INSERT INTO everything_everything ({name}) VALUES (%s)", [value])
    pair.execute("INSERT INTO everything_everything (big) VALUES (NULL)")
    return len(wanted) + 1


def knows_xml(pair: Pair) -> bool:
    """The embedded server is built without it."""
    try:
        return bool(pair.execute("SELECT xml ''"))
    except NotSupportedError:
        return False


def by_column(pair: Pair, side: str) -> list[tuple[str, ...]]:
    """The rows as the database sends them, in binary: beside every text form."""
    names = ", ".join(f'"{column}"' for column in (*VALUES, "id", "upper"))
    sql = f"COPY (SELECT {names} FROM everything_everything ORDER BY id) TO STDOUT"
    connection = pair.source if side == "source" else pair.copy
    with connection.cursor() as cursor, cursor.copy(f"{sql} (FORMAT binary)") as copy:
        return [bytes(row) for row in copy]


def checksums(pair: Pair, side: str) -> dict[str, checksum.Checksum]:
    with snapshot(pair.tables, side) as taken:
        return checksum.of_tables(taken.connection, pair.tables)
