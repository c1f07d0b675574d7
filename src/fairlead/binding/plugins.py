"""⑫ ⑬ The stages that may await: PreBind, Bind, PostBind, in the configured order."""

from collections.abc import Sequence
from typing import Any

from fairlead.framework.instance import PluginInstance
from fairlead.framework.profile import Profile
from fairlead.framework.stages import Io
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Code, Status, crash, failed, said
from fairlead.model.podinfo import PodInfo
from fairlead.observe.logs import get_logger, ref

log = get_logger(__name__)

SUCCESS = Status(Code.SUCCESS)


def pre_flight(
    profile: Profile, pod: PodInfo, node_name: str, state: CycleState
) -> list[PluginInstance]:
    """The PreBind plugins that have something to do for the pod. Raises PluginError."""
    busy: list[PluginInstance] = []
    for instance in profile.pre_bind:
        ask = getattr(instance.plugin, "pre_bind_pre_flight", None)
        if ask is not None:
            try:
                outcome: Any = ask(pod, node_name, state)
                status = (
                    None if outcome is None else said(instance.name, "PreBindPreFlight", outcome)
                )
            except Exception as problem:
                raise crash(instance.name, "PreBindPreFlight", problem) from problem
            if status is not None and status.code == Code.SKIP:
                continue
            if status is not None and status.code != Code.SUCCESS:
                raise failed(instance.name, "PreBindPreFlight", trouble(instance.name, status))
        busy.append(instance)
    return busy


def trouble(plugin: str, status: Status) -> str:
    """What a flight check says that is neither yes nor no."""
    if status.code == Code.ERROR:
        return status.message
    return (
        f'PreBindPreFlight {plugin} returned "{status.code.title}", which is unsupported. It is'
        " supposed to return Success, Skip, or Error status"
    )


async def pre_bind(
    plugins: Sequence[PluginInstance], pod: PodInfo, node_name: str, state: CycleState, io: Io
) -> Status | None:
    """These PreBind plugins in turn; the first refusal or PluginError ends it."""
    for instance in plugins:
        try:
            outcome: Any = await instance.plugin.pre_bind(pod, node_name, state, io)
            status = None if outcome is None else said(instance.name, "PreBind", outcome)
        except Exception as problem:
            raise crash(instance.name, "PreBind", problem) from problem
        if status is not None and status.code != Code.SUCCESS:
            return refusal(instance.name, "PreBind", status)
    return None


async def bind(profile: Profile, pod: PodInfo, node_name: str, state: CycleState, io: Io) -> Status:
    """The word of the first binder that does not skip the pod; SKIP if the writing is ours."""
    for instance in profile.bind:
        if getattr(instance.plugin, "posts_binding", False):
            return SKIP
        try:
            outcome: Any = await instance.plugin.bind(pod, node_name, state, io)
            status = None if outcome is None else said(instance.name, "Bind", outcome)
        except Exception as problem:
            raise crash(instance.name, "Bind", problem) from problem
        if status is None or status.code == Code.SUCCESS:
            return SUCCESS
        if status.code != Code.SKIP:
            return refusal(instance.name, "Bind", status)
    raise failed(profile.bind[-1].name, "Bind", "all binders skipped the pod")


def refusal(plugin: str, point: str, status: Status) -> Status:
    """A "no" is the plugin's to say; anything else that is no success is trouble."""
    if status.code.rejected:
        return status
    raise failed(plugin, point, status.message)


async def post_bind(
    profile: Profile, pod: PodInfo, node_name: str, state: CycleState, io: Io
) -> None:
    """Every PostBind plugin; the pod is bound whatever they do."""
    for instance in profile.post_bind:
        try:
            await instance.plugin.post_bind(pod, node_name, state, io)
        except Exception as problem:  # noqa: BLE001 - any crash of a plugin is its own
            log.error(crash(instance.name, "PostBind", problem), "PostBind failed", pod=ref(pod))
