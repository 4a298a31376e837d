"""Who asks, as far as limits are concerned."""

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

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
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    networks: list[IPv4Network | IPv6Network] = [
        ip_network(each) for each in trusted if each != "unix"
    ]
    return any(address in network for network in networks)


def _counted(peer: str) -> str:
    try:
        address = ip_address(peer)
    except ValueError:
        return ""
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network((int(address), 64), strict=False))
