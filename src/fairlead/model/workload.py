"""Services and controllers, as far as a scheduler reads them: whose pods belong together."""

from msgspec import Struct

from fairlead.model.meta import ObjectMeta
from fairlead.model.selector import LabelSelector


class LabelMap(Struct, frozen=True, gc=False):
    """A selector of the old kind: labels, and all of them."""

    selector: dict[str, str] = {}


class SelectorSpec(Struct, frozen=True, gc=False):
    """A selector of the new kind."""

    selector: LabelSelector | None = None


class Service(Struct, frozen=True, gc=False):
    """Pods that answer under one name; without a selector it has none."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LabelMap = LabelMap()


class ReplicationController(Struct, frozen=True, gc=False):
    """The oldest controller of equal pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LabelMap = LabelMap()


class ReplicaSet(Struct, frozen=True, gc=False):
    """The controller of equal pods that Deployments make."""

    metadata: ObjectMeta = ObjectMeta()
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(Struct, frozen=True, gc=False):
    """The controller of pods with names and volumes of their own."""

    metadata: ObjectMeta = ObjectMeta()
    spec: SelectorSpec = SelectorSpec()


class Namespace(Struct, frozen=True, gc=False):
    """A namespace; pods of others are told apart by its labels."""

    metadata: ObjectMeta = ObjectMeta()
