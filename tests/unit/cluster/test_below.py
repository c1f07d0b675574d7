"""What would be requested without less important pods: the same by columns as pod by pod."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.builders import World, node, pod

NAMES = ("pod_count", "requested_cpu", "requested_memory", "requested_ephemeral_storage")
AMOUNTS = ("0", "1", "7", "123456789", str(2**52), str(2**63 - 1))


def compare(world: World, priority: int) -> None:
    table = world.cluster.nodes
    found = table.below.get(priority)
    rows = np.array([info.row for info in table.all()], np.intp)
    for info in table.all():
        rest = [p for p in info.pods if p.priority >= priority]
        row = np.array([info.row], np.intp)
        gone = len(list(info.pods)) - len(rest)
        assert found.victims[info.row] == gone
        twin = info.copy()
        for each in [*info.pods]:
            if each.priority < priority:
                twin.take_off(each)
        for name in NAMES:
            want = min(getattr(twin, name), 2**63 - 1)
            assert found.quantity(name, row)[0] == want, name
        gpus = found.requested_scalar("example.com/gpu", row)
        if gpus is not None:
            assert gpus[0] == min(twin.requested("example.com/gpu"), 2**63 - 1)
    assert len(found.quantity("allocatable_cpu", rows)) == len(rows)


@pytest.mark.parametrize("seed", range(12))
def test_after_any_history(seed: int) -> None:
    rng = Random(seed)
    world = World(node("n0"), node("n1"))
    pods: list[str] = []
    for step in range(60):
        match rng.randrange(6):
            case 0 if rng.random() < 0.3:
                extra = {"example.com/gpu": "8"} if rng.random() < 0.4 else {}
                world.set_node(node(f"n{rng.randrange(70)}", allocatable=extra))
            case 1 if pods:
                world.core.intake.remove_pod(f"pod-{pods.pop(rng.randrange(len(pods)))}")
            case 2 if rng.random() < 0.2:
                world.core.intake.remove_node(f"n{rng.randrange(4)}")
            case _:
                name = f"p{step}"
                requests = {"memory": rng.choice(AMOUNTS), "cpu": f"{rng.randrange(3000)}m"}
                if rng.random() < 0.3:
                    requests |= {"example.com/gpu": rng.choice(AMOUNTS[:4])}
                if rng.random() < 0.3:
                    requests |= {"ephemeral-storage": rng.choice(AMOUNTS[:4])}
                on = f"n{rng.randrange(4)}"
                spec = {"priority": rng.choice((0, 5, 10))}
                world.set_pod(pod(name, requests=requests, on=on, spec=spec))
                pods.append(name)
        if rng.random() < 0.4:
            compare(world, rng.choice((1, 6, 11)))
    for priority in range(12):  # more of them than are kept
        compare(world, priority)
