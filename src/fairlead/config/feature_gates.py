"""`--feature-gates`: which features the operator turns on or off, refused in Go's words.

kube-scheduler knows the gates of all of Kubernetes and takes any of them, so that one line serves
every component; so does this. What changes a verdict becomes part of the Release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final

import msgspec

from fairlead.config.errors import ConfigError
from fairlead.config.golang import quote
from fairlead.config.release import POD_GROUP_GATES, Release

TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
SPECIAL: Final = MappingProxyType({"AllAlpha": "alpha", "AllBeta": "beta"})
"""Gates that stand for all those of a stage that are not named themselves."""


class Group(msgspec.Struct, frozen=True):
    """Gates that are alike."""

    stage: str
    default: bool
    locked: bool
    names: tuple[str, ...]


class Catalogue(msgspec.Struct, frozen=True):
    """Every gate that kube-scheduler knows, and which gates others need to be on."""

    groups: tuple[Group, ...]
    needs: Mapping[str, tuple[str, ...]]


def catalogue() -> Catalogue:
    """Read where it is needed: a scheduler without the flag never does."""
    data = files("fairlead.config").joinpath("feature_gates.json").read_bytes()
    return msgspec.json.decode(data, type=Catalogue)


def with_feature_gates(release: Release, flags: Iterable[str]) -> Release:
    """The release with what the flags say; ConfigError for what kube-scheduler refuses too.

    One thing more is refused: what puts pods into groups, which this scheduler does not do.
    """
    given = _parse(flags)
    if not given:
        return release
    known = catalogue()
    groups = {name: group for group in known.groups for name in group.names}
    gates = _set(given, known, groups)
    _check_needs(gates, known, groups)
    for name in sorted(POD_GROUP_GATES):
        if gates.get(name):
            raise ConfigError(f"feature gate {name} cannot be on: pod groups are not supported")
    return release.with_gates(gates)


def _parse(flags: Iterable[str]) -> dict[str, bool]:
    """`A=true,B=false`, perhaps with `kube:` before it; the last word on a gate counts."""
    given: dict[str, bool] = {}
    for entry in (part for flag in flags for part in flag.split(",")):
        component, colon, text = entry.strip().partition(":")
        if colon and component != "kube":
            raise ConfigError(f"component not registered: {component}")
        name, equals, value = (
            part.strip() for part in (text if colon else component).partition("=")
        )
        if not name and not equals:
            continue
        if not equals:
            raise ConfigError(f"missing bool value for {name}")
        if value not in TRUE | FALSE:
            words = f"strconv.ParseBool: parsing {quote(value)}: invalid syntax"
            raise ConfigError(f"invalid value of {name}={value}, err: {words}")
        given[name] = value in TRUE
    return given


def _set(
    given: Mapping[str, bool], known: Catalogue, groups: Mapping[str, Group]
) -> dict[str, bool]:
    """What the flags come to, gates that stand for many spelled out."""
    refused: list[str] = []
    for name, value in given.items():
        group = groups.get(name)
        if group is None:
            refused.append(f"unrecognized feature gate: {name}")
            break
        if group.locked and group.default != value:
            shown = f"{name} to {_go(value)}, feature is locked to {_go(group.default)}"
            refused.append(f"cannot set feature gate {shown}")
    if refused:
        raise ConfigError(refused[0] if len(refused) == 1 else f"[{', '.join(refused)}]")
    gates: dict[str, bool] = {}
    for special, stage in SPECIAL.items():
        if special in given:
            every = (group for group in known.groups if group.stage == stage and not group.locked)
            gates |= {name: given[special] for group in every for name in group.names}
    return gates | dict(given)


def _check_needs(gates: Mapping[str, bool], known: Catalogue, groups: Mapping[str, Group]) -> None:
    """A feature that is on needs those that it builds on, whether named or not."""

    def on(name: str) -> bool:
        return gates.get(name, groups[name].default)

    faults: list[str] = []
    for name, needs in known.needs.items():
        off = [need for need in needs if not on(need)]
        if on(name) and off:
            listed = " ".join(off)
            faults.append(
                f"{name} is enabled, but depends on features that are disabled: [{listed}]"
            )
    if faults:
        raise ConfigError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


def _go(value: bool) -> str:
    return "true" if value else "false"
