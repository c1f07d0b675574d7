"""TLS contexts: verification is on unless the kubeconfig says `insecure-skip-tls-verify`."""

import os
import ssl
import tempfile

from fairlead.kube.access import ClusterAccess
from fairlead.kube.errors import KubeconfigError


def client_context(access: ClusterAccess) -> ssl.SSLContext | None:
    """The context for connections to this cluster, or None where the address is plain http.

    With a CA in the kubeconfig only that CA is trusted, and the system's are not.
    """
    if not access.secure:
        return None
    context = _trusting(access)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if access.certificate is not None and access.key is not None:
        _present(context, access.certificate + b"\n" + access.key, access.source)
    return context


def _trusting(access: ClusterAccess) -> ssl.SSLContext:
    if access.ca is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=access.ca.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigError(
            f"{access.source}: certificate-authority holds no certificate: {error}"
        ) from error


def _present(context: ssl.SSLContext, pem: bytes, source: str) -> None:
    """Loads our certificate and key, which the ssl module takes from a file only."""
    descriptor, path = tempfile.mkstemp(prefix="fairlead-")  # readable by this user alone
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        # A password here means that an encrypted key is an error, not a question on the terminal.
        context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigError(
            f"{source}: tls: client-certificate and client-key do not go together: {error}"
        ) from error
    finally:
        os.unlink(path)
