"""Where mail goes, read out of one URL. No error quotes it: it holds a password."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from notifications.errors import NotificationError

PORTS = {"smtp": 25, "starttls": 587, "smtps": 465}
EXPECTED = "expected smtp://user:password@host:port, smtps://... or file:///directory"


class MailUrlUnusable(NotificationError):
    """The URL names no place to send mail to. The sentence says what is wrong and quotes nothing."""

    code = "mail.url_unusable"


@dataclass(frozen=True, slots=True)
class Server:
    """A mail server. ``tls`` is "" (none), "starttls" or "smtps" (from the start)."""

    host: str
    port: int
    tls: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def bares_password(self) -> bool:
        """Whether the password would cross a network that others read."""
        return (
            bool(self.user) and not self.tls and self.host not in ("localhost", "127.0.0.1", "::1")
        )


@dataclass(frozen=True, slots=True)
class Directory:
    """Each message becomes a file: for development and demonstrations."""

    path: Path


@lru_cache(maxsize=4)
def read_url(url: str) -> Server | Directory:
    """The place that ``url`` names. Raises ``MailUrlUnusable``."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise MailUrlUnusable(f"{EXPECTED}, got a URL that cannot be read.") from None
    if parts.scheme == "file":
        return _directory(host, unquote(parts.path))
    if parts.scheme not in ("smtp", "smtps"):
        raise MailUrlUnusable(f"{EXPECTED}, got another scheme.")
    if not host:
        raise MailUrlUnusable(f"{EXPECTED}, got no host.")
    if parts.path not in ("", "/") or parts.fragment:
        raise MailUrlUnusable(
            f"{EXPECTED}, got something behind the host: quote / ? # and @ in the password."
        )
    tls = _tls(parts.scheme, query)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) != bool(password):
        raise MailUrlUnusable(f"{EXPECTED}, got only one of user and password.")
    if not (user + password).isascii() or not (user + password).isprintable():
        raise MailUrlUnusable("expected user and password in ASCII, got other characters.")
    return Server(host, port or PORTS[tls or "smtp"], tls, user, password)


def _directory(host: str | None, path: str) -> Directory:
    if host or not path.strip("/"):
        raise MailUrlUnusable(
            "expected file:///directory with three slashes, got no absolute directory."
        )
    return Directory(Path(path))


def _tls(scheme: str, query: dict[str, str]) -> str:
    asked = query.pop("tls", None)
    if query:
        raise MailUrlUnusable("expected ?tls=starttls or nothing, got another option.")
    if asked not in (None, "starttls") or (asked and scheme == "smtps"):
        raise MailUrlUnusable("expected smtps:// or smtp://...?tls=starttls, got another tls.")
    return asked or ("smtps" if scheme == "smtps" else "")
