"""Which nodes have an image, for scores that weigh an image by how far it has spread.

Reads: the images in node status. Writes: its index, and the version of each image name.
"""

from collections.abc import Mapping

from fairlead.cluster.changes import Changes


class ImageState:
    """One image name: the rows of its nodes, and the size that the first of them reported."""

    __slots__ = ("rows", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: set[int] = set()


class Images:
    """Image name to its state. The size is that of the first node for as long as any has it."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._by_name: dict[str, ImageState] = {}

    def get(self, name: str) -> ImageState | None:
        return self._by_name.get(name)

    def write(self, row: int, images: Mapping[str, int], old: Mapping[str, int]) -> None:
        for name in old.keys() - images.keys():
            state = self._by_name[name]
            state.rows.discard(row)
            if not state.rows:
                del self._by_name[name]
            self._changes.touch(("image", name))
        for name, size in images.items():
            state = self._by_name.get(name)
            if state is None:
                state = self._by_name[name] = ImageState(size)
            if name not in old:
                state.rows.add(row)
            elif state.size == size or len(state.rows) > 1:
                continue
            else:  # the only node that has it reports another size
                state.size = size
            self._changes.touch(("image", name))
