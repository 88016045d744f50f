"""The proxy that the environment names for an endpoint."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from howsure.errors import FatalEndpointError

__all__ = ["proxy_for"]


def proxy_for(base_url: str) -> str | None:
    """Its URL, perhaps with a user and a password in it, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

    This machine itself is never asked through one.

    Raises
    ------
    FatalEndpointError
        When it is of a kind that we do not speak.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    proxies = getproxies()
    address = proxies.get(parts.scheme) or proxies.get("all")
    if not address or _is_here(host) or proxy_bypass(host):
        return None
    address = address if "://" in address else f"http://{address}"
    proxy = urlsplit(address)
    if proxy.scheme not in {"http", "https"} or not proxy.hostname:
        raise FatalEndpointError(
            f"the environment names a {proxy.scheme} proxy for {base_url}; only HTTP proxies can be used",
            reason="connection",
        )
    return address


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
