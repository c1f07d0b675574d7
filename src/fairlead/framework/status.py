"""The outcome of asking a plugin: a value, never an exception.

An exception that leaves a plugin is that plugin's bug; "this pod does not fit here" is a Status.
The name of the plugin is not in it: the framework knows whom it asked.
"""

from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """kube-scheduler's status codes, in its numbering."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def rejected(self) -> bool:
        """The plugin has looked and said no; anything else but success is trouble."""
        return self in (
            Code.UNSCHEDULABLE,
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            Code.PENDING,
        )

    @property
    def title(self) -> str:
        """The name as kube-scheduler writes it: UnschedulableAndUnresolvable."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class Status:
    """A code with the reasons that an operator will read. Immutable."""

    __slots__ = ("code", "reasons", "timeout")

    def __init__(self, code: Code, *reasons: str, timeout: float = 0.0) -> None:
        self.code = code
        self.reasons = reasons
        self.timeout = timeout

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def __repr__(self) -> str:
        return f"Status({self.code.title}, {self.message!r})"


@dataclass(slots=True)
class Refusal:
    """Why a node was left out: the plugin that refused first, and its status."""

    plugin: str
    status: Status


def unschedulable(*reasons: str) -> Status:
    """No, but it may become yes when other pods leave: preemption may help."""
    return Status(Code.UNSCHEDULABLE, *reasons)


def unresolvable(*reasons: str) -> Status:
    """No, and evicting pods would not change that."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, *reasons)


def error(*reasons: str) -> Status:
    """The question could not be answered; the pod is tried again after a back-off."""
    return Status(Code.ERROR, *reasons)


def wait(timeout: float) -> Status:
    """Permit: hold the pod until the handle allows or rejects it, at most this many seconds."""
    return Status(Code.WAIT, timeout=timeout)


UNASKED = unresolvable()
"""The status of a node that no filter was asked about."""

SKIP = Status(Code.SKIP)
"""PreFilter or PreScore: nothing to do for this pod, leave my Filter or Score out."""


class PluginError(Exception):
    """A plugin crashed or broke its contract: fails the pod at hand, and nothing else.

    `where` is the file and line, in the plugin's own code if the traceback has any of it.
    """

    def __init__(self, plugin: str, point: str, what: str, where: str = "") -> None:
        self.plugin = plugin
        self.point = point
        self.where = where
        at = f" ({where})" if where else ""
        super().__init__(f"plugin {plugin!r} failed in {point}: {what}{at}")


def crash(plugin: str, point: str, problem: Exception) -> PluginError:
    """The PluginError for an exception that left a plugin."""
    if isinstance(problem, PluginError):
        return problem
    if isinstance(problem, StageFailed):
        return failed(plugin, point, str(problem))
    failure = PluginError(plugin, point, f"{type(problem).__name__}: {problem}", place_of(problem))
    failure.__cause__ = problem
    return failure


def place_of(problem: Exception) -> str:
    """File and line of a crash: the innermost line of the file that the framework called into.

    What a plugin calls may crash deep in a library, and it is the plugin's line that helps.
    """
    trace = problem.__traceback__
    entered = place = ""
    while trace is not None:
        frame = trace.tb_frame
        file = frame.f_code.co_filename
        if not entered and not str(frame.f_globals.get("__name__")).startswith(CALLERS):
            entered = file
        if not entered or file == entered:
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


CALLERS = ("fairlead.framework.", "fairlead.cycle.", "fairlead.binding.", "fairlead.scheduler")
"""The modules that call plugins."""


def said(plugin: str, point: str, status: object) -> Status:
    """What a stage returned that is not None: a Status, anything else is a bug."""
    if isinstance(status, Status):
        return status
    raise PluginError(plugin, point, f"a Status or None is wanted, got {status!r:.60}")


class StageFailed(Exception):  # noqa: N818 - a plugin says it, nothing crashed
    """Raised by a plugin in a stage that has no Status to return, such as Score: an error in its
    own words, which kube-scheduler's message quotes."""


class RequestFailed(StageFailed):
    """Raised to a plugin by its `Io`: the API server has refused, or has not answered."""


WRAPPED = {
    "PreFilter": 'running PreFilter plugin "{}": {}',
    "AddPod": 'running AddPod on PreFilter plugin "{}": {}',
    "RemovePod": 'running RemovePod on PreFilter plugin "{}": {}',
    "Filter": 'running "{}" filter plugin: {}',
    "PreScore": 'running PreScore plugin "{}": {}',
    "Score": 'running Score plugins: plugin "{}" failed with: {}',
    "NormalizeScore": 'running Normalize on Score plugins: plugin "{}" failed with: {}',
    "PostFilter": 'running PostFilter plugin "{}": {}',
    "Reserve": 'running Reserve plugin "{}": {}',
    "Permit": 'running Permit plugin "{}": {}',
    "PreBindPreFlight": 'running PreBindPreFlight "{}": {}',
    "PreBind": 'running PreBind plugin "{}": {}',
    "Bind": 'running Bind plugin "{}": {}',
}
"""How kube-scheduler quotes the error of a plugin, by extension point."""

PLAIN = "plugin {!r} failed: {}"
"""How we quote it at all other points."""


def failed(plugin: str, point: str, what: str) -> PluginError:
    """The PluginError for an error that a plugin reported: nothing crashed."""
    problem = PluginError(plugin, point, what)
    problem.args = (WRAPPED.get(point, PLAIN).format(plugin, what),)
    return problem
