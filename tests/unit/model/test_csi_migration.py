"""What becomes of volumes of kinds that were once built in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.model.csi_migration import TranslationError, handle_of, translated_affinity, zones_of
from fairlead.model.decode import DECODERS
from fairlead.model.storage import PersistentVolume
from tests.builders import Json
from tests.unit.plugins.test_volumes import ZONE, volume


def decoded(wire: Json) -> PersistentVolume:
    found: Any = DECODERS["PersistentVolume"](msgspec.json.encode(wire))
    return found


def test_volumes_of_kinds_that_have_moved_to_csi() -> None:
    disk: Json = {"gcePersistentDisk": {"pdName": "d"}}
    regional = decoded(volume("v", labels={ZONE: "eu-west1-a__eu-west1-b"}, **disk))
    assert handle_of(regional.spec, zones_of(regional)) == (
        "projects/UNSPECIFIED/regions/eu-west1/disks/d"
    )
    selector = translated_affinity(regional)
    assert selector is not None
    (term,) = selector.node_selector_terms
    (demand,) = term.match_expressions
    assert (demand.key, demand.values) == ("topology.gke.io/zone", ("eu-west1-a", "eu-west1-b"))
    aws = decoded(volume("v", awsElasticBlockStore={"volumeID": "aws://z/vol-1"}))
    assert handle_of(aws.spec) == "vol-1"
    with pytest.raises(TranslationError, match="Invalid format for AWS volume"):
        handle_of(decoded(volume("v", awsElasticBlockStore={"volumeID": "aws://z/x"})).spec)
    odd = decoded(volume("v", labels={ZONE: "eu-a-1__us-b-1"}, **disk))
    with pytest.raises(TranslationError, match="multiple or no regions"):
        handle_of(odd.spec, zones_of(odd))
