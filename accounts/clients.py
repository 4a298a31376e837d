"""Who asks, as far as limits are concerned."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.http import HttpRequest

from accounts.conf import conf


def client_of(request: HttpRequest) -> str:
    """The address of the client, an IPv6 one as its network of 64 bits; empty when nobody who is trusted knows it.

    It is the peer's. Only where the peer is a trusted proxy is ``X-Forwarded-For`` read, from its end up to
    the first address that is no trusted proxy's: whatever stands before that, the client made up.
    """
    peer = request.META.get("REMOTE_ADDR", "") or "unix"
    said = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    while _is_trusted(peer) and said:
        peer = said.pop().strip()
    return "" if _is_trusted(peer) else _counted(peer)


def _is_trusted(peer: str) -> bool:
    trusted = conf().accounts_trusted_proxies
    if peer == "unix":
        return "unix" in trusted
    address = _read(peer)
    if address is None:
        return False
    networks: list[IPv4Network | IPv6Network] = [
        ip_network(each) for each in trusted if each != "unix"
    ]
    return any(address in network for network in networks)


def _counted(peer: str) -> str:
    address = _read(peer)
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), 64), strict=False))
    return "" if address is None else str(address)


def _read(peer: str) -> IPv4Address | IPv6Address | None:
    """An IPv4 address as such, also where a socket for both kinds tells of it in the form of the other."""
    try:
        address = ip_address(peer)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
