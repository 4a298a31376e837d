"""The generations as officers see them."""

import re
from datetime import timedelta

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from backups.retention.archives import State
from backups.retention.picture import picture
from backups.retention.plan import Plan
from backups.retention.rule import decide
from tests.backups.retention.made import BERLIN, NOW, archive


def drawn(archives, plan, now=NOW):
    decisions = decide(archives, plan, scope="all", target="cellar", zone=BERLIN, now=now)
    return picture(decisions, plan, BERLIN)


def looks(row):
    return [(mark.look, mark.label) for mark in row.marks]


def test_every_row_shows_its_places_and_who_goes_first():
    archives = [archive(f"{n}", NOW - timedelta(days=n)) for n in range(6)]
    archives += [
        archive("november", NOW - timedelta(days=50)),
        archive("pinned", NOW - timedelta(days=56), pinned_until=NOW + timedelta(days=1)),
        archive("running", NOW, state=State.RUNNING),
    ]
    last, daily, weekly, monthly, yearly, besides, untouched, expiring = drawn(
        archives, Plan(1, 2, 2, 3, 0, 1)
    ).rows
    assert (last.told, looks(last)) == ("1 of 1", [("kept", "05 Jan")])
    assert looks(daily) == [("kept", "05 Jan"), ("next", "04 Jan")]
    assert looks(weekly) == [("kept", "2027-W01"), ("next", "2026-W53")]
    assert looks(monthly) == [("kept", "2027-01"), ("kept", "2026-12"), ("next", "2026-11")]
    assert (yearly.told, yearly.marks) == ("none wanted", ())
    assert looks(untouched) == [("untouched", "2027-01-05")]
    assert looks(expiring) == [("expiring", "2027-01-01"), ("expiring", "2027-01-02")]
    assert looks(besides) == [("kept", "2026-11-10")]


def test_what_is_drawn_is_bounded_and_says_what_is_left_out():
    archives = [archive(f"{n:04}", NOW - timedelta(days=n)) for n in range(1000)]
    shown = drawn(archives, Plan(1, 100_000_000, 0, 0, 0, 1))
    daily = shown.rows[1]
    assert (len(daily.marks), daily.more) == (42, 958)
    assert (len(shown.lines), shown.more) == (200, 800)
    html = render_to_string("admin/backups/generations.html", {"picture": shown})
    assert "958 not drawn" in html
    assert "800 older ones are not listed" in html


def test_the_parent_of_many_names_some_and_a_number():
    archives = [archive("full", NOW - timedelta(days=900))]
    archives += [archive(f"{n}", NOW - timedelta(days=n), parent="full") for n in range(30)]
    line = drawn(archives, Plan(30, 0, 0, 0, 0, 1)).lines[-1]
    assert line.words.startswith("parent of 0; parent of 1; ")
    assert line.words.endswith("parent of 9; and 20 more")


def test_no_two_marks_lie_on_each_other_and_all_within_the_picture():
    archives = [archive(f"{n:04}", NOW - timedelta(days=n)) for n in range(200)]
    shown = drawn(archives, Plan())
    places = [(mark.x, mark.y) for row in shown.rows for mark in row.marks]
    assert len(places) == len(set(places))
    assert all(x < shown.width and y < shown.height for x, y in places)


def test_the_page_carries_no_style_and_no_script_of_its_own_and_escapes_names():
    evil = archive("<script>alert(1)</script>", NOW)
    html = render_to_string("admin/backups/generations.html", {"picture": drawn([evil], Plan())})
    assert "&lt;script&gt;" in html
    assert not re.search(r"<script|<style|\sstyle=|\son[a-z]+=|href=|url\(", html)


def test_every_class_of_the_page_has_its_style():
    archives = [archive(f"{n}", NOW - timedelta(days=n)) for n in range(60)]
    archives.append(archive("x", NOW, state=State.FAILED))
    html = render_to_string(
        "admin/backups/generations.html", {"picture": drawn(archives, Plan(1, 2, 2, 2, 2, 1))}
    )
    with open(finders.find("backups/backups.css")) as css:
        styles = css.read()
    used = set(re.findall(r"\bbk-(?:kept|next|free|expiring|untouched)\b", html))
    assert len(used) == 5
    assert all(f".{each}" in styles for each in used)
