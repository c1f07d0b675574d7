"""The family about namespaceSelectors that say which namespaces are not meant."""

from __future__ import annotations

from .basics import HOSTNAME, NAMESPACES, ZONE, Dice, Json
from .neighbours import namespaces, uneven
from .objects import affinity, expression, pod
from .world import family, landscape, ordinary_need


def negative(d: Dice) -> Json:
    return {
        "matchExpressions": [
            d.choice(
                (
                    expression("team", "NotIn", d.choice("ab")),
                    expression("team", "DoesNotExist"),
                    expression("env", "NotIn", d.choice(("prod", "test"))),
                )
            )
        ]
    }


@family("namespaces")
def selected_namespaces(d: Dice) -> Json:
    w = landscape(d, d.randint(2, 8), uniform=0.7)
    namespaces(w)

    def term(_: object = None) -> Json:
        app = {"matchLabels": {"app": d.choice(("web", "db"))}}
        where = {"topologyKey": d.choice((ZONE, HOSTNAME)), "namespaceSelector": negative(d)}
        return {"labelSelector": app} | where

    def bonds(_: str) -> Json | None:
        return affinity(podAntiAffinity=([term()], None)) if d.chance(0.15) else None

    uneven(
        w,
        d.randint(1, 20),
        labels=lambda _: {"app": d.choice(("web", "db"))},
        affinity=bonds,
        namespace=lambda _: d.choice([*NAMESPACES]),
    )
    needs, wishes = [term()], [{"weight": d.randint(1, 100), "podAffinityTerm": term()}]
    bond = d.choice(
        (
            affinity(podAffinity=(needs, None)),
            affinity(podAntiAffinity=(needs, None)),
            affinity(podAffinity=(None, wishes)),
            affinity(podAntiAffinity=(None, wishes)),
        )
    )
    pending = pod(d, "pending", need=ordinary_need(d), labels={"app": "web"}, affinity=bond)
    return w.case(pending)
