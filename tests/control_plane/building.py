"""Build the real programs from their Go modules, each once.

Every program is built aside and then renamed, under one lock: a build that is interrupted leaves
nothing that looks whole, and two that run at once do the work once. About eight minutes on two
cores the first time; nothing after that.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.control_plane.programs import KUBERNETES, VERSIONS, cache, place, stages

STAGES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
)
# kwok's own pod-delete clears finalizers and does not wait; a kubelet lets the grace period pass
# and leaves finalizers alone.
POD_DELETE = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-delete
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  delay:
    durationMilliseconds: 0
    durationFrom: {expressionFrom: .metadata.deletionTimestamp}
  next:
    delete: true
"""


class BuildError(Exception):
    """Go is missing, or refused: the message is what a person should read."""


def build(names: list[str], say: Callable[[str], None]) -> None:
    """Make every named program be there."""
    for name in names:
        if place(name).exists() and (name != "kwok" or stages().exists()):
            say(f"{name} {VERSIONS[name]}: there")
            continue
        with alone(say):
            if place(name).exists() and (name != "kwok" or stages().exists()):
                continue
            need_go(name, "make control-plane")
            say(f"{name} {VERSIONS[name]}: building")
            began = time.monotonic()
            RECIPES[name](name)
            say(f"{name} {VERSIONS[name]}: built in {time.monotonic() - began:.0f} s")


@contextmanager
def alone(say: Callable[[str], None]) -> Iterator[None]:
    """One build at a time on this machine."""
    (cache() / "bin").mkdir(exist_ok=True)
    with (cache() / "bin" / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is running: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def need_go(name: str, again: str) -> None:
    """Go, or a BuildError that says what to do before `again` is run once more."""
    if shutil.which("go") is None:
        raise BuildError(
            f"{name} is built from its Go module, and there is no `go` on PATH: "
            f"install Go 1.26 or later, then run `{again}` again"
        )


def go(folder: Path, *arguments: str, mod: str = "mod") -> str:
    """What `go` prints; BuildError with the end of what it complained about.

    `mod` is whether it may write `go.mod` and `go.sum`: `readonly` where these are ours.
    """
    environment = os.environ | {"GOFLAGS": f"-mod={mod}", "GOWORK": "off", "CGO_ENABLED": "0"}
    done = subprocess.run(
        ["go", *arguments], cwd=folder, env=environment, text=True, capture_output=True
    )
    if done.returncode:
        raise BuildError(f"go {' '.join(arguments)} (in {folder}):\n{done.stderr[-4000:]}")
    return done.stdout


def compile_to(target: Path, module: Path, package: str, *flags: str, mod: str = "mod") -> None:
    """Build aside, then rename: whatever happens, `target` is whole or not there."""
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        go(module, "build", *flags, "-o", str(aside), package, mod=mod)
        aside.rename(target)
    finally:
        aside.unlink(missing_ok=True)


def _module(name: str, write: Callable[[Path], None]) -> Path:
    """The folder of a module that exists only to require the program's."""
    folder = cache() / "go" / f"{name}-{VERSIONS.get(name, KUBERNETES)}"
    if not (folder / "go.sum").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write(folder)
    return folder


def _kubernetes(name: str) -> None:
    module = _module("kubernetes", _write_kubernetes)
    version = "k8s.io/component-base/version.git"
    minor = KUBERNETES.split(".")[1]
    stamp = f"-X {version}Version={KUBERNETES} -X {version}Major=1 -X {version}Minor={minor}"
    compile_to(place(name), module, f"k8s.io/kubernetes/cmd/{name}", "-ldflags", stamp)


def _write_kubernetes(folder: Path) -> None:
    """k8s.io/kubernetes names its staging modules v0.0.0: they must be given their releases."""
    staging = "v0" + KUBERNETES.removeprefix("v1")
    answer = go(folder, "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}")
    found = re.search(r'"Dir": "(.+?)"', answer)
    if found is None:
        raise BuildError(f"go mod download did not say where k8s.io/kubernetes is:\n{answer}")
    theirs = Path(found[1])
    text = (theirs / "go.mod").read_text()
    staged = re.findall(r"^\s+(k8s\.io/[\w-]+) v0\.0\.0$", text, re.MULTILINE)
    requires = text[text.index("require (") :].split("replace (")[0]
    lines = [
        "module fairlead.invalid/control-plane",
        next(line for line in text.splitlines() if line.startswith("go ")),
        f"require k8s.io/kubernetes {KUBERNETES}",
        requires.replace(" v0.0.0\n", f" {staging}\n"),
        *(f"replace {name} => {name} {staging}" for name in staged),
    ]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    (folder / "go.sum").write_bytes((theirs / "go.sum").read_bytes())


def _require(requirement: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        go(folder, "mod", "init", "fairlead.invalid/control-plane")
        go(folder, "get", requirement)

    return write


def _etcd(name: str) -> None:
    package = "go.etcd.io/etcd/server/v3"
    module = _module(name, _require(f"{package}@{VERSIONS[name]}"))
    compile_to(place(name), module, package)


def _kwok(name: str) -> None:
    package = "sigs.k8s.io/kwok/cmd/kwok"
    module = _module(name, _require(f"{package}@{VERSIONS[name]}"))
    folder = Path(go(module, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").strip())
    texts = [(folder / "kustomize/stage" / f"{stage}.yaml").read_text() for stage in STAGES]
    aside = stages().with_name(f".{stages().name}.{os.getpid()}")
    aside.write_text("\n---\n".join([*texts, POD_DELETE]))
    aside.rename(stages())
    compile_to(place(name), module, package)


RECIPES: dict[str, Callable[[str], None]] = {
    "etcd": _etcd,
    "kwok": _kwok,
    **{name: _kubernetes for name in VERSIONS if name.startswith("kube")},
}


def say_on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
