"""What volumes add behind feature gates that are off in this release."""

from __future__ import annotations

import numpy as np

from fairlead.config.args import UtilizationShapePoint, VolumeBindingArgs
from fairlead.config.release import RELEASE_1_36
from fairlead.framework.handle import Handle
from fairlead.framework.state import CycleState
from fairlead.plugins.node_volume_limits import NodeVolumeLimits
from fairlead.plugins.volume_binding.plugin import VolumeBinding
from tests.builders import Json, World, info, node, pod
from tests.unit.plugins.test_volumes import (
    DRIVER,
    ZONE,
    claim,
    csi_node,
    storage_class,
    volume,
    with_claims,
    world,
)


def scores(of: World, plugin: VolumeBinding, *claims: str) -> dict[str, int]:
    """By node; both forms must say the same."""
    asked, state = info(pod("asked", **with_claims(*claims))), CycleState()
    assert plugin.pre_filter(asked, state) is None
    nodes = of.core.cycle.handle.nodes(np.arange(len(of.cluster.nodes)))
    assert plugin.pre_score(asked, nodes, state) is None
    column = plugin.score_nodes(asked, nodes, state)
    found = {
        name: plugin.score(asked, of.cluster.nodes.info(row), state)
        for name, row in of.cluster.nodes.rows.items()
    }
    assert isinstance(column, np.ndarray)
    assert column.tolist() == list(found.values())
    return found


def scoring(of: World, *shape: tuple[int, int]) -> VolumeBinding:
    handle = Handle(
        of.cluster.nodes,
        of.cluster.objects,
        RELEASE_1_36.with_gates({"StorageCapacityScoring": True}),
    )
    points = tuple(UtilizationShapePoint(utilization=u, score=s) for u, s in shape)
    return VolumeBinding(VolumeBindingArgs(shape=points or None), handle)


def test_volumes_that_are_there_score_by_how_well_they_are_used() -> None:
    w = world(
        volume("a", size="10Gi", host="n0"),
        volume("b", size="4Gi", host="n1"),
        volume("c", "other", size="8Gi"),
        storage_class("other", "kubernetes.io/no-provisioner"),
        claim("one", size="2Gi"),
        claim("two", "other", size="2Gi"),
    )
    w.set_node(node("none"))
    plain = scoring(w)
    assert scores(w, plain, "one") == {"n0": 80, "n1": 50, "none": 0}
    assert scores(w, plain, "one", "two") == {"n0": 78, "n1": 63, "none": 0}
    assert scores(w, scoring(w, (0, 0), (100, 10)), "one") == {"n0": 20, "n1": 50, "none": 0}


def test_volumes_that_would_be_made_score_by_what_is_left() -> None:
    driver = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}}
    w = world(storage_class("made"), driver, claim("one", "made", size="2Gi"))
    for number, left in enumerate(("4Gi", "20Gi")):
        w.set_object(capacity(number, left))
    assert scores(w, scoring(w), "one") == {"n0": 50, "n1": 90}


def capacity(number: int, left: str) -> Json:
    return {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"k{number}", "namespace": "kube-system"},
        "storageClassName": "made",
        "capacity": left,
        "nodeTopology": {"matchLabels": {ZONE: f"z{number}"}},
    }


def test_a_driver_that_must_be_there_is_missed() -> None:
    must = {"preventPodSchedulingIfMissing": True}
    w = world(
        storage_class("made"),
        {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": must},
        claim("one", "made"),
        csi_node("n1", 5),
    )
    handle = Handle(
        w.cluster.nodes, w.cluster.objects, RELEASE_1_36.with_gates({"VolumeLimitScaling": True})
    )
    plugin, state = NodeVolumeLimits(None, handle), CycleState()
    asked = info(pod("asked", **with_claims("one")))
    assert plugin.pre_filter(asked, state) is None
    status = plugin.filter(asked, w.cluster.nodes.info(0), state)
    assert status is not None
    assert status.message == f"{DRIVER} CSI driver is not installed on the node"
    assert plugin.filter(asked, w.cluster.nodes.info(1), state) is None
    found = plugin.filter_nodes(asked, handle.nodes(np.arange(2)), state)
    assert found is not None
    assert found.codes.tolist() == [2, 0]
    assert plugin.facts(asked) == (("CSIDriver", ""),)
