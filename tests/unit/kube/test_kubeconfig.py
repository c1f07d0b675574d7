"""Kubeconfigs as people have them, and the words for what is wrong with them."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.kube.access import TOKEN_AGE, ClusterAccess, authorization
from fairlead.kube.errors import KubeconfigError
from fairlead.kube.kubeconfig import in_cluster, load_kubeconfig


def write(folder: Path, cluster: Any = None, user: Any = None, **extra: Any) -> str:
    cluster = {"server": "https://a:6443"} if cluster is None else cluster
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        "preferences": {},
        **extra,
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return str(path)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_data_in_the_file(tmp_path: Path) -> None:
    access = load_kubeconfig(
        write(
            tmp_path,
            {"server": "https://a:6443/", "certificate-authority-data": b64("CA")},
            {"client-certificate-data": b64("CERT"), "client-key-data": b64("KEY")},
        )
    )
    assert (access.server, access.ca) == ("https://a:6443", b"CA")
    assert (access.certificate, access.key) == (b"CERT", b"KEY")
    assert not access.insecure
    assert access.namespace == "default"


def test_files_are_looked_for_beside_the_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ca", "cert", "key", "token"):
        (tmp_path / name).write_text(f"{name}\n")
    path = write(
        tmp_path,
        {"server": "https://a", "certificate-authority": "ca"},
        {"client-certificate": "cert", "client-key": "key", "tokenFile": "token"},
    )
    monkeypatch.chdir("/")
    access = load_kubeconfig(path)
    assert access.ca == b"ca\n"
    assert access.certificate == b"cert\n"
    assert access.key == b"key\n"
    assert access.token == "token"
    assert access.token_file == str(tmp_path / "token")


def test_contexts_choose(tmp_path: Path) -> None:
    contexts = [
        {"name": "x", "context": {"cluster": "c", "user": "u"}},
        {"name": "y", "context": {"cluster": "d", "user": "v", "namespace": "team"}},
    ]
    clusters = [
        {"name": "c", "cluster": {"server": "https://a"}},
        {"name": "d", "cluster": {"server": "https://d", "tls-server-name": "inner"}},
    ]
    users = [{"name": "u"}, {"name": "v", "user": {"token": "t"}}]
    path = write(tmp_path, contexts=contexts, clusters=clusters, users=users)
    assert load_kubeconfig(path).server == "https://a"
    other = load_kubeconfig(path, "y")
    assert (other.server, other.token, other.namespace) == ("https://d", "t", "team")
    assert other.tls_server_name == "inner"
    assert load_kubeconfig(path, "y", "https://elsewhere:1").server == "https://elsewhere:1"


def test_insecure_only_when_it_is_said(tmp_path: Path) -> None:
    assert not load_kubeconfig(write(tmp_path)).insecure
    path = write(tmp_path, {"server": "https://a", "insecure-skip-tls-verify": True})
    assert load_kubeconfig(path).insecure


@pytest.mark.parametrize(
    ("cluster", "server"),
    [
        ({"server": "a:8080"}, "http://a:8080"),
        ({"server": "a:8080", "insecure-skip-tls-verify": True}, "https://a:8080"),
        ({"server": "https://[::1]:6443"}, "https://[::1]:6443"),
    ],
)
def test_an_address_is_completed(tmp_path: Path, cluster: Any, server: str) -> None:
    assert load_kubeconfig(write(tmp_path, cluster)).server == server


def test_the_master_alone_is_enough() -> None:
    access = load_kubeconfig(None, None, "https://a:1/k8s/clusters/c-1")
    assert (access.host, access.port, access.prefix) == ("a", 1, "/k8s/clusters/c-1")
    assert access.secure


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"current-context": "z"}, 'context "z" does not exist'),
        ({"current-context": ""}, "invalid configuration: no context chosen"),
        ({"clusters": []}, 'cluster "c" was not found for context "x"'),
        ({"clusters": None}, 'cluster "c" was not found for context "x"'),
        ({"users": []}, 'user "u" was not found for context "x"'),
        ({"cluster": {}}, 'no server found for cluster "c"'),
        ({"cluster": {"server": "ftp://a"}}, 'host must be a URL or a host:port pair: "ftp://a"'),
        ({"cluster": {"server": "https://a:99999"}}, "host must be a URL or a host:port pair"),
        ({"cluster": {"server": "https://a", "proxy-url": "http://p"}}, "proxy-url of cluster"),
        (
            {"cluster": {"server": "https://a", "certificate-authority": "no"}},
            "unable to read certificate-authority {folder}/no for c due to open {folder}/no: "
            "no such file or directory",
        ),
        ({"cluster": {"server": "https://a", "certificate-authority-data": "%"}}, "illegal base64"),
        ({"user": {"client-certificate-data": b64("x")}}, "client-key must be specified for u"),
        ({"user": {"tokenFile": "no"}}, "open {folder}/no: no such file or directory"),
        ({"user": {"exec": {"command": "aws"}}}, 'user "u" has an exec plugin'),
        ({"user": {"auth-provider": {"name": "gcp"}}}, 'user "u" has an auth provider'),
        ({"user": {"username": "a", "password": "b"}}, 'user "u" has a username'),
        ({"user": {"as": "root"}}, 'user "u" has impersonation'),
        ({"clusters": "many"}, "error loading config file"),
        ({"user": {"token": 7}}, "error loading config file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = write(tmp_path, **change)
    with pytest.raises(KubeconfigError) as caught:
        load_kubeconfig(path)
    assert words.format(folder=tmp_path) in str(caught.value)
    assert path in str(caught.value) or str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(KubeconfigError) as caught:
        load_kubeconfig("/no/such/file")
    assert str(caught.value) == "stat /no/such/file: no such file or directory"


@pytest.mark.parametrize("text", ["a: [", "- 1", "just words", "\x00", "a: &x [*x]"])
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigError) as caught:
        load_kubeconfig(str(path))
    assert "\n" not in str(caught.value)


def test_in_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "namespace").write_text("kube-system")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = in_cluster(environment, tmp_path)
    assert access.server == "https://[fd00::1]:443"
    assert (access.host, access.token, access.namespace) == ("fd00::1", "t", "kube-system")
    assert not access.insecure


def test_outside_of_a_pod_there_is_nothing_to_use(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="no configuration has been provided"):
        in_cluster({}, tmp_path)
    environment = {"KUBERNETES_SERVICE_HOST": "a", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(KubeconfigError, match="no such file or directory"):
        in_cluster(environment, tmp_path)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds


def test_a_token_file_is_read_again_each_minute_and_outlives_a_mistake(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("one")
    access = ClusterAccess(server="https://a", token="one", token_file=str(path))
    header = authorization(access, clock)
    path.write_text("two\n")
    assert header() == "Bearer one"
    clock.seconds += TOKEN_AGE
    assert header() == "Bearer two"
    path.unlink()
    clock.seconds += TOKEN_AGE
    assert header() == "Bearer two"


def test_who_has_no_token_sends_no_header() -> None:
    assert authorization(ClusterAccess(server="https://a"))() is None
    assert authorization(ClusterAccess(server="https://a", token="t"))() == "Bearer t"
