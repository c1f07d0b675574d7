"""The functions of Kubernetes about IP addresses and networks."""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from fairlead.model.cel.values import NO_OVERLOAD, CelError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Ip(Struct, frozen=True, gc=False):
    address: Address


class Cidr(Struct, frozen=True, gc=False):
    """A network, with the address as it was written: `10.0.0.7/8` has one of its own."""

    address: Address
    network: Network


class Functions(NamedTuple):
    functions: Mapping[str, Callable[..., Any]]
    members: Mapping[str, Callable[..., Any]]


def parse_ip(text: Any) -> Ip:
    if not isinstance(text, str):
        raise CelError(NO_OVERLOAD)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CelError(
            f'IP Address "{text}" parse error during conversion from string: '
            f'ParseAddr("{text}"): unable to parse IP'
        ) from None
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
        kind = "with zone value" if address.scope_id else "IPv4-mapped IPv6 address"
        raise CelError(f'IP Address "{text}" {kind} is not allowed')
    return Ip(address)


def parse_cidr(text: Any) -> Cidr:
    if not isinstance(text, str):
        raise CelError(NO_OVERLOAD)
    host, slash, bits = text.partition("/")
    try:
        if not slash or not bits.isdigit() or (len(bits) > 1 and bits[0] == "0"):
            raise ValueError(text)
        return Cidr(parse_ip(host).address, ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise CelError("network address parse error during conversion from string") from None


def well_formed(parse: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def ask(text: Any) -> bool:
        try:
            parse(text)
        except CelError as problem:
            if str(problem) == NO_OVERLOAD:
                raise
            return False
        return True

    return ask


def ip(value: Any) -> Ip:
    return Ip(value.address) if isinstance(value, Cidr) else parse_ip(value)


def quality(name: str) -> Callable[[Any], bool]:
    return lambda value: getattr(address_of(value), name)


def address_of(value: Any) -> Address:
    if not isinstance(value, Ip):
        raise CelError(NO_OVERLOAD)
    return value.address


def network_of(value: Any) -> Network:
    if not isinstance(value, Cidr):
        raise CelError(NO_OVERLOAD)
    return value.network


def global_unicast(value: Any) -> bool:
    address = address_of(value)
    broadcast = address.version == 4 and int(address) == 2**32 - 1
    return not (
        broadcast
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def link_local_multicast(value: Any) -> bool:
    address = address_of(value)
    if address.version == 4:
        return address in ipaddress.ip_network("224.0.0.0/24")
    return int(address) >> 112 & 0xFF0F == 0xFF02


def contains_ip(value: Any, other: Any) -> bool:
    address = parse_ip(other).address if isinstance(other, str) else address_of(other)
    return address in network_of(value)


def contains_cidr(value: Any, other: Any) -> bool:
    outer = network_of(value)
    inner = parse_cidr(other).network if isinstance(other, str) else network_of(other)
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def written(value: Any) -> str:
    """`string()` of an address or a network."""
    if isinstance(value, Cidr):
        return f"{value.address}/{value.network.prefixlen}"
    return str(address_of(value))


def masked(value: Any) -> Cidr:
    network = network_of(value)
    return Cidr(network.network_address, network)


ADDRESSES = Functions(
    {
        "string": written,
        "ip": ip,
        "isIP": well_formed(parse_ip),
        "ip.isCanonical": lambda text: str(parse_ip(text).address) == text,
        "cidr": parse_cidr,
        "isCIDR": well_formed(parse_cidr),
    },
    {
        "family": lambda value: address_of(value).version,
        "isUnspecified": quality("is_unspecified"),
        "isLoopback": quality("is_loopback"),
        "isLinkLocalUnicast": quality("is_link_local"),
        "isLinkLocalMulticast": link_local_multicast,
        "isGlobalUnicast": global_unicast,
        "containsIP": contains_ip,
        "containsCIDR": contains_cidr,
        "ip": ip,
        "prefixLength": lambda value: network_of(value).prefixlen,
        "masked": masked,
    },
)
