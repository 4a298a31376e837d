"""A message on the wire: what arrives, over which connection, and what is said when it does not."""

from dataclasses import dataclass

import pytest
from django.test import override_settings

from notifications import mail
from notifications.errors import AddressUnsendable
from notifications.mail.faults import (
    AddressRefused,
    MessageRefused,
    SenderRefused,
    TryLater,
    Unanswered,
)
from notifications.mail.kept import Kept
from tests.support.mail import DROP, HANG
from tests.support.wait import until


@dataclass(frozen=True)
class Text:
    subject: str = "News"
    text: str = "Hello.\n"
    html: str = "<p>Hello.</p>\n"


def compose(to="ada@example.org", text=Text(), **given):
    return mail.compose(text, **{"to": to, "message_id": "m1", **given})


def test_a_message_arrives_in_both_forms_with_its_headers(smtp):
    mail.send(compose(name="Ada Müller", headers={"List-Unsubscribe": "<https://x.example/u>"}))
    (mail_,) = smtp.mails
    assert (mail_.sender, mail_.recipient) == ("no-reply@jobs.example", "ada@example.org")
    message = mail_.message
    assert message["To"].addresses[0].display_name == "Ada Müller"
    assert message["Message-ID"] == "<m1@jobs.example>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["List-Unsubscribe"] == "<https://x.example/u>"
    assert message["Date"].datetime is not None
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content().replace("\r\n", "\n") for part in message.iter_parts()] == [
        "Hello.\n",
        "<p>Hello.</p>\n",
    ]


def test_one_connection_carries_many_messages_and_a_dead_one_is_replaced_in_silence(smtp):
    for _ in range(3):
        mail.send(compose())
    assert (len(smtp.mails), smtp.seen["connections"]) == (3, 1)
    for answer in (DROP, "421 4.4.2 idle for too long"):
        smtp.answers["MAIL"] = [answer]
        mail.send(compose())
    assert (len(smtp.mails), smtp.seen["connections"]) == (5, 3)


FRESH, KEPT = False, True


@pytest.mark.parametrize("warm", [FRESH, KEPT])
@pytest.mark.parametrize(
    ("stage", "reply", "fault"),
    [
        ("MAIL", "421 4.3.2 going down", TryLater),
        ("MAIL", "451 4.3.0 local error", TryLater),
        ("MAIL", "452 4.3.1 no room", TryLater),
        ("MAIL", "550 5.7.1 not you", SenderRefused),
        ("MAIL", "530 5.7.0 log in first", SenderRefused),
        ("RCPT", "421 4.7.0 slower", TryLater),
        ("RCPT", "450 4.2.0 greylisted", TryLater),
        ("RCPT", "451 4.3.0 local error", TryLater),
        ("RCPT", "452 4.2.2 full", TryLater),
        ("RCPT", "535 5.7.8 who are you", SenderRefused),
        ("RCPT", "550 5.1.1 unknown", AddressRefused),
        ("RCPT", "552 5.2.2 full for good", AddressRefused),
        ("RCPT", "554 5.7.1 refused", AddressRefused),
        ("RCPT", DROP, TryLater),
        ("DATA", "421 4.3.2 going down", TryLater),
        ("DATA", "451 4.3.0 local error", TryLater),
        ("DATA", "552 5.3.4 too much", MessageRefused),
        ("DATA", "554 5.5.1 no", MessageRefused),
        ("DATA", DROP, TryLater),
        ("END", "421 4.3.2 going down", TryLater),
        ("END", "450 4.2.0 greylisted", TryLater),
        ("END", "452 4.3.1 no room", TryLater),
        ("END", "550 5.7.1 spam", MessageRefused),
        ("END", "552 5.3.4 too large", MessageRefused),
        ("END", "554 5.6.0 bad", MessageRefused),
        ("END", DROP, Unanswered),
        ("END", "354 what", Unanswered),
    ],
)
def test_each_answer_at_each_stage_is_one_kind_of_fault_and_the_next_message_gets_through(
    smtp, stage, reply, fault, warm
):
    if warm:
        mail.send(compose())
    began = []
    smtp.answers[stage] = lambda argument: reply if "DOOMED" in argument.upper() + mark else None
    mark = "DOOMED" if stage in ("MAIL", "DATA") else ""
    with pytest.raises(fault) as refused:
        mail.send(compose("doomed@example.org"), before_data=lambda: began.append(1))
    assert type(refused.value) is fault
    assert reply == DROP or reply[4:] not in str(refused.value)
    assert began == ([1] if stage in ("DATA", "END") else [])
    mark = ""
    mail.send(compose("ada@example.org"))
    assert smtp.recipients[-1] == "ada@example.org"


@pytest.mark.parametrize(
    ("stage", "fault"),
    [("OPEN", TryLater), ("MAIL", TryLater), ("DATA", TryLater), ("END", Unanswered)],
)
def test_a_server_that_falls_silent_is_left_after_the_timeout(smtp, stage, fault):
    smtp.answers[stage] = HANG
    with override_settings(NOTIFICATIONS_MAIL_TIMEOUT=0.3):
        with pytest.raises(fault) as silent:
            mail.send(compose())
    assert silent.value.code == "mail.silent"


def test_no_server_and_a_server_that_turns_everybody_away(smtp):
    smtp.answers["OPEN"] = ["554 5.3.2 no service here", "421 4.3.2 later", DROP]
    for fault in (SenderRefused, TryLater, TryLater):
        with pytest.raises(fault):
            mail.send(compose())
    with override_settings(NOTIFICATIONS_MAIL_URL=""), pytest.raises(SenderRefused) as unset:
        mail.send(compose())
    assert unset.value.code == "mail.not_set"
    with override_settings(NOTIFICATIONS_MAIL_URL="smtp://localhost:9"), pytest.raises(TryLater):
        mail.send(compose())


def test_what_fails_before_the_data_leaves_nothing_sent(smtp):
    class Lost(Exception):
        pass

    def lose():
        raise Lost

    with pytest.raises(Lost):
        mail.send(compose(), before_data=lose)
    mail.send(compose())
    assert len(smtp.mails) == 1
    assert smtp.seen["connections"] == 2


def test_idle_connections_are_closed_by_themselves(smtp, monkeypatch):
    monkeypatch.setattr("notifications.mail.kept.IDLE_SECONDS", 0.05)
    monkeypatch.setattr("notifications.mail.sending.kept", Kept())
    mail.send(compose())
    until(lambda: not smtp.open)


@pytest.mark.parametrize("subject", ["Ä" * 200, "Größe " * 33, "日本語" * 60, "🎉 " * 60])
def test_a_long_subject_beyond_ascii_arrives_whole_in_lines_as_the_rfc_wants(smtp, subject):
    body = "Grüße, " + "ü" * 2000 + "\n.\n..\nFrom here\rto there\n"
    mail.send(compose(text=Text(subject, body, f"<p>{body}</p>")))
    (sent,) = smtp.mails
    assert sent.wire.isascii()
    lines = sent.wire.split(b"\r\n")
    assert not [line for line in lines if b"\n" in line or b"\r" in line]
    head = lines[: lines.index(b"")]
    assert max(map(len, head)) <= 78
    assert max(map(len, lines)) <= 998
    message = sent.message
    assert message["Subject"] == subject.strip()
    text = message.get_body(("plain",)).get_content().replace("\r\n", "\n")
    assert text == body.replace("\r", "\n")


def test_a_long_link_in_a_header_stays_one_link(smtp):
    link = "<https://jobs.example/u/" + "token-" * 60 + ">"
    mail.send(compose(headers=[("List-Unsubscribe", link)]))
    assert b"List-Unsubscribe: " + link.encode() + b"\r\n" in smtp.mails[0].wire


@pytest.mark.parametrize("wrong", ["x\r\nBcc: eve@example.org", "x\ny", "x\r"])
def test_a_header_of_more_than_a_line_is_refused(wrong):
    with pytest.raises(ValueError):
        compose(headers={"List-Unsubscribe": wrong})
    with pytest.raises(ValueError):
        compose(message_id=wrong)


@pytest.mark.parametrize(
    "to",
    ["", "nobody", "a@b@example.org", "ä@example.org", "a" * 290 + "@example.org", "a@x\n.org"],
)
def test_a_message_to_an_address_that_cannot_be_written_to_is_refused(to):
    with pytest.raises(AddressUnsendable) as refused:
        compose(to)
    assert not to or to not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Zoë O'Hara-Łukasz", "Zoë O'Hara-Łukasz"),
        ("Ada <eve@example.org>", ""),
        ("eve@example.org", ""),
        ("Ada, Countess", ""),
        ('Ada "the" L', ""),
        ("=?utf-8?q?x?=", ""),
        ("A" * 61, ""),
        ("Ada\u202eecalevoL", ""),
    ],
)
def test_a_name_is_shown_where_it_is_harmless(name, shown):
    assert compose(name=name)["To"].addresses[0].display_name == shown


def test_a_directory_can_stand_for_a_server(tmp_path):
    url = (tmp_path / "out box").as_uri()
    began = []
    with override_settings(NOTIFICATIONS_MAIL_URL=url):
        for _ in range(2):
            mail.send(compose(), before_data=lambda: began.append(1))
    files = sorted((tmp_path / "out box").iterdir())
    assert [each.name.split("-", 1)[1] for each in files] == ["m1jobs.example.eml"] * 2
    assert files[0].read_bytes().startswith(b"From: hubqueue <no-reply@jobs.example>\r\n")
    assert files[0].stat().st_mode & 0o077 == 0
    assert began == [1, 1]
    (tmp_path / "file").touch()
    with override_settings(NOTIFICATIONS_MAIL_URL=(tmp_path / "file").as_uri()):
        with pytest.raises(TryLater):
            mail.send(compose())
