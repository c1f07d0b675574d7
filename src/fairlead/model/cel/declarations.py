"""The variables and functions of Kubernetes as a type checker knows them."""

from collections.abc import Mapping
from types import MappingProxyType

Overloads = tuple[tuple[bool, tuple[str, ...], str], ...]
"""Whether it is called on a value, the types of its operands, and of its result."""

VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "device.driver": "STRING",
        "device.allowMultipleAllocations": "BOOL",
        "device.attributes": "map map DYN",
        "device.capacity": "map map Quantity",
    }
)


def member(result: str, *parameters: str) -> tuple[bool, tuple[str, ...], str]:
    return True, parameters, result


def plain(result: str, *parameters: str) -> tuple[bool, tuple[str, ...], str]:
    return False, parameters, result


LIST = "list DYN"

DECLARED: Mapping[str, Overloads] = MappingProxyType(
    {
        "quantity": (plain("Quantity", "STRING"),),
        "isQuantity": (plain("BOOL", "STRING"),),
        "sign": (plain("INT", "Quantity"),),
        "isInteger": (member("BOOL", "Quantity"),),
        "asInteger": (member("INT", "Quantity"),),
        "asApproximateFloat": (member("DOUBLE", "Quantity"),),
        "add": (member("Quantity", "Quantity", "Quantity"), member("Quantity", "Quantity", "INT")),
        "sub": (member("Quantity", "Quantity", "Quantity"), member("Quantity", "Quantity", "INT")),
        "compareTo": (
            member("INT", "Quantity", "Quantity"),
            member("INT", "Semver", "Semver"),
        ),
        "isLessThan": (
            member("BOOL", "Quantity", "Quantity"),
            member("BOOL", "Semver", "Semver"),
        ),
        "isGreaterThan": (
            member("BOOL", "Quantity", "Quantity"),
            member("BOOL", "Semver", "Semver"),
        ),
        "semver": (plain("Semver", "STRING"), plain("Semver", "STRING", "BOOL")),
        "isSemver": (plain("BOOL", "STRING"), plain("BOOL", "STRING", "BOOL")),
        "major": (member("INT", "Semver"),),
        "minor": (member("INT", "Semver"),),
        "patch": (member("INT", "Semver"),),
        "isSorted": (member("BOOL", LIST),),
        "sum": (member("DYN", LIST),),
        "min": (member("DYN", LIST),),
        "max": (member("DYN", LIST),),
        "distinct": (member(LIST, LIST),),
        "flatten": (member(LIST, LIST), member(LIST, LIST, "INT")),
        "slice": (member(LIST, LIST, "INT", "INT"),),
        "sort": (member(LIST, LIST),),
        "lists.range": (plain("list INT", "INT"),),
        "sets.contains": (plain("BOOL", LIST, LIST),),
        "sets.equivalent": (plain("BOOL", LIST, LIST),),
        "sets.intersects": (plain("BOOL", LIST, LIST),),
        "ip": (plain("IP", "STRING"), member("IP", "CIDR")),
        "isIP": (plain("BOOL", "STRING"),),
        "ip.isCanonical": (plain("BOOL", "STRING"),),
        "family": (member("INT", "IP"),),
        "isUnspecified": (member("BOOL", "IP"),),
        "isLoopback": (member("BOOL", "IP"),),
        "isLinkLocalUnicast": (member("BOOL", "IP"),),
        "isLinkLocalMulticast": (member("BOOL", "IP"),),
        "isGlobalUnicast": (member("BOOL", "IP"),),
        "cidr": (plain("CIDR", "STRING"),),
        "isCIDR": (plain("BOOL", "STRING"),),
        "containsIP": (member("BOOL", "CIDR", "STRING"), member("BOOL", "CIDR", "IP")),
        "containsCIDR": (member("BOOL", "CIDR", "STRING"), member("BOOL", "CIDR", "CIDR")),
        "prefixLength": (member("INT", "CIDR"),),
        "masked": (member("CIDR", "CIDR"),),
    }
)
