"""Puts the adapters behind the ports: the only place that knows all of them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import platformdirs

from conda_llmenv import process
from conda_llmenv.cli.progress import display
from conda_llmenv.config import CondaConfig, active_config, describe, resolve_channels
from conda_llmenv.engines.registry import Choice
from conda_llmenv.errors import FileFormatError, InputError, Interrupted, PrefixRefused
from conda_llmenv.hardware import Tables, load_tables
from conda_llmenv.host import host_root, read_host
from conda_llmenv.library import FileLibrary, default_library
from conda_llmenv.model import Channel, HostFacts, Lock, Origin, Sourced
from conda_llmenv.pipeline.tools import Caches, Tools
from conda_llmenv.pipeline.verify_tools import VerifyTools
from conda_llmenv.ports import PipInstaller, Reporter, Transaction

AUTO = "auto"

LOCK_TIMEOUT = "LLMENV_LOCK_TIMEOUT"
"""Seconds to wait for another process that works on the same prefix."""


@contextlib.contextmanager
def open_tools(
    *,
    quiet: bool = False,
    as_json: bool = False,
    engine: str = "auto",
    installer: str = "auto",
    root: Path | None = None,
) -> Iterator[Tools]:
    """Open the tools of one command: its progress display and a scratch folder that is gone afterwards.

    A signal that asks the program to end is an exception meanwhile, so that programs it started end with it.

    Args:
        quiet: show no progress.
        as_json: stdout belongs to one document.
        engine: asked for on the command line; ``auto`` leaves it to the configuration.
        installer: likewise.
        root: the project folder; by default the current one.
    """
    config = user_config()
    choice = functools.cache(functools.partial(engine_choice, engine, config))
    with contextlib.ExitStack() as stack:
        stack.enter_context(signals_as_exceptions())
        reporter = stack.enter_context(display(quiet=quiet, as_json=as_json))

        @functools.cache
        def scratch() -> Path:
            """Make the command's scratch folder when it is first needed."""
            return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="llmenv-")))

        yield Tools(
            library=library(root),
            host=functools.cache(host_facts),
            engine=lambda: choice().engine,
            engine_reason=lambda: choice().reason,
            pip=functools.cache(lambda: _installer(installer if installer != AUTO else config.llmenv.installer)),
            begin=_Begin(config),
            run=process.run,
            stop=process.end_running,
            resolve_channels=functools.partial(_channels, config),
            describe_channel=functools.partial(describe, config=config),
            find_altered=_find_altered,
            caches=caches(config),
            reporter=reporter,
            environ={**_overrides(config), **os.environ},
            channel_priority=config.channel_priority,
            default_tier=_default_tier(config),
            scratch=scratch,
            verify=functools.partial(_verify_tools, reporter),
            tables=tables,
            indexes=functools.cache(_indexes),
            warnings=config.notices,
        )


def _overrides(config: CondaConfig) -> dict[str, str]:
    """Return ``override_virtual_packages`` of the configuration as the variables that say the same."""
    return {
        f"CONDA_OVERRIDE_{name.lstrip('_').upper()}": value for name, value in config.override_virtual_packages.items()
    }


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the block by an exception, whatever a library makes of it on its way."""
    from conda_llmenv.prefix.signals import SignalGuard, Signalled

    guard = SignalGuard()
    guard.install()
    try:
        yield
    except BaseException as error:
        if guard.received is not None and not isinstance(error, (Interrupted, KeyboardInterrupt)):
            raise Signalled(guard.received) from error
        raise
    finally:
        guard.restore()


@functools.cache
def user_config() -> CondaConfig:
    """Return the person's conda configuration: conda's own where it runs us, else files and ``CONDA_*`` variables."""
    return active_config(os.environ, Path.home())


def library(root: Path | None = None) -> FileLibrary:
    """Return the library of a project folder (by default the current one), shared folders included."""
    return default_library(root or Path.cwd(), user_config().llmenv.envs_path)


def _default_tier(config: CondaConfig) -> Sourced | None:
    name = config.llmenv.default_tier
    return Sourced(name, config.llmenv.origins.get("llmenv_default_tier", Origin(""))) if name else None


def registry() -> Path:
    """Return conda's list of environments of this account."""
    from conda_llmenv.prefix.environments import registry_file

    return registry_file(os.environ)


def new_prefix(name: str | None, prefix: str | None, config: CondaConfig) -> Path:
    """Return where an environment of that name or path goes; see :func:`conda_llmenv.prefix.location.locate`."""
    from conda_llmenv.prefix.location import locate

    return locate(name, prefix, config=config, environ=os.environ)


def settle_leftovers(prefix: Path) -> None:
    """Put right what a run that was killed left at a prefix, and say so; does nothing where nothing was left.

    Raises:
        LockBusy: the run is still at work, or is one of another host that may be.
    """
    from conda_llmenv.cli.console import say
    from conda_llmenv.prefix.location import is_environment, is_in_change
    from conda_llmenv.prefix.removal import recover

    if is_in_change(prefix) and recover(prefix, lock_timeout=lock_timeout(), on_wait=say):
        state = "the environment that was there is back" if is_environment(prefix) else "its leftovers are gone"
        say(f"an earlier run for {prefix} was interrupted: {state}")


def refuse_inner_environments(prefix: Path, config: CondaConfig) -> None:
    """Refuse to replace or remove an environment that has others inside it.

    Raises:
        PrefixRefused: there are some; they are named.
    """
    from conda_llmenv.prefix.environments import known

    inner = [str(place) for place in known(registry(), config.envs_dirs) if prefix in place.parents]
    if inner:
        raise PrefixRefused(
            f"{prefix} has other environments inside it, which would go with it",
            details=inner,
            hint="remove or move them first",
        )


def lock_timeout() -> float:
    """Return how many seconds to wait for another process that works on the same prefix.

    Raises:
        InputError: the variable that says so is no number.
    """
    text = os.environ.get(LOCK_TIMEOUT, "300")
    try:
        return max(0.0, float(text))
    except ValueError:
        raise InputError(f"{LOCK_TIMEOUT} is {text!r}, which is no number of seconds") from None


def existing_prefix(name: str | None, prefix: str | None, config: CondaConfig) -> Path:
    """Return the path of an environment that is there; see :func:`conda_llmenv.prefix.location.find`."""
    from conda_llmenv.prefix.location import find

    return find(name, prefix, config=config, environ=os.environ)


def environment_lock(prefix: Path) -> Lock:
    """Return what is in an environment as a lock; channels of one we have not made are those conda would list."""
    from conda_llmenv.prefix.locked import read_lock

    return read_lock(prefix, subdir=host_facts().subdir)


def host_facts() -> HostFacts:
    """Return the facts of this machine, or of the recorded one that ``LLMENV_HOST_ROOT`` names."""
    return read_host(host_root(os.environ), tables=tables)


def caches(config: CondaConfig) -> Caches:
    """Return the first writable package cache of the configuration and the repodata cache inside it."""
    packages = config.package_cache()
    return Caches(packages, packages / "cache" / "llmenv")


def _channels(config: CondaConfig, names: tuple[str, ...], nodefaults: bool) -> tuple[Channel, ...]:  # noqa: FBT001 - positional by the port
    return resolve_channels(names, config, nodefaults=nodefaults)


def engine_choice(asked: str, config: CondaConfig) -> Choice:
    """Return the engine that was asked for, else the configured one, else the first that can do the work.

    Raises:
        InputError: that engine cannot run here, or there is none of that name.
    """
    from conda_llmenv.engines.registry import choose

    if asked != AUTO or config.llmenv.engine == AUTO:
        return choose(asked, config)
    origin = config.llmenv.origins.get("llmenv_engine", Origin(""))
    return choose(config.llmenv.engine, config, by=f"configured as llmenv_engine ({origin.where})")


def _installer(name: str) -> PipInstaller:
    from conda_llmenv.pypi.registry import choose

    return choose(name).installer


def _find_altered(prefix: Path, names: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    from conda_llmenv.prefix.integrity.unpacked import altered_files

    return altered_files(prefix, names)


@functools.cache
def tables() -> Tables:
    """Return the packaged tables with the entries of ``tables.json`` in the person's configuration folder over them."""
    path = platformdirs.user_config_path("llmenv", appauthor=False) / "tables.json"
    if not path.is_file():
        return load_tables()
    try:
        override = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not JSON: {error}", hint="correct it or remove it") from error
    if not isinstance(override, dict):
        raise FileFormatError(f"{path}: the tables are a mapping of names to tables", hint="correct it or remove it")
    try:
        return load_tables(override)
    except InputError as error:
        raise FileFormatError(f"{path}: {error.message}", hint=error.hint) from error


def _verify_tools(reporter: Reporter, prefix: Path) -> VerifyTools:
    from conda_llmenv.cli.verifying import LadderProgress, verify_tools

    return verify_tools(prefix, LadderProgress(reporter))


def _indexes() -> tuple[str, ...]:
    from conda_llmenv.pypi.config import read_config

    config = read_config(os.environ, Path.home())
    settings = [setting for key in ("index-url", "extra-index-url", "find-links") for setting in config.every(key)]
    return tuple(word for setting in settings for word in setting.words())


class _Begin:
    """Opens prefix transactions that tell a person when they wait."""

    def __init__(self, config: CondaConfig) -> None:
        self._config = config

    def __call__(self, prefix: Path, *, replace: bool, keep: bool) -> Transaction:
        from conda_llmenv.cli.console import say
        from conda_llmenv.prefix.transaction import PrefixTransaction

        timeout = lock_timeout()
        return PrefixTransaction(
            prefix,
            replace=replace,
            keep=keep,
            lock_timeout=timeout,
            on_wait=say,
            registry=registry() if self._config.register_envs else None,
        )
