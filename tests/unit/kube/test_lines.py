"""Chunks become lines, wherever they are cut."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.lines import Lines


def test_lines_come_whole_and_the_rest_waits() -> None:
    lines = Lines()
    assert lines.feed(b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert lines.pending == 4
    assert lines.feed(b":2") == []
    assert lines.feed(b"}\n") == [b'{"b":2}']
    assert lines.pending == 0


def test_empty_lines_are_no_lines() -> None:
    assert Lines().feed(b"\n\r\na\n\n") == [b"a"]


def test_a_line_of_megabytes_is_one_line() -> None:
    lines = Lines()
    for _ in range(4096):
        assert lines.feed(b"x" * 1024) == []
    assert lines.feed(b"\n") == [b"x" * (4 << 20)]


@given(st.lists(st.binary(min_size=1).filter(lambda b: b"\n" not in b and b != b"\r")), st.data())
def test_where_the_cuts_are_does_not_matter(wanted: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in wanted)
    lines, got = Lines(), list[bytes]()
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        got += lines.feed(stream[:size])
        stream = stream[size:]
    assert got == wanted
    assert lines.pending == 0
