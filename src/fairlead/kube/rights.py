"""What we may do, asked before it is done: a SelfSubjectAccessReview for each need.

Reads: the API server's authorizer. Writes: nothing. A server that does not answer such questions
(it needs no authorization, or forbids to ask) is taken to allow everything: the first refused
request will tell.
"""

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Need(NamedTuple):
    """One verb on one resource, in all namespaces; `resource` may name a subresource."""

    verb: str
    resource: str
    group: str = ""

    def __str__(self) -> str:
        where = f" of {self.group}" if self.group else ""
        return f"{self.verb} {self.resource}{where}"


async def missing_rights(client: Client, needs: Iterable[Need]) -> list[Need]:
    """Those of the needs that the API server would refuse."""
    missing: list[Need] = []
    for need in needs:
        resource, _, subresource = need.resource.partition("/")
        attributes = {
            "verb": need.verb,
            "group": need.group,
            "resource": resource,
            "subresource": subresource,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        try:
            answer = await client.json("POST", REVIEWS, body=review)
            allowed = answer["status"]["allowed"]
        except (KubeError, LookupError, TypeError):
            return []
        if allowed is False:
            missing.append(need)
    return missing
