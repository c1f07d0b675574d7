"""Where the real programs lie: one file each in the cache, named by program and version.

The cache is outside of the repository, so that a clean clone finds what an earlier one built.
Only `building` writes there.
"""

from __future__ import annotations

import os
from pathlib import Path

KUBERNETES = "v1.36.3"
VERSIONS = {
    "etcd": "v3.6.8",
    "kube-apiserver": KUBERNETES,
    "kube-controller-manager": KUBERNETES,
    "kube-scheduler": KUBERNETES,
    "kubectl": KUBERNETES,
    "kwok": "v0.8.0",
}


class MissingProgramError(Exception):
    """A real program was asked for that nobody has built on this machine."""


def cache() -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/fairlead`, made if it is not there."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "fairlead"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def place(name: str) -> Path:
    """Where this program lies once it is built."""
    return cache() / "bin" / f"{name}-{VERSIONS[name]}"


def stages() -> Path:
    """The stages that make kwok play a kubelet: written when kwok is built."""
    return cache() / "bin" / f"kwok-stages-{VERSIONS['kwok']}.yaml"


def program(name: str) -> Path:
    """The built program; MissingProgramError, with what to do, if it is not there."""
    path = place(name)
    if not path.exists():
        raise MissingProgramError(f"{path} is not there: `make control-plane` builds it")
    return path
