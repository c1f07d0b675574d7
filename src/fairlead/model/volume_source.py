"""Where a volume comes from, for the sorts that a scheduler tells apart.

The fields are those of the API, as far as limits, conflicts and the migration to CSI ask for them.
"""

from msgspec import Struct, field


class CSISource(Struct, rename="camel", frozen=True, gc=False):
    """A volume of a CSI driver, by the driver's own name for it."""

    driver: str = ""
    volume_handle: str = ""


class GCEPersistentDisk(Struct, rename="camel", frozen=True, gc=False):
    """A disk of Google's; many may read it if all only read."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Struct, rename="camel", frozen=True, gc=False):
    """A disk of Amazon's."""

    volume_id: str = field(default="", name="volumeID")


class AzureDisk(Struct, rename="camel", frozen=True, gc=False):
    """A disk of Microsoft's."""

    disk_uri: str = field(default="", name="diskURI")
    kind: str | None = None


class AzureFile(Struct, rename="camel", frozen=True, gc=False):
    """A share of Microsoft's."""

    share_name: str = ""


class Cinder(Struct, rename="camel", frozen=True, gc=False):
    """A disk of OpenStack's."""

    volume_id: str = field(default="", name="volumeID")


class PortworxVolume(Struct, rename="camel", frozen=True, gc=False):
    """A volume of Portworx."""

    volume_id: str = field(default="", name="volumeID")


class VsphereVolume(Struct, rename="camel", frozen=True, gc=False):
    """A disk of VMware's."""

    volume_path: str = ""


class ISCSIVolume(Struct, rename="camel", frozen=True, gc=False):
    """A disk over iSCSI."""

    iqn: str = ""
    read_only: bool = False


class RBDVolume(Struct, rename="camel", frozen=True, gc=False):
    """An image of Ceph's, and the monitors through which it is found."""

    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    read_only: bool = False
