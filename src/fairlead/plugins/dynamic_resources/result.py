"""From what a search found to the allocation that is written into a claim's status."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fairlead.model.resource import AllocationResult, DeviceClass, ResourceClaim
from fairlead.model.selector import NAME_FIELD, NodeSelectorRequirement, NodeSelectorTerm
from fairlead.plugins.dynamic_resources.asked import Found, Wanted
from fairlead.plugins.dynamic_resources.search import Search

Json = dict[str, Any]
UNITS = ((10**9, ""), (10**6, "m"), (10**3, "u"), (1, "n"))


class Allocation:
    """An allocation as JSON, and as the struct that it would be read as."""

    __slots__ = ("struct", "wire")

    def __init__(self, wire: Json) -> None:
        self.wire = wire
        self.struct = msgspec.json.decode(msgspec.json.encode(wire), type=AllocationResult)


def allocation(search: Search, at: int, claim: ResourceClaim, node_name: str) -> Allocation:
    """What the claim at this place of the search gets."""
    found = search.results[at]
    chosen = [wanted for (of, _), wanted in sorted(search.chosen.items()) if of == at]
    devices: Json = {"results": [result(each, nth, claim) for nth, each in enumerate(found)]}
    config = [*of_classes(chosen), *of_claim(claim, chosen)]
    if config:
        devices["config"] = config
    wire: Json = {"devices": devices}
    selector = node_selector(found, node_name)
    if selector is not None:
        wire["nodeSelector"] = {"nodeSelectorTerms": [selector]}
    return Allocation(wire)


def result(found: Found, nth: int, claim: ResourceClaim) -> Json:
    request, device = found.request, found.device
    driver, pool, name = device.id
    wire: Json = {
        "request": request.full_name,
        "driver": driver,
        "pool": pool,
        "device": name,
    }
    if request.admin:
        wire["adminAccess"] = True
    if request.tolerations:
        wire["tolerations"] = [msgspec.to_builtins(each) for each in request.tolerations]
    if device.device.binding_conditions:
        wire["bindingConditions"] = list(device.device.binding_conditions)
    if device.device.binding_failure_conditions:
        wire["bindingFailureConditions"] = list(device.device.binding_failure_conditions)
    if found.consumed is not None:
        # One share of this claim and no other: there is no chance in a decision, nor need of any.
        seed = f"{claim.metadata.uid}/{claim.metadata.resource_version}/{nth}"
        wire["shareID"] = str(uuid.uuid5(uuid.NAMESPACE_OID, seed))
        if found.consumed:
            wire["consumedCapacity"] = {k: quantity(v) for k, v in found.consumed.items()}
    return wire


def quantity(nano: int) -> str:
    """The amount as a quantity, in the largest unit that is exact."""
    size, suffix = next((size, suffix) for size, suffix in UNITS if nano % size == 0)
    return f"{nano // size}{suffix}"


def of_classes(chosen: Sequence[Wanted]) -> list[Json]:
    """The configuration of each class, once, with the requests that it is for."""
    requests: dict[str, list[str]] = {}
    classes: dict[str, DeviceClass] = {}
    for wanted in chosen:
        name = wanted.device_class.metadata.name
        classes[name] = wanted.device_class
        requests.setdefault(name, []).append(wanted.request.full_name)
    return [
        {"source": "FromClass", "requests": requests[name], **config}
        for name, of_class in classes.items()
        for config in entries(of_class.spec.config)
    ]


def of_claim(claim: ResourceClaim, chosen: Sequence[Wanted]) -> Iterable[Json]:
    """The configuration of the claim, as far as it is for what was chosen."""
    for config in entries(claim.spec.devices.config):
        named: list[str] = config.get("requests") or []
        entry: Json = {"source": "FromClaim", **config}
        if not named:
            yield entry
            continue
        for wanted in chosen:
            if wanted.request.top_name in named or wanted.request.full_name in named:
                yield entry


def entries(raw: msgspec.Raw) -> list[Json]:
    data = bytes(raw)
    return msgspec.json.decode(data) or [] if data else []


def node_selector(found: Sequence[Found], node_name: str) -> Json | None:
    """Where the allocation can be used: on this node, where all selectors say, or anywhere."""
    fields: list[Json] = []
    expressions: list[Json] = []
    for each in found:
        nodes = each.device.nodes if each.slice.per_device else each.slice.nodes
        if nodes.name or each.device.device.binds_to_node:
            here = {"key": NAME_FIELD, "operator": "In", "values": [node_name]}
            return {"matchFields": [here]}
        if nodes.wire is not None and nodes.wire.node_selector_terms:
            term: NodeSelectorTerm = nodes.wire.node_selector_terms[0]
            add(fields, term.match_fields)
            add(expressions, term.match_expressions)
    parts = (("matchFields", fields), ("matchExpressions", expressions))
    return {name: part for name, part in parts if part} or None


def add(known: list[Json], requirements: Iterable[NodeSelectorRequirement]) -> None:
    """Those that are not there yet, in whatever order their values are."""
    for requirement in requirements:
        wire: Mapping[str, Any] = msgspec.to_builtins(requirement)
        if not any(
            (each["key"], each["operator"]) == (wire["key"], wire["operator"])
            and set(each["values"]) == set(wire["values"])
            for each in known
        ):
            known.append({**wire, "values": list(wire["values"])})
