"""Our own settings among conda's, and what is configured that only conda can honour."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conda_llmenv.config import CondaConfig, LlmenvSettings, active_config, load_config
from conda_llmenv.config.values import CHOICES
from conda_llmenv.engines.registry import AUTO, ENGINES
from conda_llmenv.errors import FileFormatError


def load(home: Path, text: str, **environ: str) -> CondaConfig:
    """Load a configuration of one file."""
    (home / ".condarc").write_text(text)
    return load_config(environ, home, system=home)


def test_they_stand_below_plugins(tmp_path: Path) -> None:
    """As conda's own plugins have theirs; each with the line that set it."""
    text = (
        "plugins:\n  other: [1, {a: b}]\n  llmenv_engine: Conda\n  llmenv_installer: pip\n"
        "  llmenv_envs_path:\n  - ~/site\n  - $SITE/envs\n  llmenv_default_tier: a100\n"
        "  llmenv_history: $SITE/reports\n"
    )
    settings = load(tmp_path, text, SITE="/site").llmenv
    assert (settings.engine, settings.installer, settings.default_tier) == ("conda", "pip", "a100")
    assert settings.envs_path == (tmp_path / "site", Path("/site/envs"))
    assert settings.history == Path("/site/reports")
    assert {name: origin.where for name, origin in settings.origins.items()} == {
        "llmenv_engine": "~/.condarc:3",
        "llmenv_installer": "~/.condarc:4",
        "llmenv_envs_path": "~/.condarc:5",
        "llmenv_default_tier": "~/.condarc:8",
        "llmenv_history": "~/.condarc:9",
    }


def test_variables_win(tmp_path: Path) -> None:
    """``CONDA_PLUGINS_*``, a comma between folders as in conda's other lists; lists of all sources are joined."""
    text = "plugins: {llmenv_engine: conda, llmenv_envs_path: [/file]}\n"
    settings = load(
        tmp_path,
        text,
        CONDA_PLUGINS_LLMENV_ENGINE="rattler",
        CONDA_PLUGINS_LLMENV_ENVS_PATH="/a, /b",
        CONDA_PLUGINS_LLMENV_HISTORY="~/reports",
    ).llmenv
    assert settings.engine == "rattler"
    assert settings.history == tmp_path / "reports"
    assert settings.envs_path == (Path("/a"), Path("/b"), Path("/file"))
    assert settings.origins["llmenv_engine"].where == "CONDA_PLUGINS_LLMENV_ENGINE"


@pytest.mark.parametrize("text", ["", "plugins:\n", "plugins: {}\n", "plugins: 3\n", "plugins: {llmenv_engine: }\n"])
def test_without_any_it_is_auto(text: str, tmp_path: Path) -> None:
    """Nothing set, in all the ways to write it."""
    settings = load(tmp_path, text).llmenv
    assert (settings.engine, settings.installer, settings.envs_path, settings.history) == ("auto", "auto", (), None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plugins: {llmenv_engine: turbo}\n", "libmamba"),
        ("plugins: {llmenv_installer: poetry}\n", "uv"),
        ("plugins: {llmenv_engine: [a]}\n", ""),
        ("plugins: {llmenv_envs_path: /a}\n", "first, second"),
        ("plugins: {llmenv_envs_path: [{a: b}]}\n", ""),
        ("plugins: {llmenv_history: [/a]}\n", ""),
    ],
)
def test_a_wrong_one_is_named_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    """With what can be written instead."""
    with pytest.raises(FileFormatError, match=r"^~/\.condarc:1: plugins\.llmenv_") as caught:
        load(tmp_path, text)
    assert told in caught.value.hint


def test_every_engine_can_be_set() -> None:
    """The words are those of the table of engines."""
    assert CHOICES["plugins.llmenv_engine"] == (AUTO, *ENGINES)


def test_what_only_conda_can_honour_is_told_with_its_line(tmp_path: Path) -> None:
    """A certificate, a secret in a keyring that a plugin of conda reads, two proxies for one scheme: never silently."""
    text = (
        "client_cert: ~/c.pem\nchannel_settings:\n- channel: private\n  auth: keyring\n"
        "proxy_servers: {https: 'http://a:1', 'https://host': 'http://b:1'}\n"
    )
    assert load(tmp_path, text).conda_only == (
        "client_ssl_cert (~/.condarc:1)",
        "channel_settings (~/.condarc:2)",
        "proxy_servers (~/.condarc:5)",
    )


@pytest.mark.parametrize(
    "text",
    [
        "channels: [a]\nclient_ssl_cert:\nchannel_settings: []\n",
        "channel_settings: [{channel: a, exclude_newer: 7d}]\n",
        "proxy_servers: {http: 'http://a:1', https: 'http://b:1'}\n",
        "proxy_servers: {'https://host': 'http://b:1'}\n",
        "proxy_servers: {https: 'http://b:1', 'https://host': 'http://b:1', all: }\n",
    ],
)
def test_what_all_engines_honour_is_not_told(text: str, tmp_path: Path) -> None:
    """One proxy a scheme, for all hosts or for one; empty settings."""
    assert load(tmp_path, text).conda_only == ()


def test_what_says_nothing_to_us_is_told(tmp_path: Path) -> None:
    """Pins and cutoffs of .condarc: what goes into an environment is said by fragments, so that it can be repeated."""
    text = "pinned_packages: [python=3.11]\ndisallow: []\ncooldown: 7d\n"
    notices = load(tmp_path, text).notices
    assert [notice.code for notice in notices] == ["setting-not-heeded"] * 2
    assert notices[0].message == "pinned_packages (~/.condarc:1) says nothing to llmenv"
    assert notices[1].message.startswith("exclude_newer (~/.condarc:3)")


def test_the_bundle_of_requests_counts(tmp_path: Path) -> None:
    """Conda takes REQUESTS_CA_BUNDLE by way of its library, unless ssl_verify says something; so do we."""
    bundle = tmp_path / "ca.pem"
    bundle.touch()
    assert load(tmp_path, "", REQUESTS_CA_BUNDLE=str(bundle)).ssl_verify == str(bundle)
    assert load(tmp_path, "", CURL_CA_BUNDLE=str(bundle)).sources["ssl_verify"].where == "CURL_CA_BUNDLE"
    assert load(tmp_path, "ssl_verify: false\n", REQUESTS_CA_BUNDLE=str(bundle)).ssl_verify is False
    gone = load(tmp_path, "", REQUESTS_CA_BUNDLE="/not/there")
    assert gone.ssl_verify is True
    assert [notice.code for notice in gone.notices] == ["ca-bundle"]


def test_without_conda_the_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``active_config`` needs no conda, and does not load one."""
    monkeypatch.delitem(sys.modules, "conda.base.context", raising=False)
    (tmp_path / ".condarc").write_text("channels: [mine]\n")
    config = active_config({}, tmp_path)
    assert [channel.value for channel in config.channels] == ["mine"]
    assert config.llmenv == LlmenvSettings()
    assert "conda.base.context" not in sys.modules
