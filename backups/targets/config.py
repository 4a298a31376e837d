"""What each kind of target is told, and what is wrong with it, in words."""

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from cryptography.x509 import load_pem_x509_certificates

from backups.errors import ConfigRefused
from backups.targets.names import is_name
from outbound.errors import OutboundError
from outbound.urls import target_of

FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?")
HOST_KEY = re.compile(r"(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( .*)?")
HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}")
BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
REGION = re.compile(r"[A-Za-z0-9._-]{1,64}")
ACCESS_KEY = re.compile(r"[!-~]{1,256}")
LONGEST = 1000


@dataclass(frozen=True, slots=True)
class LocalConfig:
    """``path``: below BACKUPS_VOLUME."""

    path: str


@dataclass(frozen=True, slots=True)
class S3Config:
    """``prefix``: what all names begin with. ``ca``: a certificate in PEM that is trusted instead of the usual."""

    bucket: str
    access_key: str
    region: str = "us-east-1"
    endpoint: str = ""
    prefix: str = ""
    ca: str = ""


@dataclass(frozen=True, slots=True)
class SftpConfig:
    """``host_key``: ``SHA256:...`` or ``ssh-ed25519 AAAA...``. ``path``: a directory there, from / or from home."""

    host: str
    user: str
    host_key: str
    port: int = 22
    path: str = ""


@dataclass(frozen=True, slots=True)
class WebdavConfig:
    """``url``: of a collection, https. ``ca``: as for S3."""

    url: str
    user: str
    ca: str = ""


Config = LocalConfig | S3Config | SftpConfig | WebdavConfig

SHAPES: dict[str, type[Config]] = {
    "local": LocalConfig,
    "s3": S3Config,
    "sftp": SftpConfig,
    "webdav": WebdavConfig,
}

# Who is given the credential: none that was entered for one host goes to another.
DESTINATION = ("endpoint", "region", "host", "port", "host_key", "url", "ca", "bucket")


def config_of(kind: str, given: Any) -> Any:
    """The configuration of a known kind, checked. Raises ``ConfigRefused`` with all that is wrong."""
    if wrong := problems(kind, given):
        raise ConfigRefused(" ".join(wrong))
    return SHAPES[kind](**given)


def problems(kind: str, given: Any) -> list[str]:
    """What is wrong with a configuration of this known kind, one sentence each. Quotes no values."""
    if not isinstance(given, dict):
        return ["The configuration must be an object, such as {}."]
    shape = SHAPES[kind]
    known = {each.name: each for each in fields(shape)}
    found = [f"{each!r} is not known here." for each in sorted(set(given) - set(known))]
    for name, each in known.items():
        if name not in given:
            if each.default is MISSING:
                found.append(f"{name!r} is required.")
        elif type(given[name]) is not each.type:
            found.append(f"{name!r} must be {'a number' if each.type is int else 'a text'}.")
        elif each.default is MISSING and not given[name]:
            found.append(f"{name!r} must not be empty.")
        elif name != "ca" and each.type is str and not _is_line(given[name]):
            found.append(f"{name!r} must be one line of up to {LONGEST} characters.")
    if found:
        return found
    config = shape(**given)
    return [said for fits, said in RULES[kind](config) if not fits]


def _local(config: Any) -> list[tuple[bool, str]]:
    return [
        (
            is_name(config.path),
            "'path' must be relative to the volume: names of letters, digits, '.', '_', '-', with '/' between.",
        )
    ]


def _s3(config: Any) -> list[tuple[bool, str]]:
    return [
        (bool(BUCKET.fullmatch(config.bucket)), "'bucket' must be the name of a bucket."),
        (bool(REGION.fullmatch(config.region)), "'region' must be the name of a region."),
        (bool(ACCESS_KEY.fullmatch(config.access_key)), "'access_key' must be the id of a key."),
        (
            not config.endpoint or _is_url(config.endpoint, {"https", "http"}),
            "'endpoint' must be a URL such as https://s3.example.org, without a user and a password.",
        ),
        (not config.prefix or is_name(config.prefix), "'prefix' must be names with '/' between."),
        (_is_pem(config.ca), "'ca' must be a certificate in PEM."),
    ]


def _sftp(config: Any) -> list[tuple[bool, str]]:
    key = config.host_key
    parts = config.path.removeprefix("/")
    return [
        (bool(HOST.fullmatch(config.host)), "'host' must be a name or an address."),
        (0 < config.port < 65536, "'port' must be from 1 to 65535."),
        (
            bool(FINGERPRINT.fullmatch(key) or HOST_KEY.fullmatch(key)),
            "'host_key' must be SHA256:... (as ssh-keygen -lf shows) or the key itself (ssh-ed25519 AAAA...).",
        ),
        (not parts or is_name(parts), "'path' must be names with '/' between."),
    ]


def _webdav(config: Any) -> list[tuple[bool, str]]:
    return [
        (
            _is_url(config.url, {"https"}),
            "'url' must begin with https:// (the password travels with each request), without a user, a"
            " password and a query.",
        ),
        (":" not in config.user, "'user' must not contain a colon."),
        (_is_pem(config.ca), "'ca' must be a certificate in PEM."),
    ]


RULES: dict[str, Callable[[Any], list[tuple[bool, str]]]] = {
    "local": _local,
    "s3": _s3,
    "sftp": _sftp,
    "webdav": _webdav,
}


def _is_url(text: str, schemes: set[str]) -> bool:
    try:
        target_of(text)
    except OutboundError:
        return False
    parts = urlsplit(text)
    return parts.scheme in schemes and not parts.query and not parts.fragment


def _is_line(text: str) -> bool:
    return len(text) <= LONGEST and text.isprintable()


def _is_pem(text: str) -> bool:
    if not text:
        return True
    try:
        return bool(load_pem_x509_certificates(text.encode()))
    except ValueError:
        return False
