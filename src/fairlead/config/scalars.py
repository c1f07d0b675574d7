"""The scalar types of the configuration, each with the name that Go's errors give it."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from fairlead.config.golang import Duration

GO: Final = "go"
"""The key of the annotation that names the Go type."""
POINTER: Final = "pointer"
"""Marks a duration that may be null; null is an error for the others."""
EMBEDDED: Final = "embedded"
"""Names the struct that a field comes from, where Go embeds it."""


def _go(name: str, **more: object) -> msgspec.Meta:
    return msgspec.Meta(extra={GO: name, **more})


Int32 = Annotated[int, _go("int32")]
Int64 = Annotated[int, _go("int64")]
Float32 = Annotated[float, _go("float32")]
NodeSelectorOperator = Annotated[str, _go("v1.NodeSelectorOperator")]
LabelSelectorOperator = Annotated[str, _go("v1.LabelSelectorOperator")]
NodeInclusionPolicy = Annotated[str, _go("v1.NodeInclusionPolicy")]
UnsatisfiableConstraintAction = Annotated[str, _go("v1.UnsatisfiableConstraintAction")]
ScoringStrategyType = Annotated[str, _go("v1.ScoringStrategyType")]
PodTopologySpreadConstraintsDefaulting = Annotated[
    str, _go("v1.PodTopologySpreadConstraintsDefaulting")
]
DurationPointer = Annotated[Duration, _go("v1.Duration", **{POINTER: True})]
TypeMetaText = Annotated[str, _go("string", **{EMBEDDED: "TypeMeta"})]
DebuggingBool = Annotated[bool, _go("bool", **{EMBEDDED: "DebuggingConfiguration"})]
