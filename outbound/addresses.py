"""Which IP addresses belong to the public internet."""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# IPv6 ranges whose addresses stand for an IPv4 one.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
# All that is handed out to the public so far; older Pythons take later special ranges for global.
_UNICAST = ipaddress.ip_network("2000::/3")
# Global by the registry, and yet not for us: metadata services of clouds, a relay that is no more, examples.
_OTHERS = tuple(
    ipaddress.ip_network(each)
    for each in ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "3fff::/20")
)


def is_public(text: str) -> bool:
    """Whether an IP address belongs to the public internet, whichever way it is written."""
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    inner = embedded(address)
    if inner is not None:
        return is_public(str(inner))
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST:
        return False
    if any(address.version == net.version and address in net for net in _OTHERS):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def embedded(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or address in _COMPATIBLE:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
