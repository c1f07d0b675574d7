"""PrioritySort: higher priority first, then whoever has waited longer in the queue."""

from fairlead.queue.entry import QueuedPodInfo


class PrioritySort:
    name = "PrioritySort"

    def less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        return self.sort_key(first) < self.sort_key(second)

    def sort_key(self, entry: QueuedPodInfo) -> tuple[float, ...]:
        return -entry.pod.priority, entry.timestamp
