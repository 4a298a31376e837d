"""Make the demo's files. ``python demo/generate.py`` writes the same ones each time."""

import csv
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
ZONES = (
    "Europe/Lisbon", "Europe/Vienna", "America/Chicago", "America/Bogota", "Asia/Kolkata",
    "Pacific/Auckland",
)  # fmt: skip
TYPES = ("fair", "course", "open day", "live talk")
SUBJECTS = (
    "Heat Pumps", "Beekeeping", "Rust for Cooks", "Night Trains", "Roof Gardens", "Type Design",
    "Cargo Bikes", "Sourdough", "Small Satellites", "Choir Singing", "Wood Joints", "Tide Pools",
)  # fmt: skip
FIRST = (
    "Ada", "Bogdan", "Chiara", "Dóra", "Emre", "Fatou", "Göran", "Hanae", "Ivo", "Jūratė", "Kofi",
    "Lise", "Mateus", "Nour", "Oisín", "Priya", "Quentin", "Réka", "Søren", "Tomoko", "美咲", "Олена",
)  # fmt: skip
LAST = (
    "Abel", "Brandt", "Costa", "Díaz", "Eriksen", "Farkas", "Grün", "Haddad", "Ito", "Jansen",
    "Kowalczyk", "Lund", "Moreau", "Novák", "O'Dea", "Papadakis", "Quist", "Rossi", "Şahin", "Weiß",
)  # fmt: skip
COMPANIES = (
    "",
    "",
    "Nordlicht AG",
    "Bluebird Ltd",
    "Casa Verde",
    "Ozaki & Co",
    "Atelier 9",
    "Kvarn",
)
HEADER = (
    "event", "name", "email", "phone", "company", "sale_order", "state", "registered_at",
    "wants_offer", "team_size",
)  # fmt: skip


def events(chance: random.Random) -> list[list[str]]:
    return [
        [f"DEMO-{number:02}", f"{subject} {2026 + number % 2}", chance.choice(TYPES), zone]
        for number, (subject, zone) in enumerate(zip(SUBJECTS, ZONES * 2, strict=True), start=1)
    ]


def registration(chance: random.Random, number: int) -> list[str]:
    given, family = chance.choice(FIRST), chance.choice(LAST)
    moment = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=chance.randrange(240 * 24 * 60))
    order = f"S{5000 + number // 3}" if chance.random() < 0.4 else ""
    return [
        f"DEMO-{min(12, 1 + int(chance.expovariate(0.3))):02}",
        f"{given} {family}",
        f"guest{number}@demo.example",
        f"+00 555 {number:05}" if chance.random() < 0.8 else "",
        chance.choice(COMPANIES),
        order,
        chance.choices(("open", "done", "draft", "cancelled"), (70, 15, 10, 5))[0],
        moment.isoformat(),
        chance.choice(("yes", "no", "later", "")),
        chance.choice(("solo", "2 to 9", "10 or more", "")),
    ]


def messy(chance: random.Random) -> bytes:
    """Semicolons, a byte order mark and CRLF; fifteen rows are good, one of them stands twice."""
    good = [registration(chance, 9000 + number) for number in range(15)]
    good[3][1] = "Two\nLines"
    good[4][1] = '=SUM("A1")'
    bad = [
        ["DEMO-99", *good[0][1:]],
        [good[0][0], "Nobody To Call", "", "", *good[0][4:]],
        [good[0][0], "No Address", "at-nowhere", *good[0][3:]],
        [*good[0][:6], "perhaps", *good[0][7:]],
        [*good[0][:7], "2026-04-31T10:00:00+02:00", *good[0][8:]],
        [*good[0][:7], "2026-04-30T10:00:00", *good[0][8:]],
        [good[0][0], "x" * 5000, *good[0][2:]],
        [good[0][0], "Short"],
        [*good[0], "one more"],
        [good[0][0], "Nul\x00l", *good[0][2:]],
    ]
    rows = [list(HEADER), *good, good[0], *bad]
    text = "".join(";".join(_cell(cell) for cell in row) + "\r\n" for row in rows)
    latin = ";".join(_cell(cell) for cell in [good[0][0], "M\xfcller", *good[0][2:]])
    return "\ufeff".encode() + text.encode() + latin.encode("latin-1", "replace") + b"\r\n"


def _cell(text: str) -> str:
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if any(each in text for each in ';"\n') else text


def write(name: str, rows: list[list[str]]) -> None:
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    chance = random.Random(20260701)
    write("events.csv", [["code", "name", "type", "time_zone"], *events(chance)])
    write(
        "registrations.csv",
        [list(HEADER), *(registration(chance, number) for number in range(1, 1501))],
    )
    (HERE / "registrations-messy.csv").write_bytes(messy(chance))
