"""A session of SFTP: to a server whose host key is known beforehand, and to no other."""

import hashlib
import io
import socket
from base64 import b64decode, b64encode
from typing import Any

import paramiko

from backups.errors import TargetRefused
from backups.targets.config import SftpConfig
from backups.targets.sftp_errors import mapped

KEYS: tuple[type[paramiko.PKey], ...] = (
    paramiko.Ed25519Key,
    paramiko.ECDSAKey,
    paramiko.RSAKey,
)


class Client(paramiko.SFTPClient):
    """Reads the names of a directory whatever their encoding is: what is no UTF-8 is no name of ours."""

    def _request(self, kind: Any, *given: Any) -> Any:
        code, message = super()._request(kind, *given)  # type: ignore[misc]
        if message is not None:
            message.get_text = lambda: message.get_string().decode(errors="replace")
        return code, message


def connect(config: SftpConfig, secret: str, timeout: float) -> tuple[paramiko.Transport, Any]:
    """Connect and log in: the transport, whose end ends all, and the client over it.

    Raises ``TargetRefused`` for another host key, before the secret is sent, and for the secret.
    """
    with mapped():
        sock = socket.create_connection((config.host, config.port), timeout)
    transport = paramiko.Transport(sock)  # its end is the socket's, too
    transport.banner_timeout = transport.auth_timeout = timeout
    transport.channel_timeout = timeout
    try:
        with mapped():
            _want_key(transport, config.host_key)
            transport.start_client(timeout=timeout)
            key = transport.get_remote_server_key()  # it says so when the other has waited in vain
        _check_key(key, config.host_key)
        with mapped():
            _log_in(transport, config.user, secret)
            client = Client.from_transport(transport)
        if client is None:
            raise TargetRefused("the server does not offer SFTP")
        channel = client.get_channel()
        if channel is not None:
            channel.settimeout(timeout)
    except BaseException:
        transport.close()
        raise
    return transport, client


def _want_key(transport: paramiko.Transport, wanted: str) -> None:
    """Of a server with several host keys, ask for the one that we know."""
    kind = wanted.partition(" ")[0]
    if kind.startswith("SHA256:"):
        return
    kinds = ["rsa-sha2-512", "rsa-sha2-256"] if kind == "ssh-rsa" else [kind]
    options = transport.get_security_options()
    options.key_types = [each for each in kinds if each in options.key_types]


def _check_key(key: paramiko.PKey, wanted: str) -> None:
    given = key.asbytes()
    if wanted.startswith("SHA256:"):
        shown = "SHA256:" + b64encode(hashlib.sha256(given).digest()).decode().rstrip("=")
        fits = shown == wanted.rstrip("=")
    else:
        try:
            fits = given == b64decode(wanted.split()[1])
        except ValueError:
            fits = False
    if not fits:
        raise TargetRefused(
            f"the server's host key ({key.get_name()}) is not the one of the configuration; nothing was"
            " sent to it"
        )


def _log_in(transport: paramiko.Transport, user: str, secret: str) -> None:
    if "PRIVATE KEY-----" in secret:
        transport.auth_publickey(user, _key_of(secret))
    else:
        transport.auth_password(user, secret)


def _key_of(text: str) -> paramiko.PKey:
    for kind in KEYS:
        try:
            return kind.from_private_key(io.StringIO(text))
        except (paramiko.SSHException, ValueError, IndexError):
            continue
    raise TargetRefused("the private key cannot be read; expected one without a passphrase")
