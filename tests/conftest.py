"""What all tests share: how hypothesis searches, and the real control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.control_plane.plane import ControlPlane

# A busy machine must not make a property fail, so hypothesis counts no time; a failure prints
# the line that repeats it.
settings.register_profile(
    "fairlead", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fairlead")


@pytest.fixture(scope="session")
def real_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver, one pair for the whole run; a failure where nobody built them."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as plane:
        yield plane
