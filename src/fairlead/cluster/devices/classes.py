"""DeviceClasses by the extended resources that they stand for.

If several name the same resource the newest counts, then the one that comes first by name. Which
one a change replaces follows kube-scheduler to the letter: a class that is updated and keeps the
name of its resource goes on with what was known of it.
"""

from fairlead.cluster.objects import Objects
from fairlead.model.resource import DeviceClass
from fairlead.model.resources import is_extended

IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""With the name of a class behind it: the resource that every class stands for."""


def may_be_devices(name: str) -> bool:
    """Whether devices may stand for the resource at all."""
    return is_extended(name) or name.startswith(IMPLICIT)


class Classes:
    """The classes by name, and by resource."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._of_resource: dict[str, DeviceClass] = {}

    def get(self, name: str) -> DeviceClass | None:
        return self._objects.get("DeviceClass", "", name)  # type: ignore[return-value]

    def backing(self, resource: str) -> DeviceClass | None:
        """The class whose devices can be had as this resource."""
        return self._of_resource.get(resource)

    def __bool__(self) -> bool:
        return bool(self._of_resource)

    def heard(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        """A class has come, changed or gone."""
        if new is not None:
            self._set(old, new)
        elif old is not None:
            for resource in resources_of(old):
                self._of_resource.pop(resource, None)

    def _set(self, old: DeviceClass | None, new: DeviceClass) -> None:
        named = new.spec.extended_resource_name
        rival = self._of_resource.get(named) if named else None
        if rival is not None:
            ages = new.metadata.creation_timestamp or "", rival.metadata.creation_timestamp or ""
            if ages[0] < ages[1]:
                return
            if ages[0] == ages[1] and new.metadata.name >= rival.metadata.name:
                return
        if old is not None:
            for resource in resources_of(old):
                self._of_resource.pop(resource, None)
        for resource in resources_of(new):
            self._of_resource[resource] = new


def resources_of(given: DeviceClass) -> list[str]:
    named = given.spec.extended_resource_name
    return [IMPLICIT + given.metadata.name, *([named] if named else [])]
