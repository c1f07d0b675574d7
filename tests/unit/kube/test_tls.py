"""Whom both HTTP stacks trust, and what they show of themselves."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.kube.access import ClusterAccess
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeconfigError, Unreachable
from fairlead.kube.pipeline import Posts
from fairlead.kube.tls import client_context

FILES = Path(__file__).parent / "tls"


def pem(name: str) -> bytes:
    return (FILES / name).read_bytes()


@pytest.fixture
async def access() -> AsyncIterator[ClusterAccess]:
    """A server that wants to see a certificate of ours, and how to reach it rightly."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=FILES / "authority.crt")
    context.load_cert_chain(FILES / "server.crt", FILES / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            subject = writer.get_extra_info("peercert")["subject"][0][0][1]
            body = msgspec.json.encode({"subject": subject})
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await reader.read()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    yield ClusterAccess(
        server=f"https://127.0.0.1:{port}",
        ca=pem("authority.crt"),
        certificate=pem("client.crt"),
        key=pem("client.key"),
        source="test",
    )
    server.close()
    await asyncio.sleep(0.01)


async def by_client(access: ClusterAccess) -> Any:
    async with Client(access) as client:
        return await client.json("GET", "/")


async def by_posts(access: ClusterAccess) -> Any:
    posts = Posts(access, 1)
    answers: list[bytes] = []
    await posts.start()
    try:
        posts.post("/", b"", lambda status, body: answers.append(body), _never)
        assert await posts.drain(10)
    finally:
        await posts.close()
    return msgspec.json.decode(answers[0])


def _never(error: Unreachable) -> None:
    raise AssertionError(error)


Ask = Callable[[ClusterAccess], Awaitable[Any]]
both = pytest.mark.parametrize("ask", [by_client, by_posts])


@both
async def test_the_kubeconfig_s_authority_is_trusted_and_our_certificate_shown(
    access: ClusterAccess, ask: Ask
) -> None:
    assert await ask(access) == {"subject": "client"}


@both
@pytest.mark.parametrize("ca", [None, pem("stranger.crt")], ids=["system", "stranger"])
async def test_nobody_else_is_trusted(access: ClusterAccess, ask: Ask, ca: bytes | None) -> None:
    with pytest.raises(Unreachable, match="its certificate is not trusted") as caught:
        await ask(msgspec.structs.replace(access, ca=ca))
    assert "check certificate-authority in the kubeconfig" in str(caught.value)
    assert access.server in str(caught.value)


@both
async def test_insecure_trusts_all(access: ClusterAccess, ask: Ask) -> None:
    careless = msgspec.structs.replace(access, ca=None, insecure=True)
    assert await ask(careless) == {"subject": "client"}


@both
async def test_the_name_is_checked_and_can_be_another(access: ClusterAccess, ask: Ask) -> None:
    inner = msgspec.structs.replace(access, tls_server_name="inner.invalid")
    assert await ask(inner) == {"subject": "client"}
    other = msgspec.structs.replace(access, tls_server_name="other.invalid")
    with pytest.raises(Unreachable, match="its certificate is not trusted"):
        await ask(other)


@both
async def test_a_server_that_does_not_speak_tls(ask: Ask) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(Unreachable, match="check that the server speaks TLS"):
            await ask(ClusterAccess(server=f"https://127.0.0.1:{port}"))
    finally:
        server.close()


def test_verification_is_on_and_old_protocols_are_off() -> None:
    context = client_context(ClusterAccess(server="https://a", ca=pem("authority.crt")))
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert len(context.get_ca_certs()) == 1
    assert client_context(ClusterAccess(server="http://a")) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ca": b"none"}, "certificate-authority holds no certificate"),
        ({"ca": b"\xff"}, "certificate-authority holds no certificate"),
        ({"key": pem("server.key")}, "client-certificate and client-key do not go together"),
        ({"certificate": b"none"}, "client-certificate and client-key do not go together"),
    ],
)
def test_what_does_not_go_together_is_said(change: dict[str, bytes], words: str) -> None:
    access = ClusterAccess(
        server="https://a",
        ca=pem("authority.crt"),
        certificate=pem("client.crt"),
        key=pem("client.key"),
        source="/a/config",
    )
    with pytest.raises(KubeconfigError, match=words) as caught:
        client_context(msgspec.structs.replace(access, **change))
    assert str(caught.value).startswith("/a/config: ")
    assert "\n" not in str(caught.value)
