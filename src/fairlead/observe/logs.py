"""Structured log lines as kube-scheduler writes them: klog text or JSON, on stderr, `-v` levels.

    I1118 19:15:22.712345       1 fairlead.run] "Bound the pod" pod="default/web-1" node="n1"

A logger says how loud a line is with `v`: 0 is for what an operator must see, 2 for the steady
state, 4 for debugging, 5 and above for traces. Below the configured verbosity a line costs one
check and formats nothing. The process-wide state is the standard library's `logging`, as in any
Python program, so lines of libraries come out in the same form; structlog renders, and is imported
when the first line is written.

Values are quoted, so that nothing that came from the API can forge a line or reach a terminal as
an escape sequence. Whole objects are never logged: `ref` gives their name.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from datetime import datetime
from traceback import format_exception
from typing import Any, Literal, NamedTuple, Protocol, TextIO, cast

Format = Literal["text", "json"]

_ROOT = "fairlead"
_QUIET = logging.WARNING
_OWN_KEYS = frozenset({"event", "v", "err", "exc_info", "_record", "_from_structlog"})


class _Named(Protocol):
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...


class ObjectRef(NamedTuple):
    """The name of an object: `ns/name` in text, an object with both in JSON."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def ref(pod: _Named) -> ObjectRef:
    """How a pod, or anything else with a namespace and a name, is named in logs."""
    return ObjectRef(pod.namespace, pod.name)


def _level(v: int) -> int:
    """The level of the standard library for a verbosity; 0 is INFO, each step is one below."""
    return max(logging.INFO - v, 1)


class Logger:
    """Writes lines with a name and bound values; get one from `get_logger`."""

    __slots__ = ("_bound", "_switch", "_values")

    def __init__(self, switch: logging.Logger, values: Mapping[str, object]) -> None:
        self._switch = switch
        self._values = values
        self._bound: Any = None

    def enabled(self, v: int = 0) -> bool:
        """Whether lines of this verbosity are written: ask before values that cost to make."""
        return self._switch.isEnabledFor(_level(v))

    def bind(self, **values: object) -> "Logger":
        """The same logger with values that each of its lines carries."""
        return Logger(self._switch, {**self._values, **values})

    def info(self, message: str, *, v: int = 0, **values: object) -> None:
        """Write a line unless it is more verbose than configured."""
        if self._switch.isEnabledFor(_level(v)):
            self._write().info(message, v=v, **values)

    def warning(self, message: str, **values: object) -> None:
        """Write a line about something that works but should not be so."""
        if self._switch.isEnabledFor(logging.WARNING):
            self._write().warning(message, v=0, **values)

    def error(self, err: BaseException | str | None, message: str, **values: object) -> None:
        """Write a line about a failure, with the error in `err`."""
        if self._switch.isEnabledFor(logging.ERROR):
            self._write().error(message, err=err, **values)

    def _write(self) -> Any:
        if self._bound is None:
            import structlog

            self._bound = structlog.wrap_logger(
                self._switch,
                processors=[structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
                wrapper_class=structlog.stdlib.BoundLogger,
            ).bind(**self._values)
        return self._bound


def get_logger(name: str) -> Logger:
    """The logger of a module; give it `__name__`."""
    return Logger(logging.getLogger(name), {})


def configure(format: Format = "text", verbosity: int = 0, stream: TextIO | None = None) -> None:  # noqa: A002  the flag is --logging-format
    """Send all lines of the process to stderr in this form; calling it again replaces the last.

    Libraries are heard from warnings on, whatever the verbosity.
    """
    formatter = _Formatter(_render_json if format == "json" else _render_text)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(cast("logging.Formatter", formatter))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(_QUIET)
    logging.getLogger(_ROOT).setLevel(_level(verbosity))


Event = MutableMapping[str, Any]
Render = Callable[[object, str, Event], str]


class _Formatter:
    """structlog's formatter, made with the first line: its import takes 70 ms."""

    __slots__ = ("_formatter", "_render")

    def __init__(self, render: Render) -> None:
        self._render = render
        self._formatter: logging.Formatter | None = None

    def format(self, record: logging.LogRecord) -> str:
        if self._formatter is None:
            from structlog.stdlib import ProcessorFormatter

            self._formatter = ProcessorFormatter(processors=[self._render])
        return self._formatter.format(record)


def _render_text(_logger: object, _method: str, event: Event) -> str:
    record: logging.LogRecord = event["_record"]
    severity = "I" if record.levelno < logging.WARNING else record.levelname[0]
    at = datetime.fromtimestamp(record.created).astimezone()
    line = [
        f"{severity}{at:%m%d %H:%M:%S.%f} {os.getpid():7} {record.name}] {_quote(event['event'])}"
    ]
    line.extend(_text_value(key, value) for key, value in _values(event))
    return " ".join(line)


def _render_json(_logger: object, _method: str, event: Event) -> str:
    record: logging.LogRecord = event["_record"]
    line: dict[str, object] = {
        "ts": round(record.created * 1000, 3),
        "logger": record.name,
        "msg": str(event["event"]),
    }
    if record.levelno < logging.ERROR:
        line["v"] = event.get("v", 0)
    line.update(_values(event))
    return json.dumps({key: _json_value(value) for key, value in line.items()})


def _values(event: Event) -> Iterator[tuple[str, object]]:
    """The values of a line: the error first, and its traceback if a library attached one."""
    attached = event.get("exc_info")
    raised = attached[1] if attached else None
    error = event.get("err") or raised
    if error is not None:
        yield "err", str(error) or type(error).__name__
    for key, value in event.items():
        if key not in _OWN_KEYS:
            yield key, value
    if raised is not None:
        yield "stacktrace", "".join(format_exception(raised))


def _text_value(key: str, value: object) -> str:
    match value:
        case bool():
            return f"{key}={'true' if value else 'false'}"
        case None:
            return f'{key}="<nil>"'
        case int() | float():
            return f"{key}={value}"
        case ObjectRef():
            return f"{key}={_quote(str(value))}"
        case list() | tuple() | dict() | set() | frozenset():
            return f"{key}={json.dumps(_json_value(value))}"
        case _:
            return f"{key}={_quote(str(value))}"


def _quote(text: object) -> str:
    """A string in quotes; whatever is not printable, and every line break, is escaped."""
    escaped = json.dumps(str(text), ensure_ascii=False)
    if escaped.isprintable():
        return escaped
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in escaped
    )


def _json_value(value: object) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case ObjectRef():
            return value._asdict()
        case dict():
            return {str(key): _json_value(each) for key, each in value.items()}
        case list() | tuple():
            return [_json_value(each) for each in value]
        case set() | frozenset():
            return sorted(map(str, value))
        case _:
            return str(value)
