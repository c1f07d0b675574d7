"""What a PostFilter plugin is told: each node's last word, and how to ask again what would be."""

from collections.abc import Iterator

import numpy as np

from fairlead.cluster.columns import Mask
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import Rows, Verdicts
from fairlead.framework.status import Code, Status
from fairlead.framework.trial import Trials


class NodeStatuses:
    """The statuses by node name, as a mapping reads; nodes that were not asked have `absent`.

    `trials` asks the filters about nodes as they would be. `explaining` is set where somebody wants
    to know what was found on each node.
    """

    __slots__ = ("_handle", "_names", "_verdicts", "absent", "explaining", "rows", "trials")

    def __init__(
        self,
        handle: Handle,
        trials: Trials,
        rows: Rows,
        verdicts: Verdicts,
        absent: Status,
        *,
        explaining: bool = False,
    ) -> None:
        self._handle = handle
        self._verdicts = verdicts
        self._names: dict[str, int] | None = None
        self.trials = trials
        self.rows = rows
        self.absent = absent
        self.explaining = explaining

    def rows_with(self, code: Code) -> Rows:
        """The rows of all nodes whose status has this code."""
        mine = self.rows[self._verdicts.codes == code]
        if self.absent.code != code:
            return mine
        mask: Mask = self._handle.nodes().exists().copy()
        mask[self.rows] = False
        mask[mine] = True
        return np.flatnonzero(mask)

    def get(self, name: str) -> Status:
        """The status of a node; `absent` for one that was not asked, or that there is not."""
        at = self._by_name().get(name)
        return self.absent if at is None else self._status(at)

    def __getitem__(self, name: str) -> Status:
        return self._status(self._by_name()[name])

    def __contains__(self, name: object) -> bool:
        return name in self._by_name()

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self.rows)

    def items(self) -> Iterator[tuple[str, Status]]:
        """The nodes that were asked, with their statuses."""
        return ((name, self._status(at)) for name, at in self._by_name().items())

    def _by_name(self) -> dict[str, int]:
        if self._names is None:
            infos = self._handle.nodes(self.rows).infos()
            self._names = {info.name: at for at, info in enumerate(infos) if info is not None}
        return self._names

    def _status(self, at: int) -> Status:
        reasons = self._handle.reasons_of(int(self._verdicts.reasons[at]))
        return Status(Code(int(self._verdicts.codes[at])), *reasons)
