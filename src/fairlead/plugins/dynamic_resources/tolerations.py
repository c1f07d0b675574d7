"""Taints of devices, and what requests put up with."""

from collections.abc import Iterable, Sequence

from fairlead.model.resource import DeviceTaint, DeviceToleration


def tolerated(taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> bool:
    """Whether the request puts up with all taints that keep a device from being given out."""
    return all(any(tolerates(each, taint) for each in tolerations) for taint in taints)


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
