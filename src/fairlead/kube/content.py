"""What requests of both HTTP stacks say of themselves: content types, and who is asking."""

import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Literal

JSON = "application/json"
PatchKind = Literal["json", "merge", "strategic", "apply"]
PATCH_TYPES: Mapping[PatchKind, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",  # JSON is YAML, and the server reads it as such
}


def default_user_agent() -> str:
    """What the API server's audit log calls us, in the form that Kubernetes' own programs use."""
    return f"fairlead/{version('fairlead')} ({sys.platform})"
