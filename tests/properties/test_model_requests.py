"""The effective request against a slow, literal statement of the rules."""

from fractions import Fraction
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.decode import decode_pod
from fairlead.model.podinfo import PodInfo, PodInfos, Resources

NAMES: tuple[str, ...] = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "example.com/gpu",
    "hugepages-2Mi",
    "storage",
)
MILLI = {"cpu": 1000}
DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024 * 1024)}
POD_LEVEL = ("cpu", "memory", "hugepages-2Mi")

Amounts = dict[str, Fraction]

micros = st.integers(0, 5_000_000)
wanted = st.dictionaries(st.sampled_from(NAMES), micros, max_size=4)


@st.composite
def containers(draw: st.DrawFn, init: bool) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 3))):
        container: dict[str, Any] = {"name": f"{'i' if init else 'c'}{number}"}
        container["resources"] = {"requests": spelt(draw(wanted))}
        if init and draw(st.booleans()):
            container["restartPolicy"] = "Always"
        listed.append(container)
    return listed


def spelt(amounts: dict[str, int]) -> dict[str, str]:
    return {name: f"{amount}u" for name, amount in amounts.items()}


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "containers": draw(containers(init=False)),
        "initContainers": draw(containers(init=True)),
    }
    if draw(st.booleans()):
        spec["resources"] = {"requests": spelt(draw(wanted))}
    if draw(st.booleans()):
        spec["overhead"] = spelt(draw(wanted))
    status: dict[str, Any] = {}
    for field, listed in (
        ("containerStatuses", spec["containers"]),
        ("initContainerStatuses", spec["initContainers"]),
    ):
        status[field] = [
            {
                "name": container["name"],
                "resources": {"requests": spelt(draw(wanted))},
                "allocatedResources": spelt(draw(wanted)),
            }
            for container in listed
            if draw(st.booleans())
        ]
    if draw(st.booleans()):
        status["resources"] = {"requests": spelt(draw(wanted))}
        status["allocatedResources"] = spelt(draw(wanted))
    if draw(st.booleans()):
        reason = draw(st.sampled_from(["Infeasible", "Deferred"]))
        status["conditions"] = [{"type": "PodResizePending", "reason": reason}]
    return {"spec": spec, "status": status}


def read(texts: dict[str, str] | None) -> Amounts:
    return {name: Fraction(int(text[:-1]), 10**6) for name, text in (texts or {}).items()}


def requests(holder: dict[str, Any]) -> Amounts:
    return read(holder.get("resources", {}).get("requests"))


def plus(one: Amounts, two: Amounts) -> Amounts:
    return {name: one.get(name, Fraction(0)) + two.get(name, Fraction(0)) for name in one | two}


def most(*several: Amounts) -> Amounts:
    names = {name for amounts in several for name in amounts}
    return {n: max(amounts[n] for amounts in several if n in amounts) for n in names}


def held(spec: Amounts, status: dict[str, Any], pod: dict[str, Any]) -> Amounts:
    infeasible = any(c["reason"] == "Infeasible" for c in pod["status"].get("conditions", []))
    given_now = (requests(status), read(status.get("allocatedResources")))
    return most(*given_now) if infeasible else most(spec, *given_now)


def literal(
    pod: dict[str, Any], defaults: Amounts, *, level: bool = True, with_status: bool = False
) -> Amounts:
    """Section by section: containers, init containers, the larger, pod level, overhead."""
    spec, status = pod["spec"], pod["status"]
    seen = {s["name"]: s for k in ("containerStatuses", "initContainerStatuses") for s in status[k]}

    def of(container: dict[str, Any], counts: bool) -> Amounts:
        own = requests(container)
        if with_status and counts and container["name"] in seen:
            own = held(own, seen[container["name"]], pod)
        return {**defaults, **own}

    together: Amounts = {}
    for container in spec["containers"]:
        together = plus(together, of(container, True))
    sidecars: Amounts = {}
    candidates: list[Amounts] = []
    for container in spec["initContainers"]:
        if container.get("restartPolicy") == "Always":
            together = plus(together, of(container, True))
            sidecars = plus(sidecars, of(container, True))
            candidates.append(sidecars)
        else:
            candidates.append(plus(of(container, False), sidecars))
    total = most(together, *candidates)
    if level:
        own = requests(spec)
        effective = own
        if with_status and "resources" in status:
            effective = held(own, status, pod)
        total |= {n: effective.get(n, Fraction(0)) for n in own if n in POD_LEVEL}
    return plus(total, read(spec.get("overhead")))


def vector(amounts: Amounts) -> Resources:
    units = {name: -((-amount * MILLI.get(name, 1)) // 1) for name, amount in amounts.items()}
    scalars = sorted((name, units[name]) for name in ("example.com/gpu", "hugepages-2Mi")
                     if name in units)  # fmt: skip
    cpu, memory, storage = (units.get(name, 0) for name in NAMES[:3])
    return Resources(cpu, memory, storage, tuple(scalars))


def info(pod: dict[str, Any], infos: PodInfos | None = None) -> PodInfo:
    return (infos or PodInfos()).of(decode_pod(msgspec.json.encode(pod)))


@given(pods())
def test_requests_are_those_of_the_rules(pod: dict[str, Any]) -> None:
    found = info(pod)
    placed = literal(pod, {}, with_status=True)
    assert found.request == vector(literal(pod, {}))
    assert found.score_request == vector(literal(pod, DEFAULTS, level=False))
    assert found.placed_request == vector(placed)
    assert found.balanced_request == found.placed_request
    level = any(name in POD_LEVEL for name in requests(pod["spec"]))
    defaults = {n: a for n, a in DEFAULTS.items() if not (level and n in placed)}
    nonzero = vector(literal(pod, defaults, with_status=True))
    assert found.placed_nonzero == (nonzero.cpu, nonzero.memory)


@given(st.lists(pods(), max_size=4))
def test_what_was_read_before_changes_nothing(several: list[dict[str, Any]]) -> None:
    shared = PodInfos()
    for pod in several * 2:
        fresh, kept = info(pod), info(pod, shared)
        assert (fresh.request, fresh.placed_request) == (kept.request, kept.placed_request)
        assert (fresh.score_request, fresh.placed_nonzero) == (
            kept.score_request,
            kept.placed_nonzero,
        )
