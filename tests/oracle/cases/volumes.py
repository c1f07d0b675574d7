"""The family about volumes: what a pod may want of storage, one function for each situation."""

from __future__ import annotations

from .basics import ARCH, DISK, GI, HOSTNAME, REGION, ZONE, Dice, Json, spell
from .objects import expression, pod, pod_reference, thing, timestamp
from .storage import DRIVER, LATE, OTHER_DRIVER, Storage
from .world import family, landscape, ordinary_need


def bound_in_zone(s: Storage) -> None:
    s.use(s.bound(nodes=s.in_zones()))


def bound_with_zone_labels(s: Storage) -> None:
    key = s.d.choice((ZONE, ZONE, "failure-domain.beta.kubernetes.io/zone", REGION))
    values = ["north", "south"] if key == REGION else s.zones
    s.use(s.bound(labels={key: "__".join(s.d.some(values, 1, 2))}))


def bound_to_node(s: Storage) -> None:
    nodes = s.d.some(s.w.nodes, 1, max(1, len(s.w.nodes) // 2))
    s.use(
        s.bound(
            nodes={"matchExpressions": [expression(HOSTNAME, "In", *nodes)]},
            source={"local": {"path": "/mnt/disk"}},
        )
    )


def unbound_immediate(s: Storage) -> None:
    name = s.next("claim")
    storage_class = s.d.choice(("now", "", None, "late"))
    if s.d.chance(0.5):
        s.claim(name, GI, storage_class)
    else:  # it names a volume, but is not bound to it yet
        s.claim(name, GI, storage_class, volume="pv-later", annotations={}, phase="Pending")
    s.use(name)


def static_local(s: Storage) -> None:
    """Some claims, and volumes on the nodes: some too small, of another mode, or taken."""
    d = s.d
    wanted = [
        d.choice((5, 10, 20)) * GI + d.choice((0, 0, 1)) for _ in range(d.choice((1, 1, 2, 3)))
    ]
    block = d.chance(0.1)
    for node in s.w.nodes:
        for _ in range(d.choice((0, 1, 2, 3))):
            name = s.next("pv")
            odd = d.weighted(
                {"": 8, "released": 1, "mode": 1, "access": 1, "claimed": 1, "reserved": 1}
            )
            claim = {"claimed": "someone", "reserved": f"{name}-claim"}.get(odd)
            s.volume(
                name,
                d.choice((5, 10, 20, 50)) * GI,
                "local",
                claim=claim,
                nodes={"matchExpressions": [expression(HOSTNAME, "In", node)]},
                source={"local": {"path": f"/mnt/{name}"}},
                labels={"tier": d.choice(("gold", "gold", "tin"))},
                modes=("ReadOnlyMany",) if odd == "access" else ("ReadWriteOnce",),
                volumeMode="Block" if block != (odd == "mode") else "Filesystem",
                phase="Released"
                if odd == "released"
                else "Bound"
                if odd == "claimed"
                else "Available",
            )
    extra: Json = {"selector": {"matchLabels": {"tier": "gold"}}} if d.chance(0.25) else {}
    if block:
        extra["volumeMode"] = "Block"
    for size in wanted:
        name = s.next("claim")
        s.claim(name, size, "local", **extra)
        s.use(name)


def dynamic(s: Storage) -> None:
    """A claim whose volume is made in some zones only; at times there is one that fits."""
    d = s.d
    name = s.next("late-")
    topologies = []
    for _ in range(d.choice((1, 1, 2))):
        labels = [{"key": ZONE, "values": sorted(d.some(s.zones, 1, 2))}]
        if d.chance(0.3):
            labels.append({"key": ARCH, "values": ["amd64"]})
        if {"matchLabelExpressions": labels} not in topologies:
            topologies.append({"matchLabelExpressions": labels})
    s.w.add(
        thing(
            "storage.k8s.io/v1",
            "StorageClass",
            name,
            provisioner=DRIVER,
            volumeBindingMode=LATE,
            allowedTopologies=topologies,
        )
    )
    if d.chance(0.3):
        s.volume(s.next("pv"), 20 * GI, name, nodes=s.in_zones())
    claim = s.next("claim")
    chosen = {"volume.kubernetes.io/selected-node": d.choice([*s.w.nodes])}
    s.claim(claim, 10 * GI, name, annotations=chosen if d.chance(0.15) else None)
    s.use(claim)


def tracked_capacity(s: Storage) -> None:
    """Claims of a driver that tells how much it has left, by zone or by node."""
    d = s.d
    sizes = [d.choice((5, 10, 50)) * GI for _ in range(d.choice((1, 1, 2)))]
    by = d.choice((ZONE, HOSTNAME))
    values = sorted({value for node in s.w.nodes if (value := s.w.label(node, by))})
    for value in values:
        for _ in range(d.choice((0, 1, 1, 2))):
            left = d.choice((1, 5, 10, 100)) * GI - d.choice((0, 0, 1))
            largest = spell(d, DISK, d.choice((5, 10, 50)) * GI) if d.chance(0.4) else None
            s.w.add(
                thing(
                    "storage.k8s.io/v1",
                    "CSIStorageCapacity",
                    s.next("capacity"),
                    "kube-system",
                    storageClassName=d.choice(("tracked", "tracked", "tracked", "late")),
                    nodeTopology={"matchLabels": {by: value}} if d.chance(0.95) else None,
                    capacity=spell(d, DISK, left),
                    maximumVolumeSize=largest,
                )
            )
    for size in sizes:
        name = s.next("claim")
        s.claim(name, size, "tracked")
        s.use(name)


def attach_limits(s: Storage) -> None:
    """Nodes that can attach a few volumes, some of which are attached."""
    d = s.d
    for node in s.w.nodes:
        if d.chance(0.85):
            drivers = [
                {
                    "name": name,
                    "nodeID": node,
                    "allocatable": {"count": d.choice((1, 2, 3, 3, 5))},
                }
                for name in (DRIVER, OTHER_DRIVER)
                if d.chance(0.9)
            ]
            s.w.add(thing("storage.k8s.io/v1", "CSINode", node, spec={"drivers": drivers}))
        for _ in range(d.choice((0, 1, 1, 2))):
            volumes = [
                {"name": f"v{i}", "persistentVolumeClaim": {"claimName": s.bound()}}
                for i in range(d.choice((1, 1, 2)))
            ]
            s.w.place(node, volumes=volumes)
        if d.chance(0.2):
            name = s.next("pv")
            s.volume(name, GI, "now")
            s.w.add(
                thing(
                    "storage.k8s.io/v1",
                    "VolumeAttachment",
                    f"attach-{name}",
                    spec={
                        "attacher": DRIVER,
                        "nodeName": node,
                        "source": {"persistentVolumeName": name},
                    },
                    status={"attached": True},
                )
            )
    for _ in range(d.choice((1, 1, 2))):
        s.use(s.bound())
    if d.chance(0.3):
        name = s.next("claim")
        s.claim(name, GI, d.choice(("late", "other")))
        s.use(name)


def once_pod(s: Storage) -> None:
    """A claim for one pod only, which is most often in use."""
    d = s.d
    claim = s.bound(modes=("ReadWriteOncePod",))
    if d.chance(0.7):
        s.w.place(
            d.choice([*s.w.nodes]),
            namespace=s.namespace,
            priority=d.choice((0, 10)),
            volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        )
    s.use(claim)


def shared_bound(s: Storage) -> None:
    """A bound volume that a pod on some node uses too."""
    claim = s.bound(nodes=s.in_zones() if s.d.chance(0.5) else None)
    s.w.place(
        s.d.choice([*s.w.nodes]),
        namespace=s.namespace,
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
    )
    s.use(claim)


def trouble(s: Storage) -> None:
    """Something is missing, lost or going away."""
    d = s.d
    name = s.next("claim")
    match d.randint(1, 6):
        case 1:
            pass  # the claim is missing
        case 2:
            s.claim(name, GI, "nowhere")
        case 3:
            s.claim(name, GI, "now", volume="gone", phase="Lost")
        case 4:
            s.claim(
                name,
                GI,
                "late",
                metadata={
                    "deletionTimestamp": timestamp(80000),
                    "finalizers": ["kubernetes.io/pvc-protection"],
                },
            )
        case 5:
            s.claim(name, GI, "now", volume="gone")
        case _:
            s.claim(name, GI, None)
    s.use(name)


def disks(s: Storage) -> None:
    """Disks inside the pod spec, which only one node can have, or only for reading."""
    d = s.d

    def disk() -> Json:
        number, read_only = d.choice("123"), d.chance(0.4)
        return d.choice(
            (
                {"gcePersistentDisk": {"pdName": f"disk-{number}", "readOnly": read_only}},
                {"awsElasticBlockStore": {"volumeID": f"vol-{number}", "readOnly": read_only}},
                {
                    "iscsi": {
                        "targetPortal": f"10.0.0.{number}:3260",
                        "iqn": f"iqn.2026-03.example:{number}",
                        "lun": 0,
                        "readOnly": read_only,
                    }
                },
                {
                    "rbd": {
                        "monitors": d.some(("10.0.0.1", "10.0.0.2", "10.0.0.3"), 1, 2),
                        "pool": "rbd",
                        "image": f"image-{number}",
                        "readOnly": read_only,
                    }
                },
            )
        )

    for node in s.w.nodes:
        for _ in range(d.choice((0, 1, 2, 3))):
            s.w.place(node, volumes=[{"name": "v"} | disk()], priority=d.choice((0, 100)))
    s.sources += [disk() for _ in range(d.choice((1, 2, 3)))]


def migrated(s: Storage) -> None:
    """A bound volume of an in-tree kind; some of the nodes have moved to its CSI driver."""
    d = s.d
    key = d.choice((ZONE, "topology.gke.io/zone", "failure-domain.beta.kubernetes.io/zone"))
    for node, content in s.w.nodes.items():
        content["metadata"]["labels"]["topology.gke.io/zone"] = s.w.label(node, ZONE)
        if d.chance(0.8):
            note = {
                "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd,"
                "kubernetes.io/aws-ebs"
            }
            limit = {"count": d.choice((1, 2))}
            s.w.add(
                thing(
                    "storage.k8s.io/v1",
                    "CSINode",
                    node,
                    metadata={"annotations": note if d.chance(0.7) else None},
                    spec={
                        "drivers": [
                            {
                                "name": "pd.csi.storage.gke.io",
                                "nodeID": node,
                                "allocatable": limit,
                            }
                        ]
                    },
                )
            )
        if d.chance(0.5):
            s.w.place(
                node,
                volumes=[
                    {
                        "name": "v",
                        "persistentVolumeClaim": {
                            "claimName": s.bound(
                                source={"gcePersistentDisk": {"pdName": s.next("disk-")}}
                            )
                        },
                    }
                ],
            )
    nodes = {"matchExpressions": [expression(key, "In", *d.some(s.zones, 1, 2))]}
    s.use(
        s.bound(
            source={"gcePersistentDisk": {"pdName": "mine"}},
            nodes=nodes if d.chance(0.8) else None,
        )
    )


def scratch(s: Storage) -> None:
    """Volumes that the scheduler does not care about."""
    s.sources += [{"emptyDir": {}}, {"configMap": {"name": "settings"}}]


def ephemeral(s: Storage, pending: Json) -> None:
    """Give a pod an ephemeral volume, whose claim is its own, or another's, or not yet there."""
    d = s.d
    template = {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "resources": {"requests": {"storage": "1Gi"}},
        }
    }
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    pending["spec"].setdefault("volumes", []).append(volume)
    name = f"{pending['metadata']['name']}-scratch"
    match d.weighted({"own": 6, "missing": 1, "foreign": 1}):
        case "own":
            references = {"ownerReferences": pod_reference(pending)}
            if d.chance(0.5):
                s.volume("pv-scratch", GI, "late", claim=name, nodes=s.in_zones())
                s.claim(name, GI, "late", volume="pv-scratch", metadata=references)
            else:
                s.claim(name, GI, "late", metadata=references)
        case "foreign":
            s.claim(name, GI, "late")


@family("volumes")
def volumes(d: Dice) -> Json:
    w = landscape(d, gaps=d.choice((0, 0, 0.1)))
    s = Storage(w)
    w.crowd(2)
    situation = d.weighted(
        {
            bound_in_zone: 3,
            bound_with_zone_labels: 3,
            bound_to_node: 2,
            static_local: 6,
            dynamic: 5,
            tracked_capacity: 5,
            attach_limits: 5,
            disks: 4,
            migrated: 2,
            shared_bound: 1,
            once_pod: 2,
            unbound_immediate: 1.5,
            trouble: 2.5,
            None: 3,  # an ephemeral volume, when the pod is there
        }
    )
    if situation is not None:
        situation(s)
    if d.chance(0.25):
        d.choice((bound_in_zone, bound_with_zone_labels, dynamic, scratch))(s)
    pending = pod(
        d,
        "pending",
        need=ordinary_need(d),
        volumes=s.volumes() or None,
        priority=d.choice((0, 0, 1000)),
    )
    if situation is None:
        ephemeral(s, pending)
    return w.case(pending, repeat=4)
