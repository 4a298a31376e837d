"""S3 and what speaks like it, by obstore."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import obstore
from obstore import exceptions as said
from obstore.store import S3Store

from backups.errors import (
    ObjectKept,
    ObjectMissing,
    ObjectThere,
    TargetError,
    TargetFull,
    TargetRefused,
    TargetUnreachable,
)
from backups.targets.config import S3Config
from backups.targets.names import checked, is_name
from backups.targets.open_target import PIECE, OpenTarget
from backups.targets.store import Stored

# S3 takes up to 10,000 parts: objects of up to 156 GiB.
PART = 16 * 1024 * 1024
PARTS_AT_ONCE = 2
ANSWER = re.compile(r"status code: (\d{3})")
WRONG_SECRET = re.compile("SignatureDoesNotMatch|InvalidAccessKeyId|ExpiredToken|InvalidToken")
PANIC = (
    "PanicException"  # of the library's own language: no `Exception`, so it would end the worker
)
FULL = re.compile("QuotaExceeded|StorageFull|EntityTooLarge")


def opened(config: S3Config, secret: str, timeout: float, volume: str) -> OpenTarget:
    """Connects to nothing yet."""
    return S3Target(config, secret, timeout)


class S3Target(OpenTarget):
    """An upload is many parts that become one object at its end, or are dropped."""

    def __init__(self, config: S3Config, secret: str, timeout: float) -> None:
        endpoint = config.endpoint or f"https://s3.{config.region}.amazonaws.com"
        client: dict[str, Any] = {
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=timeout),
            "read_timeout": timedelta(seconds=timeout),
            # Over one request, which is one part at most; for a download the wait for each read counts.
            "timeout": timedelta(hours=1),
        }
        if config.ca:
            client["root_certificate"] = config.ca.encode()
        with _mapped():
            self._store = S3Store(
                config.bucket,
                prefix=config.prefix or None,
                endpoint=endpoint,
                region=config.region,
                virtual_hosted_style_request=False,
                disable_bulk_delete=True,
                # A bucket that keeps objects for a time takes none without.
                checksum_algorithm="SHA256",
                # Not from the environment of this process.
                credential_provider=lambda: {  # type: ignore[arg-type,unused-ignore]
                    "access_key_id": config.access_key,
                    "secret_access_key": secret,
                    "token": None,
                    "expires_at": None,
                },
                client_options=client,  # type: ignore[arg-type]
                retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=timeout)},
            )

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        rest = iter(pieces)
        start = bytearray()
        for piece in rest:
            start += piece
            if len(start) >= PART:
                break
        else:
            with _mapped():
                obstore.put(self._store, checked(name), bytes(start), use_multipart=False)
            return self.size(name)
        return self._put_parts(checked(name), bytes(start), rest)

    def create(self, name: str, content: bytes) -> int:
        """Store a small object if there is none of this name, which the server decides.

        Answers its size in bytes as the target reports it. Raises ``ObjectThere``.
        """
        with _mapped():
            obstore.put(self._store, checked(name), content, mode="create")
        return self.size(name)

    def get(self, name: str) -> Iterator[bytes]:
        with _mapped():
            found = obstore.get(self._store, checked(name))
            left = found.meta["size"]
            stream = iter(found.stream(min_chunk_size=PIECE))
        while True:
            with _mapped():
                piece = next(stream, None)
            if piece is None:
                break
            left -= len(piece)
            yield bytes(piece)
        if left:
            raise TargetUnreachable("the object came shorter than the target says it is")

    def list(self, prefix: str = "") -> Iterator[Stored]:
        """One request for each directory below the prefix and each thousand objects, sorted here: not all sort."""
        yield from self._walk(prefix, prefix.rpartition("/")[0])

    def size(self, name: str) -> int:
        with _mapped():
            return int(obstore.head(self._store, checked(name))["size"])

    def delete(self, name: str) -> None:
        try:
            with _mapped(ObjectKept):
                obstore.delete(self._store, checked(name))
        except ObjectMissing:
            pass

    def sweep(self, prefix: str) -> int:
        """Nothing of an upload that died is an object; a rule of the bucket drops its parts."""
        checked(prefix)
        return 0

    def close(self) -> None:
        """Its connections end with the store."""

    def _put_parts(self, name: str, start: bytes, rest: Iterator[bytes]) -> int:
        raised: list[BaseException] = []

        def flow() -> Iterator[bytes]:
            yield start
            try:
                yield from rest
            except BaseException as theirs:
                raised.append(theirs)
                raise

        try:
            with _mapped():
                obstore.put(
                    self._store,
                    name,
                    flow(),
                    use_multipart=True,
                    chunk_size=PART,
                    max_concurrency=PARTS_AT_ONCE,
                )
        except BaseException:
            if raised:
                raise raised[0] from None
            raise
        return self.size(name)

    def _walk(self, prefix: str, directory: str) -> Iterator[Stored]:
        with _mapped():
            found = obstore.list_with_delimiter(self._store, prefix=directory or None)
        entries = [(each["path"], each["size"]) for each in found["objects"]]
        entries += [(f"{each}/", 0) for each in found["common_prefixes"]]
        for path, size in sorted(entries):
            if not is_name(path.removesuffix("/")) or not path.startswith(prefix):
                continue
            if path.endswith("/"):
                yield from self._walk(prefix, path.removesuffix("/"))
            else:
                yield Stored(path, size)


@contextmanager
def _mapped(refused: type[TargetError] = TargetRefused) -> Iterator[None]:
    """What obstore says, as errors of a target; its sentences quote addresses and answers, ours do not."""
    try:
        yield
    except FileNotFoundError as raised:
        if "NoSuchBucket" in str(raised):
            raise TargetRefused("there is no such bucket") from None
        raise ObjectMissing("there is no object of this name") from None
    except said.AlreadyExistsError:
        raise ObjectThere("there is an object of this name already") from None
    except (said.PermissionDeniedError, said.UnauthenticatedError) as raised:
        raise _refusal(str(raised), refused) from None
    except (said.BaseError, ValueError, OSError) as raised:
        raise _error(str(raised), refused) from None
    except BaseException as raised:
        if type(raised).__name__ != PANIC:
            raise
        raise TargetError("the S3 client gave up on a request that it cannot make") from None


def _refusal(text: str, refused: type[TargetError]) -> TargetError:
    if WRONG_SECRET.search(text):
        return TargetRefused("the access key or its secret is not accepted")
    return refused("the target does not allow this")


def _error(text: str, refused: type[TargetError]) -> TargetError:
    found = ANSWER.search(text)
    code = int(found.group(1)) if found else 0
    if code == 507 or FULL.search(text):
        return TargetFull("there is no room left at the target")
    if "NoSuchBucket" in text:
        return TargetRefused("there is no such bucket")
    if code in {401, 403}:
        return _refusal(text, refused)
    if code in {405, 409, 423}:
        return refused(f"the target does not allow this (HTTP {code})")
    if 300 <= code < 500 and code not in {408, 425, 429}:
        return TargetRefused(f"the target refused the request (HTTP {code})")
    return TargetUnreachable("no answer that was complete" + (f" (HTTP {code})" if code else ""))
