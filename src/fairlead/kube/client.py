"""One client for everything that is not on the path of a pod: aiohttp, JSON in and out.

Every call has one deadline, waiting for a throttled server included. What may be repeated is
repeated: any call that was refused with `Retry-After` under 429 (it was not begun), and a GET after
a broken connection or a 5xx with `Retry-After`. Nothing else is, because its outcome is unknown.
The trap: an eviction that a PodDisruptionBudget blocks is a 429 too, without `Retry-After`.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from fairlead.kube.access import ClusterAccess, authorization
from fairlead.kube.content import JSON, PATCH_TYPES, PatchKind, default_user_agent
from fairlead.kube.errors import (
    UNREADABLE,
    ApiError,
    Gone,
    KubeError,
    Undecodable,
    Unreachable,
    error_from_response,
    unreachable,
)
from fairlead.kube.resource import NODES, PODS, Resource
from fairlead.kube.tls import client_context

Object = dict[str, Any]
Body = Mapping[str, Any] | list[Any] | msgspec.Struct | bytes | None
Params = Mapping[str, str | int | bool | None] | None

ATTEMPTS = 5
PAGE = 500


class Client:
    """Calls to one API server: `async with Client(access) as client: await client.get(…)`.

    Methods return decoded objects and raise `ApiError` or `Unreachable`. `within(seconds)` is the
    same client with another deadline; `field_manager` names us where fields are owned.
    """

    def __init__(
        self,
        access: ClusterAccess,
        *,
        timeout: float = 30.0,
        field_manager: str = "fairlead",
        user_agent: str | None = None,
    ) -> None:
        self.access = access
        self._user_agent = user_agent or default_user_agent()
        self._timeout = timeout
        self._field_manager = field_manager
        self._authorization = authorization(access)
        self._session: aiohttp.ClientSession | None = None
        self._origin = access.server

    async def __aenter__(self) -> Self:
        context = client_context(self.access)
        self._session = aiohttp.ClientSession(
            # Watches hold a connection each; the default pool of 100 is for all hosts together.
            connector=aiohttp.TCPConnector(
                limit=0, ssl=context if context is not None else True, keepalive_timeout=55
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            # The default `total` of 300 s would end every watch; deadlines are set per call.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            # No compression: it costs the server more than it saves on these networks.
            skip_auto_headers=("Accept-Encoding", "Content-Type"),
            headers={"User-Agent": self._user_agent, "Accept": JSON},
            read_bufsize=1 << 18,
        )
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
            for _turn in range(3):  # aborted transports end in the next turns of the loop
                await asyncio.sleep(0)

    def within(self, seconds: float) -> "Client":
        """The same connections with another deadline per call; it ends with the original."""
        other = Client(self.access, timeout=seconds, field_manager=self._field_manager)
        other._session = self._session
        other._authorization = self._authorization
        return other

    async def raw(
        self,
        method: str,
        path: str,
        *,
        params: Params = None,
        body: Body = None,
        content_type: str = JSON,
    ) -> bytes:
        """Sends one request and returns the body of a 2xx answer as it came."""
        url = self._url(path, params)
        data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        written = method != "GET"
        try:
            async with asyncio.timeout(self._timeout) as deadline:
                for attempt in range(1, ATTEMPTS + 1):
                    try:
                        return await self._once(method, url, data, content_type)
                    except (ApiError, Unreachable) as error:
                        pause = _pause(method, error)
                        again = asyncio.get_running_loop().time() + (pause or 0)
                        if pause is None or attempt == ATTEMPTS or again > (deadline.when() or 0):
                            raise
                        await asyncio.sleep(pause)
        except TimeoutError as error:
            raise unreachable(str(url), error, written=written) from error
        raise AssertionError("the last attempt returns or raises")

    async def _once(self, method: str, url: URL, data: bytes | None, content_type: str) -> bytes:
        headers = self._headers()
        if data is not None:
            headers["Content-Type"] = content_type
        try:
            async with self._live().request(
                method,
                url,
                data=data,
                headers=headers,
                allow_redirects=False,
                server_hostname=self.access.tls_server_name,
            ) as response:
                answer = await response.read()
                if response.status < 300:
                    return answer
                raise error_from_response(
                    response.status, answer, response.headers.get("Retry-After")
                )
        except aiohttp.ClientConnectorError as error:
            raise unreachable(self._origin, error) from error
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
            raise unreachable(str(url), error, written=method != "GET") from error

    async def json(
        self, method: str, path: str, *, params: Params = None, body: Body = None
    ) -> Any:
        """`raw`, decoded: for paths that are no resource, such as /version."""
        return _decoded(await self.raw(method, path, params=params, body=body))

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
    ) -> Object:
        """Reads one object, as the server has it now and not as a cache of it had it."""
        return await self.json("GET", resource.path(namespace, name, subresource))

    async def pages(
        self, resource: Resource, namespace: str | None = None, *, params: Params = None
    ) -> AsyncGenerator[bytes]:
        """Yields the pages of one consistent list as they came, 500 objects each.

        A continue token that has expired ends it with `Gone`: the pages so far are then worthless.
        """
        token = ""
        while True:
            page = await self.raw(
                "GET",
                resource.path(namespace),
                params={"limit": PAGE, **(params or {}), "continue": token or None},
            )
            yield page
            token = _continue_token(page)
            if not token:
                return

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        field_selector: str | None = None,
        label_selector: str | None = None,
        limit: int = PAGE,
    ) -> Object:
        """Reads all objects as one list, page by page; the first page's `metadata` is the list's.

        When the pages outlive the server's history, one unpaged list answers instead.
        """
        params = {"fieldSelector": field_selector, "labelSelector": label_selector}
        try:
            whole: Object | None = None
            async for data in self.pages(resource, namespace, params={**params, "limit": limit}):
                page = _decoded(data)
                if whole is None:
                    whole = page
                else:
                    whole["items"] += page.get("items") or []
        except Gone:
            whole = await self.json("GET", resource.path(namespace), params=params)
        assert whole is not None
        metadata = whole.setdefault("metadata", {})
        metadata.pop("continue", None)
        metadata.pop("remainingItemCount", None)
        whole["items"] = whole.get("items") or []
        return whole

    async def create(
        self,
        resource: Resource,
        body: Body,
        namespace: str | None = None,
        *,
        name: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Creates an object; `name` and `subresource` are for what is created upon another."""
        path = resource.path(namespace, name, subresource)
        return await self.json("POST", path, body=body)

    async def update(
        self,
        resource: Resource,
        name: str,
        body: Body,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
    ) -> Object:
        """Replaces an object; with its `metadata.resourceVersion` in it, only that version."""
        return await self.json("PUT", resource.path(namespace, name, subresource), body=body)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Body,
        namespace: str | None = None,
        *,
        kind: PatchKind = "strategic",
        subresource: str | None = None,
    ) -> Object:
        """Changes parts of an object; `apply` is server-side apply, which takes fields over.

        A strategic patch is for built-in kinds only; custom resources take merge and json.
        """
        params = {"fieldManager": self._field_manager, "force": True} if kind == "apply" else None
        return _decoded(
            await self.raw(
                "PATCH",
                resource.path(namespace, name, subresource),
                params=params,
                body=body,
                content_type=PATCH_TYPES[kind],
            )
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> Object:
        """Deletes an object; with `uid` only that one, not a successor of the same name."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if propagation_policy is not None:
            options["propagationPolicy"] = propagation_policy
        return await self.json("DELETE", resource.path(namespace, name), body=options)

    async def bind(self, namespace: str, name: str, node: str, uid: str | None = None) -> Object:
        """Puts a pod on a node; `Conflict` if it has one, or if its uid is another by now."""
        metadata = {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})}
        target = {"apiVersion": "v1", "kind": NODES.kind, "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        return await self.create(PODS, body, namespace, name=name, subresource="binding")

    async def evict(
        self,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
    ) -> Object:
        """Asks for a pod to go; `TooManyRequests` while a PodDisruptionBudget does not allow it."""
        options: Object = {}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            **({"deleteOptions": options} if options else {}),
        }
        return await self.create(PODS, body, namespace, name=name, subresource="eviction")

    @asynccontextmanager
    async def stream(
        self, path: str, params: Params, idle: float
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Opens a watch: no deadline for the whole, but an end after `idle` seconds of silence."""
        async with self._live().get(
            self._url(path, params),
            headers=self._headers(),
            allow_redirects=False,
            server_hostname=self.access.tls_server_name,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=idle),
        ) as response:
            try:
                yield response
            finally:
                # A watch has no end to wait for; TLS's goodbye would outlive the client.
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()

    def _live(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise KubeError("the client is closed; use it inside of `async with`")
        return self._session

    def _headers(self) -> dict[str, str]:
        header = self._authorization()
        return {} if header is None else {"Authorization": header}

    def _url(self, path: str, params: Params) -> URL:
        query = urlencode({k: _word(v) for k, v in (params or {}).items() if v is not None})
        return URL(f"{self._origin}{path}{'?' if query else ''}{query}", encoded=True)


def _pause(method: str, error: ApiError | Unreachable) -> float | None:
    """How long to wait before the same request again, or None if it must not be repeated."""
    if isinstance(error, Unreachable):
        # Refused connections are the caller's to wait out: only it knows how long that is.
        cause = error.__cause__
        broken = isinstance(
            cause,
            aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | aiohttp.ClientOSError,
        ) and not isinstance(cause, aiohttp.ClientConnectorError)
        return random.uniform(0.05, 0.1) if broken and method == "GET" else None
    if error.retry_after is None:
        return None
    if error.status == 429 or (error.status >= 500 and method == "GET"):
        return error.retry_after * random.uniform(1.0, 1.2) + 0.01
    return None


class _ListMeta(msgspec.Struct):
    continue_: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


def _continue_token(page: bytes) -> str:
    try:
        return msgspec.json.decode(page, type=_Page).metadata.continue_ or ""
    except UNREADABLE as error:
        raise Undecodable(f"a list is not what it should be: {error}", page) from error


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except UNREADABLE as error:
        raise Undecodable(f"the API server's answer is not JSON: {error}", data) from error


def _word(value: str | int | bool) -> str:
    """A query value as Go writes it: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
