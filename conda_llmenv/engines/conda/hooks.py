"""A plugin of conda for as long as one request lasts: its display, its virtual packages and its credentials."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from conda.base.context import context
from conda.gateways.connection.session import CondaHttpAuth
from conda.plugins import hookimpl
from conda.plugins.types import ChannelNameMixin, CondaAuthHandler, CondaReporterBackend, CondaVirtualPackage

from conda_llmenv.engines.conda.progress import Renderer
from conda_llmenv.engines.credentials import Credentials
from conda_llmenv.model import VirtualPackage

NAME = "llmenv-engine"
"""What conda calls the plugin, its display and its way of logging in."""


class _Login(ChannelNameMixin, CondaHttpAuth):  # type: ignore[misc]  # conda has no types where it is absent
    """Puts the credentials into a request as it leaves; what conda knows, and writes, is the address without them."""

    secret_bases: tuple[tuple[str, str], ...] = ()

    def __call__(self, request: Any) -> Any:
        """Return the request with what its channel wants to see, on top of conda's own tokens and logins."""
        for clean, base in self.secret_bases:
            if request.url.startswith(f"{clean}/"):
                request.url = base + request.url[len(clean) :]
                break
        return super().__call__(request)


class _Silent:
    """Has a display that shows nothing, and knows how to log in.

    Args:
        credentials: of the channels that want some.
    """

    def __init__(self, credentials: Credentials) -> None:
        nested_first = sorted(credentials.secret_bases, key=lambda pair: len(pair[0]), reverse=True)
        self._login = type("Login", (_Login,), {"secret_bases": tuple(nested_first)})

    def conda_reporter_backends(self) -> Iterator[Any]:
        """Offer the display."""
        yield CondaReporterBackend(name=NAME, description="shows nothing", renderer=Renderer)

    def conda_auth_handlers(self) -> Iterator[Any]:
        """Offer the login."""
        yield CondaAuthHandler(name=NAME, handler=self._login)


class _Requested(_Silent):
    """Has the last word about virtual packages as well.

    Args:
        credentials: of the channels that want some.
        packages: the ones that are there.
    """

    def __init__(self, credentials: Credentials, packages: Sequence[VirtualPackage]) -> None:
        super().__init__(credentials)
        self._packages = packages

    def conda_virtual_packages(self) -> Generator[None, Any, list[list[Any]]]:
        """Answer with the requested packages, whatever other plugins found."""
        yield
        return [
            [
                CondaVirtualPackage(name=package.name.removeprefix("__"), version=package.version, build=package.build)
                for package in self._packages
            ]
        ]


hookimpl(_Silent.conda_reporter_backends)
hookimpl(_Silent.conda_auth_handlers)
hookimpl(wrapper=True)(_Requested.conda_virtual_packages)


@contextlib.contextmanager
def registered(credentials: Credentials, virtual: Sequence[VirtualPackage] | None) -> Iterator[None]:
    """Be a plugin of conda until the block ends; without ``virtual`` the others' virtual packages stay."""
    plugin = _Silent(credentials) if virtual is None else _Requested(credentials, virtual)
    context.plugin_manager.register(plugin, name=NAME)
    try:
        yield
    finally:
        context.plugin_manager.unregister(plugin)


def channel_settings(credentials: Credentials) -> tuple[Mapping[str, str], ...]:
    """Return conda's settings of channels, with our login for those that want one."""
    ours = [{"channel": f"{clean}/*", "auth": NAME} for clean, _ in credentials.secret_bases]
    return (*context.channel_settings, *ours)
