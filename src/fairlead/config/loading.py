"""Loads a configuration: decoded strictly, then defaulted, then checked, as kube-scheduler does.

The text of an error is kube-scheduler's own. `examine` goes on where kube-scheduler stops, so that
`fairlead config check` can name all faults at once.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

import msgspec

from fairlead.config import field
from fairlead.config.args import ARGS_KINDS
from fairlead.config.decoding import Decoded, decode, spell
from fairlead.config.defaults import set_defaults
from fairlead.config.document import Node, Step, raw_json, split_path
from fairlead.config.errors import ConfigError, Problem
from fairlead.config.golang import quote
from fairlead.config.json_text import JSONError, looks_like_json, read_json
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, PluginConfig
from fairlead.config.validation import validate
from fairlead.config.yaml_scalars import YAMLError

_GROUP: Final = "kubescheduler.config.k8s.io"
_STRICT: Final = "strict decoding error: "
_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)
_KINDS: Final[dict[str, type[msgspec.Struct]]] = {KIND: KubeSchedulerConfiguration, **ARGS_KINDS}


class Examination(msgspec.Struct, frozen=True):
    """What a text holds, and all that is wrong with it."""

    config: KubeSchedulerConfiguration | None
    """With its defaults; None if the text is none at all. Of use only if there is no error."""
    error: str | None
    """What kube-scheduler says."""
    problems: tuple[Problem, ...]
    """All faults, with their lines."""
    document: Node | None

    def line_of(self, path: str) -> int:
        return self.document.line_of(split_path(path)) if self.document is not None else 0


class _Kind(msgspec.Struct, frozen=True):
    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def load(text: str | bytes, release: Release = RELEASE_1_36) -> KubeSchedulerConfiguration:
    """The configuration that the text holds; raises ConfigError in kube-scheduler's words."""
    found = examine(text, release)
    if found.error is not None:
        raise ConfigError(found.error, found.problems)
    assert found.config is not None
    return found.config


def load_file(path: str | Path, release: Release = RELEASE_1_36) -> KubeSchedulerConfiguration:
    """As `load`, of a file; one that cannot be read is a ConfigError in Go's words."""
    return load(read_file(path), release)


def read_file(path: str | Path) -> bytes:
    """The content of the file; raises ConfigError, as `open X: no such file or directory`."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        verb = "read" if error.errno == errno.EISDIR else "open"
        words = os.strerror(error.errno or 0)
        raise ConfigError(f"{verb} {path}: {words[:1].lower()}{words[1:]}") from None


def examine(text: str | bytes, release: Release = RELEASE_1_36) -> Examination:
    """The configuration of the text and everything that is wrong with it."""
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    try:
        root, doubled = _read(data)
        kind = _kind_of(root, None, data.decode("utf-8", "replace"), release)
    except ConfigError as error:
        return Examination(None, str(error), error.problems, None)
    decoded = decode(root, _KINDS[kind.kind])
    problems = [*doubled, *decoded.problems]
    strict = [*_doubled_text(doubled), *(problem.message for problem in decoded.strict)]
    if kind.kind != KIND:
        return _other_kind(kind, root, decoded, strict, problems)
    config, nested = _decode_args(decoded.value, root, release)
    problems += nested.problems
    error = decoded.error.message if decoded.error else nested.error
    if error is None and (strict or nested.strict):
        error = _STRICT + ", ".join((*strict, *nested.strict))
    named = root.find(("profiles", 0, "schedulerName"))
    config = set_defaults(
        config, release, first_profile_named=named is not None and named.kind != "null"
    )
    faults = [_located(problem, root) for problem in validate(config, release)]
    if error is None and faults:
        error = field.aggregate(faults)
    return Examination(config, error, (*problems, *_of_their_own(faults, problems)), root)


def _read(data: bytes) -> tuple[Node, list[Problem]]:
    """The text as a value, and the keys that its YAML sets twice."""
    if looks_like_json(data):
        try:
            return read_json(data), []
        except JSONError as error:
            text = f"couldn't get version/kind; json parse error: {error}"
            raise ConfigError(text, [Problem(text, line=error.line)]) from None
    # Imported here: JSON needs no YAML parser, and a command's help needs neither.
    from fairlead.config.yaml_text import read_yaml

    try:
        document = read_yaml(data)
    except YAMLError as error:
        raise ConfigError(str(error), [Problem(str(error), line=error.line)]) from None
    return document.root, [Problem(text, line=line) for line, text in document.doubled]


def _doubled_text(doubled: list[Problem]) -> list[str]:
    lines = "".join(f"\n  line {problem.line}: {problem.message}" for problem in doubled)
    return [f"yaml: unmarshal errors:{lines}"] if doubled else []


def _kind_of(root: Node, wanted: _Kind | None, text: str, release: Release) -> _Kind:
    """The registered kind of the value; `wanted` stands in for what it does not say."""
    found = _interpret(root)
    if wanted is not None:
        found = _with_wanted(found, wanted)
    if not found.kind:
        raise _missing("Kind", text)
    if not found.version:
        raise _missing("apiVersion", text)
    if found.kind not in _KINDS or found.api_version != API_VERSION:
        message = (
            f"no kind {quote(found.kind)} is registered for version {quote(found.api_version)}"
            f" in scheme {quote(release.scheme)}"
        )
        wrong_kind = found.api_version == API_VERSION
        given, known = (found.kind, (KIND,)) if wrong_kind else (found.api_version, (API_VERSION,))
        path = "kind" if wrong_kind else "apiVersion"
        line = root.line_of((path,))
        raise ConfigError(message, [Problem(message, path, line, given, known)])
    return found


def _missing(what: str, text: str) -> ConfigError:
    path = "kind" if what == "Kind" else what
    message = f"Object '{what}' is missing in '{text}'"
    return ConfigError(message, [Problem(f"Object '{what}' is missing", path, 1)])


def _interpret(root: Node) -> _Kind:
    """What the value says of its kind. The case of the keys does not count here, only later."""
    if root.kind not in ("object", "null"):
        raise _no_meta(f"cannot unmarshal {root.kind} into Go value of type {_META}", root.line)
    said = {"apiversion": "", "kind": ""}
    for member in root.members:
        key = member.key.lower()
        if key not in said or member.value.kind == "null":
            continue
        if member.value.kind != "string":
            name = "apiVersion" if key == "apiversion" else "kind"
            words = f"cannot unmarshal {member.value.kind} into Go struct field .{name}"
            raise _no_meta(f"{words} of type string", member.line)
        said[key] = member.value.text
    version = said["apiversion"]
    if version in ("", "/"):
        return _Kind("", "", said["kind"])
    if version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
        raise ConfigError(text, [Problem(text, "apiVersion", root.line_of(("apiVersion",)))])
    group, _, name = version.rpartition("/")
    return _Kind(group, name, said["kind"])


def _no_meta(words: str, line: int) -> ConfigError:
    text = f"couldn't get version/kind; json parse error: json: {words}"
    return ConfigError(text, [Problem(text, line=line)])


def _with_wanted(found: _Kind, wanted: _Kind) -> _Kind:
    group, version = found.group, found.version
    if not group and not version:
        group, version = wanted.group, wanted.version
    elif not version and group == wanted.group:
        version = wanted.version
    return _Kind(group, version, found.kind or wanted.kind)


def _other_kind(
    kind: _Kind, root: Node, decoded: Decoded, strict: list[str], problems: list[Problem]
) -> Examination:
    """A text that is fine, but is the arguments of a plugin."""
    text = f"couldn't decode as {KIND}, got {kind.api_version}, Kind={kind.kind}: "
    if decoded.error is not None:
        text = decoded.error.message
    elif strict:
        text = _STRICT + ", ".join(strict)
    else:
        problems = [Problem(text, "kind", root.line_of(("kind",)), kind.kind, (KIND,))]
    return Examination(None, text, tuple(problems), root)


class _Nested(msgspec.Struct):
    """What is wrong with the arguments of plugins."""

    error: str | None = None
    strict: list[str] = msgspec.field(default_factory=list)
    problems: list[Problem] = msgspec.field(default_factory=list)


def _decode_args(
    config: KubeSchedulerConfiguration, root: Node, release: Release
) -> tuple[KubeSchedulerConfiguration, _Nested]:
    """Gives the arguments of the built-in plugins their types."""
    nested = _Nested()
    profiles = list(config.profiles)
    for i, profile in enumerate(profiles):
        entries = [
            _decode_entry(entry, root, (i, j), nested, release)
            for j, entry in enumerate(profile.plugin_config)
        ]
        profiles[i] = msgspec.structs.replace(profile, plugin_config=tuple(entries))
    return msgspec.structs.replace(config, profiles=tuple(profiles)), nested


def _decode_entry(
    entry: PluginConfig, root: Node, place: tuple[int, int], nested: _Nested, release: Release
) -> PluginConfig:
    kind = f"{entry.name}Args"
    if kind not in ARGS_KINDS:
        return entry
    path: tuple[Step, ...] = ("profiles", place[0], "pluginConfig", place[1], "args")
    node = root.find(path) or Node("null", root.line_of(path))
    where = f"decoding .profiles[{place[0]}].pluginConfig[{place[1]}]"
    what = f"{where}: decoding args for plugin {entry.name}"
    default = ARGS_KINDS[kind](kind=kind, api_version=API_VERSION)
    raw = "" if node.kind == "null" else raw_json(node).decode("utf-8", "replace")
    try:
        found = _kind_of(node, _Kind(_GROUP, "v1", kind), raw, release)
    except ConfigError as error:
        problem = error.problems[0]
        shown = spell((*path, problem.path)) if problem.path else spell(path)
        nested.problems.append(msgspec.structs.replace(problem, path=shown, line=node.line))
        nested.error = nested.error or f"{what}: {error}"
        return PluginConfig(name=entry.name, args=default)
    decoded = decode(node, _KINDS[found.kind], path)
    nested.problems += decoded.problems
    if decoded.error is not None:
        nested.error = nested.error or f"{what}: {decoded.error.message}"
    elif found.kind != kind:
        message = (
            f"{where}: args for plugin {entry.name} were not of type {kind}.{_GROUP},"
            f" got {found.kind}.{_GROUP}"
        )
        line = node.line_of(("kind",))
        nested.problems.append(Problem(message, spell((*path, "kind")), line, found.kind, (kind,)))
        nested.error = nested.error or message
        return PluginConfig(name=entry.name, args=default)
    if decoded.strict:
        listed = ", ".join(problem.message for problem in decoded.strict)
        inner = f"{_STRICT}decoding args for plugin {entry.name}: {_STRICT}{listed}"
        nested.strict.append(f"{where}: {inner}")
    args = msgspec.structs.replace(decoded.value, kind=kind, api_version=API_VERSION)
    return PluginConfig(name=entry.name, args=args if found.kind == kind else default)


def _of_their_own(faults: list[Problem], decoding: list[Problem]) -> list[Problem]:
    """The faults that do not merely come of a field whose value was not understood."""
    bad = {problem.path for problem in decoding if problem.path and not problem.known}
    return [problem for problem in faults if problem.path not in bad]


def _located(problem: Problem, root: Node) -> Problem:
    return msgspec.structs.replace(problem, line=root.line_of(split_path(problem.path)))


def kubeconfig_fault(config: KubeSchedulerConfiguration) -> Problem | None:
    """What is wrong with the kubeconfig that the configuration names, in Go's words.

    The configuration is right all the same: kube-scheduler ends with this when it goes on to
    connect, before it looks at its profiles.
    """
    path = config.client_connection.kubeconfig
    if not path:
        return None
    try:
        Path(path).stat()
    except OSError as error:
        words = os.strerror(error.errno or 0)
        text = f"stat {path}: {words[:1].lower()}{words[1:]}"
        return Problem(text, "clientConnection.kubeconfig")
    return None
