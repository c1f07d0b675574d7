"""⑪ Pods that Permit plugins hold: each until every plugin has allowed it, one has refused, or a
plugin's time is over.

Sync: time is passed in, and whoever waits is called back once.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fairlead.framework.status import Status, error, unschedulable
from fairlead.model.podinfo import PodInfo

Released = Callable[[str, Status | None], None]
"""Called with the plugin that decided and its refusal; with None for the refusal when allowed."""


@dataclass(slots=True)
class WaitingPod:
    """One held pod: the plugins that have not allowed it yet, with the end of their patience."""

    pod: PodInfo
    node_name: str
    deadlines: dict[str, tuple[float, float]]
    released: Released


class WaitingPods:
    """All held pods, by uid."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def hold(
        self,
        pod: PodInfo,
        node_name: str,
        waits: Mapping[str, float],
        now: float,
        released: Released,
    ) -> None:
        """Hold the pod for the plugins that asked for so many seconds."""
        deadlines = {plugin: (now + seconds, seconds) for plugin, seconds in waits.items()}
        self._pods[pod.uid] = WaitingPod(pod, node_name, deadlines, released)

    def allow(self, uid: str, plugin: str) -> bool:
        """One plugin allows the pod; it goes on when the last one has. False if it is not held."""
        waiting = self._pods.get(uid)
        if waiting is None or waiting.deadlines.pop(plugin, None) is None:
            return False
        if not waiting.deadlines:
            del self._pods[uid]
            waiting.released(plugin, None)
        return True

    def reject(self, uid: str, plugin: str, message: str) -> bool:
        """One refusal is enough. False if the pod is not held any more."""
        waiting = self._pods.pop(uid, None)
        if waiting is None:
            return False
        waiting.released(plugin, unschedulable(message))
        return True

    def preempt(self, uid: str, plugin: str) -> bool:
        """Give the pod up for a more important one; it is tried again after a back-off.

        False if the pod is not held any more.
        """
        waiting = self._pods.pop(uid, None)
        if waiting is None:
            return False
        waiting.released(plugin, error("preempted"))
        return True

    def expire(self, now: float) -> None:
        """Refuse the pods whose plugins have run out of patience."""
        for waiting in self:
            for plugin, (deadline, seconds) in list(waiting.deadlines.items()):
                if deadline <= now:
                    message = (
                        f"rejected due to timeout after waiting {go_seconds(seconds)}"
                        f" at plugin {plugin}"
                    )
                    self.reject(waiting.pod.uid, plugin, message)
                    break


def go_seconds(seconds: float) -> str:
    """A duration as Go prints it: 10s, 1m30s, 500ms, 15m0s."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:g}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text
