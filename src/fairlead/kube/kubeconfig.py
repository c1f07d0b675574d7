"""A kubeconfig file, or the pod's own service account, read into a `ClusterAccess`.

The words of the errors are client-go's, since these are what people search for. What a file asks
for and we cannot do (exec plugins, proxies, impersonation, basic authentication) is refused by
name: ignoring it would end in an anonymous request and a puzzling 403.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fairlead.kube.access import ClusterAccess
from fairlead.kube.errors import KubeconfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class User(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    exec: Any = None
    auth_provider: Any = None
    impersonate: str = msgspec.field(default="", name="as")


class Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str | None = None


class NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster | None = None


class NamedUser(msgspec.Struct):
    name: str
    user: User | None = None


class NamedContext(msgspec.Struct):
    name: str
    context: Context | None = None


class Kubeconfig(msgspec.Struct, rename="kebab"):
    """The file as it is written; what stands beside these fields is not ours."""

    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
    current_context: str | None = None


def load_kubeconfig(
    path: str | None, context: str | None = None, master: str | None = None
) -> ClusterAccess:
    """Reads how to reach the cluster: from `path`, else from the pod's own service account.

    `master` replaces the server's address, as kube-scheduler's flag does, and is enough alone.
    Which file counts ($KUBECONFIG, ~/.kube/config) is for the command line to say.
    """
    if path is None and master is None:
        return in_cluster()
    if path is None:
        assert master is not None
        return ClusterAccess(server=_server(master, "--master"), source="--master")
    return _Reading(path).access(context, master)


def in_cluster(
    environment: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT
) -> ClusterAccess:
    """The access of a pod's own service account, whose token file is replaced as time passes."""
    host = environment.get("KUBERNETES_SERVICE_HOST")
    port = environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise KubeconfigError(
            "invalid configuration: no configuration has been provided; name a kubeconfig with "
            "--kubeconfig or KUBECONFIG (outside of a pod there is no service account to use)"
        )
    token_file = folder / "token"
    namespace = folder / "namespace"
    return ClusterAccess(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca=_read(folder / "ca.crt"),
        token=_text(token_file),
        token_file=str(token_file),
        namespace=_text(namespace) if namespace.exists() else "default",
        source="in-cluster configuration",
    )


class _Reading:
    """One file being read; paths in it are relative to where it lies."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = Path(path).resolve().parent
        self._config = _parse(path)

    def access(self, context_name: str | None, master: str | None) -> ClusterAccess:
        name = context_name or self._config.current_context or ""
        context = self._context(name)
        cluster = self._cluster(context.cluster, name)
        if master is None and not cluster.server:
            raise self._invalid(f'no server found for cluster "{context.cluster}"')
        if cluster.proxy_url:
            raise self._invalid(f'proxy-url of cluster "{context.cluster}" is not supported')
        user = self._user(context.user, name)
        certificate, key = self._identity(user, context.user)
        token, token_file = user.token or None, None
        if user.token_file:
            token_file = self._at(user.token_file)
            # As in client-go, the file wins over a token beside it, which is for when it is gone.
            if token is None or Path(token_file).exists():
                token = _text(Path(token_file))
        what = f"unable to read certificate-authority {{path}} for {context.cluster}"
        ca = self._pem(cluster.certificate_authority_data, cluster.certificate_authority, what)
        secure = bool(ca or certificate or cluster.insecure_skip_tls_verify)
        return ClusterAccess(
            server=_server(master or cluster.server, self._path, secure),
            # client-go refuses a CA beside insecure-skip-tls-verify; kubectl writes such files.
            ca=None if cluster.insecure_skip_tls_verify else ca,
            certificate=certificate,
            key=key,
            insecure=cluster.insecure_skip_tls_verify,
            tls_server_name=cluster.tls_server_name or None,
            token=token,
            token_file=token_file,
            namespace=context.namespace or "default",
            source=self._path,
        )

    def _context(self, name: str) -> Context:
        if not name:
            raise self._invalid("no context chosen: current-context is empty")
        for entry in self._config.contexts or ():
            if entry.name == name:
                return entry.context or Context()
        raise KubeconfigError(f'context "{name}" does not exist in {self._path}')

    def _cluster(self, name: str, context: str) -> Cluster:
        if not name:
            raise self._invalid(f'cluster was not specified for context "{context}"')
        for entry in self._config.clusters or ():
            if entry.name == name:
                return entry.cluster or Cluster()
        raise self._invalid(f'cluster "{name}" was not found for context "{context}"')

    def _user(self, name: str, context: str) -> User:
        if not name:
            return User()
        for entry in self._config.users or ():
            if entry.name == name:
                return entry.user or User()
        raise self._invalid(f'user "{name}" was not found for context "{context}"')

    def _identity(self, user: User, name: str) -> tuple[bytes | None, bytes | None]:
        refused = {
            "an exec plugin": user.exec,
            "an auth provider": user.auth_provider,
            "a username": user.username,
            "impersonation (as)": user.impersonate,
        }
        for what, value in refused.items():
            if value:
                raise self._invalid(f'user "{name}" has {what}, which is not supported')
        certificate = self._pem(
            user.client_certificate_data,
            user.client_certificate,
            f"unable to read client-cert {{path}} for {name}",
        )
        key = self._pem(
            user.client_key_data, user.client_key, f"unable to read client-key {{path}} for {name}"
        )
        if certificate is not None and key is None:
            raise self._invalid(
                f"client-key-data or client-key must be specified for {name} "
                "to use the clientCert authentication method."
            )
        return certificate, key

    def _pem(self, data: str, path: str, what: str) -> bytes | None:
        """The bytes of a `…-data` field or of the file beside it; the field wins."""
        if data:
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError) as error:
                raise KubeconfigError(
                    f'error loading config file "{self._path}": illegal base64 data: {error}'
                ) from error
        if not path:
            return None
        full = self._at(path)
        try:
            return Path(full).read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise self._invalid(f"{what.format(path=full)} due to open {full}: {reason}") from error

    def _at(self, path: str) -> str:
        return str(self._folder / path)

    def _invalid(self, message: str) -> KubeconfigError:
        return KubeconfigError(f"invalid configuration: {message} ({self._path})")


def _parse(path: str) -> Kubeconfig:
    import yaml  # 20 ms that `--help` need not wait for

    try:
        text = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise KubeconfigError(f"stat {path}: no such file or directory") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KubeconfigError(
            f'error loading config file "{path}": open {path}: {reason}'
        ) from error
    try:
        return msgspec.convert(yaml.safe_load(text) or {}, Kubeconfig)
    except (yaml.YAMLError, msgspec.ValidationError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise KubeconfigError(f'error loading config file "{path}": {why}') from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KubeconfigError(f"open {path}: {reason}") from error


def _text(path: Path) -> str:
    text = _read(path).decode("utf-8", errors="replace").strip()
    if not text:
        raise KubeconfigError(f"read empty token from file {path!s}")
    return text


def _server(address: str, source: str, secure: bool = False) -> str:
    """An address with a scheme; as in client-go a bare `host:port` means http without TLS data."""
    scheme = "https" if secure else "http"
    full = address if "://" in address else f"{scheme}://{address}"
    try:
        parts = urlsplit(full)
        port_is_wrong = parts.port == 0
    except ValueError:
        parts, port_is_wrong = None, True
    if (
        parts is None
        or port_is_wrong
        or parts.scheme not in ("http", "https")
        or not parts.hostname
    ):
        raise KubeconfigError(f'{source}: host must be a URL or a host:port pair: "{address}"')
    return full.rstrip("/")
