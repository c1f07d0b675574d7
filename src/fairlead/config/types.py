"""The fields of KubeSchedulerConfiguration v1.

A default that stands here is one that kube-scheduler puts in place of an unset or null field. The
defaults that also replace a zero, or that depend on other fields, are in `defaults`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec

from fairlead.config.args import PluginArgs
from fairlead.config.golang import Duration
from fairlead.config.scalars import GO, DebuggingBool, Float32, Int32, Int64, TypeMetaText

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"


class LeaderElectionConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which of several schedulers works."""

    go_package: ClassVar[str] = "v1alpha1"

    leader_elect: bool = True
    lease_duration: Duration = Duration(0)
    renew_deadline: Duration = Duration(0)
    retry_period: Duration = Duration(0)
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnectionConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the API server is reached."""

    go_package: ClassVar[str] = "v1alpha1"

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: Float32 = 0.0
    burst: Int32 = 0


class Plugin(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plugin to be enabled or disabled; the weight counts only in scoring."""

    go_package: ClassVar[str] = "v1"

    name: str = ""
    weight: Int32 = 0


class PluginSet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is enabled and disabled at one extension point; `*` disables all defaults."""

    go_package: ClassVar[str] = "v1"

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The plugin sets of the extension points; multiPoint stands for all of them."""

    go_package: ClassVar[str] = "v1"

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()


RawArgs = Annotated[
    PluginArgs | msgspec.Raw | None, msgspec.Meta(extra={GO: "runtime.RawExtension"})
]


class PluginConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The arguments of one plugin: typed if it has a kind for them, raw JSON if it has none."""

    go_package: ClassVar[str] = "v1"

    name: str = ""
    args: RawArgs = None


class KubeSchedulerProfile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The plugins that pods with this scheduler name are placed by."""

    go_package: ClassVar[str] = "v1"

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Int32 | None = None
    """Overrules that of the configuration even if it is 0."""
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An extended resource that an extender manages."""

    go_package: ClassVar[str] = "v1"

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How an extender is trusted; data wins over files."""

    go_package: ClassVar[str] = "v1"

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A webhook that is asked too; a verb that is empty is not asked for."""

    go_package: ClassVar[str] = "v1"

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration(0)
    """Zero means five seconds."""
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All that a scheduler is told."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: DebuggingBool = True
    enable_contention_profiling: DebuggingBool | None = None
    """As enableProfiling if it is not set."""
    percentage_of_nodes_to_score: Int32 = 0
    """0 lets the scheduler choose by the size of the cluster."""
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
