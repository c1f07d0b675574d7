"""Log lines: their form in text and JSON, what is quiet, and what cannot be forged."""

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from fairlead.observe.logs import Format, configure, get_logger, ref

LINE = re.compile(r"^([IWE])\d{4} \d\d:\d\d:\d\d\.\d{6} {1,7}\d+ (\S+)\] (.*)$")


class Named(NamedTuple):
    namespace: str
    name: str


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("fairlead")
    handlers, level, own_level = root.handlers[:], root.level, own.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    own.setLevel(own_level)


def written(form: Format, verbosity: int = 0) -> io.StringIO:
    stream = io.StringIO()
    configure(form, verbosity, stream)
    return stream


def test_a_text_line_is_klogs() -> None:
    stream = written("text")
    get_logger("fairlead.run").info(
        "Bound the pod", pod=ref(Named("default", "web-1")), tries=2, first=True, rest=["a", 1]
    )
    match = LINE.match(stream.getvalue().rstrip("\n"))
    assert match is not None
    assert match.groups() == (
        "I",
        "fairlead.run",
        '"Bound the pod" pod="default/web-1" tries=2 first=true rest=["a", 1]',
    )


def test_a_json_line_has_the_keys_of_kubernetes() -> None:
    stream = written("json", 4)
    log = get_logger("fairlead.run")
    log.info("Bound the pod", v=4, pod=ref(Named("default", "web-1")), plugins=frozenset("ba"))
    log.error(ValueError("no route"), "Could not bind", pod=ref(Named("", "n1")))
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first.pop("ts") > 1e12
    assert first == {
        "logger": "fairlead.run",
        "msg": "Bound the pod",
        "v": 4,
        "pod": {"namespace": "default", "name": "web-1"},
        "plugins": ["a", "b"],
    }
    assert second["err"] == "no route"
    assert "v" not in second


@pytest.mark.parametrize(("verbosity", "seen"), [(0, [0]), (2, [0, 2]), (5, [0, 2, 4, 5])])
def test_verbosity_decides_what_is_written(verbosity: int, seen: list[int]) -> None:
    stream = written("json", verbosity)
    log = get_logger("fairlead.queue")
    for v in (0, 2, 4, 5, 6):
        assert log.enabled(v) == (v <= verbosity)
        log.info("line", v=v)
    assert [json.loads(line)["v"] for line in stream.getvalue().splitlines()] == seen


def test_errors_and_warnings_are_written_at_any_verbosity() -> None:
    stream = written("text")
    log = get_logger("fairlead.run")
    log.warning("Slow")
    log.error(None, "Failed")
    log.error(TimeoutError(), "Failed again")
    assert [line[0] for line in stream.getvalue().splitlines()] == ["W", "E", "E"]
    assert stream.getvalue().rstrip().endswith('"Failed again" err="TimeoutError"')


def test_bound_values_come_with_each_line_and_stay_with_their_logger() -> None:
    stream = written("text")
    log = get_logger("fairlead.run")
    bound = log.bind(profile="default-scheduler")
    bound.info("one", pod="a/b")
    log.info("two")
    first, second = stream.getvalue().splitlines()
    assert first.endswith('"one" profile="default-scheduler" pod="a/b"')
    assert second.endswith('"two"')


def test_nothing_forges_a_line_or_reaches_the_terminal_as_an_escape() -> None:
    hostile = 'x"\nE0101 00:00:00.000000 1 a] "forged" \x1b[31m\u2028\u202e\r'
    for form in ("text", "json"):
        stream = written(form)
        get_logger("fairlead.run").info(hostile, value=hostile, many=[hostile], inner={hostile: 1})
        assert stream.getvalue().count("\n") == 1
        assert stream.getvalue().rstrip("\n").isprintable()


def test_lines_of_libraries_come_in_the_same_form_from_warnings_on() -> None:
    stream = written("text", 9)
    library = logging.getLogger("aiohttp.client")
    library.info("not this")
    library.warning("this %s", 1)
    try:
        raise OSError("gone")
    except OSError:
        library.exception("and this")
    first, second = stream.getvalue().splitlines()
    assert LINE.match(first).groups() == ("W", "aiohttp.client", '"this 1"')
    assert '"and this" err="gone" stacktrace="Traceback' in second


def test_configuring_again_replaces_the_last_configuration() -> None:
    before = written("text")
    after = written("json")
    get_logger("fairlead.run").info("line")
    assert before.getvalue() == ""
    assert json.loads(after.getvalue())["msg"] == "line"


def test_structlog_is_not_imported_before_the_first_line() -> None:
    program = (
        "import sys; from fairlead.observe.logs import configure, get_logger; configure('text', 2);"
        "get_logger('fairlead.x').info('quiet', v=3); print('structlog' in sys.modules);"
        "get_logger('fairlead.x').info('loud', v=2); print('structlog' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.split() == ["False", "True"]
    assert '"loud"' in result.stderr
