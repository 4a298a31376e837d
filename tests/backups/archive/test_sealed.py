"""A member opens whole, in its place and with its key, or not at all."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backups.archive.packing import packed, unpacked
from backups.archive.sealed import CHUNK, MAGIC, SALT, TAG, opened, sealed
from backups.errors import MemberDamaged
from backups.keys import MasterKey, salt_of
from hubqueue.ids import uuid7
from tests.backups.archive.broken import EVENTS, LEADS
from tests.backups.archive.made import KEY, about

PLACES = {
    "magic": 0,
    "salt": len(MAGIC),
    "first chunk": len(MAGIC) + SALT,
    "first tag": len(MAGIC) + SALT + CHUNK,
    "second chunk": len(MAGIC) + SALT + CHUNK + TAG,
    "last chunk": -TAG - 1,
    "last tag": -1,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_flipped_bit_does_not_open(place: str) -> None:
    keys = KEY.for_archive(uuid7(), b"salt")
    raw = bytearray(b"".join(sealed([bytes(3 * CHUNK)], keys, LEADS)))
    raw[PLACES[place]] ^= 1
    taken = bytearray()
    with pytest.raises(MemberDamaged):
        for piece in opened([bytes(raw)], keys, LEADS):
            taken += piece
    assert not any(taken)  # what came out before it is authentic


@given(
    content=st.binary(max_size=200),
    size=st.integers(0, 3 * CHUNK),
    cuts=st.lists(st.integers(1, 2 * CHUNK), max_size=5),
)
@settings(max_examples=40)
def test_encryption_and_packing_do_not_mind_how_pieces_are_cut(
    content: bytes, size: int, cuts: list[int]
) -> None:
    keys = KEY.for_archive(uuid7(), b"salt")
    whole = content + bytes(size)
    stored = b"".join(sealed(packed(cut(whole, cuts)), keys, LEADS))
    assert b"".join(unpacked(opened(cut(stored, cuts), keys, LEADS))) == whole
    plain = b"".join(sealed(cut(whole, cuts), keys, LEADS))
    chunks = max(1, -(-len(whole) // CHUNK))
    assert len(plain) == len(MAGIC) + SALT + len(whole) + chunks * TAG
    assert b"".join(opened(cut(plain, cuts), keys, LEADS)) == whole


def cut(whole: bytes, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield whole[:size]
        whole = whole[size:]
    yield whole


def test_a_member_opens_nowhere_but_in_its_place() -> None:
    archive = uuid7()
    keys = KEY.for_archive(archive, b"salt")
    stored = list(sealed([bytes(range(256)) * 1024], keys, LEADS))
    header, first, second, *more = stored
    others = {
        "another path": (stored, keys, EVENTS),
        "another archive": (stored, KEY.for_archive(uuid7(), b"salt"), LEADS),
        "another salt": (stored, KEY.for_archive(archive, b"other"), LEADS),
        "another key": (stored, MasterKey.new().for_archive(archive, b"salt"), LEADS),
        "reordered": ([header, second, first, *more], keys, LEADS),
        "a chunk twice": ([header, first, first, *more], keys, LEADS),
        "a chunk gone": ([header, second, *more], keys, LEADS),
        "cut between chunks": (stored[:-1], keys, LEADS),
        "cut to one chunk": ([header, first], keys, LEADS),
        "nothing but its header": ([header], keys, LEADS),
        "half a header": ([header[:20]], keys, LEADS),
        "nothing": ([], keys, LEADS),
        "something appended": ([*stored, b"x"], keys, LEADS),
        "another one appended": ([*stored, *stored], keys, LEADS),
    }
    for told, (pieces, with_keys, path) in others.items():
        with pytest.raises(MemberDamaged):
            list(opened(pieces, with_keys, path))
            pytest.fail(told)


def test_the_salt_of_an_archive_is_its_own() -> None:
    one, other = about(), about()
    assert salt_of(one.archive) == salt_of(one.archive) != salt_of(other.archive)
