"""Channel names become addresses as they do in conda; every address knows which rule of which file made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.config import CondaConfig, describe, load_config, resolve_channels
from conda_llmenv.errors import InputError

CONDARC = """\
channels:
  - defaults
channel_alias: https://mirror.example/conda
custom_channels:
  private: https://user:s3cr3t@private.example/base
  private/gpu: https://gpu.example
  token: https://server.example/conda/t/tk-s3cr3t
  below-alias: other
custom_multichannels:
  lab: [conda-forge, private/x, https://elsewhere.example/y/]
default_channels:
  - https://mirror.example/pkgs/main
"""


@pytest.fixture
def config(tmp_path: Path) -> CondaConfig:
    """Return the configuration above."""
    (tmp_path / ".condarc").write_text(CONDARC)
    return load_config({}, tmp_path, system=tmp_path)


def urls(config: CondaConfig, *names: str, nodefaults: bool = True) -> list[str]:
    """Return the addresses that names resolve to."""
    return [channel.url for channel in resolve_channels(names, config, nodefaults=nodefaults)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("conda-forge", ["https://mirror.example/conda/conda-forge"]),
        ("conda-forge/", ["https://mirror.example/conda/conda-forge"]),
        ("conda-forge/linux-64", ["https://mirror.example/conda/conda-forge"]),
        ("nvidia/label/cuda-12.1.0", ["https://mirror.example/conda/nvidia/label/cuda-12.1.0"]),
        ("defaults", ["https://mirror.example/pkgs/main"]),
        ("private", ["https://user:s3cr3t@private.example/base/private"]),
        ("private/deep/er", ["https://user:s3cr3t@private.example/base/private/deep/er"]),
        ("private/x", ["https://mirror.example/conda/private/x"]),
        ("pkgs/main/linux-64", ["https://mirror.example/pkgs/main"]),
        ("pkgs/pro", ["https://mirror.example/conda/pkgs/pro"]),
        ("private/gpu/x", ["https://gpu.example/private/gpu/x"]),
        ("token/label/dev", ["https://server.example/conda/t/tk-s3cr3t/token/label/dev"]),
        ("below-alias", ["https://mirror.example/conda/below-alias"]),
        (
            "lab",
            [
                "https://mirror.example/conda/conda-forge",
                "https://mirror.example/conda/private/x",
                "https://elsewhere.example/y",
            ],
        ),
        ("https://h.example/a/b/", ["https://h.example/a/b"]),
        ("https://h.example/a/noarch", ["https://h.example/a"]),
        ("https://h.example/t/tk-1/a", ["https://h.example/t/tk-1/a"]),
        ("https://u:p@h.example/a", ["https://u:p@h.example/a"]),
        ("https://private.example/base/private/x", ["https://user:s3cr3t@private.example/base/private/x"]),
        ("https://private.example/base/privateer", ["https://private.example/base/privateer"]),
        ("https://private.example.evil.example/base/private", ["https://private.example.evil.example/base/private"]),
        ("file:///channels/c/", ["file:///channels/c"]),
        ("/channels/c d/linux-64", ["file:///channels/c%20d"]),
    ],
)
def test_names(name: str, expected: list[str], config: CondaConfig) -> None:
    """Multichannels, custom channels (longest head), alias, labels, URLs with configured credentials, paths."""
    assert urls(config, name) == expected


def test_paths_are_relative_to_the_working_folder(
    config: CondaConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``./c`` is a folder, ``c`` is a name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert urls(config, "./c", "../c", "~/c") == [
        f"file://{tmp_path}/c",
        f"file://{tmp_path.parent}/c",
        f"file://{tmp_path}/me/c",
    ]


def test_nodefaults_is_never_a_channel(config: CondaConfig) -> None:
    """Among the names or as a switch, it leaves the configured channels out (case 23)."""
    assert urls(config, "conda-forge", "nodefaults", nodefaults=False) == ["https://mirror.example/conda/conda-forge"]
    assert urls(config, "conda-forge", nodefaults=True) == ["https://mirror.example/conda/conda-forge"]
    for names in (("nodefaults",), ("conda-forge", "nodefaults")):
        assert not any(url.endswith("/nodefaults") for url in urls(config, *names, nodefaults=False))


def test_configured_channels_follow_those_of_fragments(config: CondaConfig) -> None:
    """As with ``conda env create``; each address once, in order."""
    expected = ["https://mirror.example/conda/conda-forge", "https://mirror.example/pkgs/main"]
    assert urls(config, "conda-forge", nodefaults=False) == expected
    assert urls(config, "conda-forge", "defaults", "conda-forge", nodefaults=False) == expected


def test_without_any_channel_it_is_conda_forge(tmp_path: Path, config: CondaConfig) -> None:
    """Unless the configuration names some."""
    bare = load_config({}, tmp_path / "nobody", system=tmp_path)
    assert urls(bare, nodefaults=False) == ["https://conda.anaconda.org/conda-forge"]
    assert urls(config, nodefaults=False) == ["https://mirror.example/pkgs/main"]
    assert [channel.name for channel in resolve_channels((), bare)] == ["conda-forge"]


def test_extra_channels_come_first(config: CondaConfig) -> None:
    """What the command line adds has the highest priority."""
    found = resolve_channels(("conda-forge",), config, nodefaults=True, extra=("pytorch",))
    assert [channel.name for channel in found] == ["pytorch", "conda-forge"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("conda-forge", "conda-forge is https://mirror.example/conda/conda-forge by channel_alias (~/.condarc:3)"),
        ("defaults", "defaults is https://mirror.example/pkgs/main by default_channels (~/.condarc:12)"),
        (
            "private/z",
            "private/z is https://***@private.example/base/private/z by custom_channels: private (~/.condarc:5)",
        ),
        ("lab", "lab is https://mirror.example/conda/conda-forge by custom_multichannels: lab (~/.condarc:10)"),
        ("https://h.example/t/tk-1/a", "https://h.example/t/***/a is https://h.example/t/***/a by its URL"),
    ],
)
def test_each_address_says_where_it_comes_from(name: str, words: str, config: CondaConfig) -> None:
    """For the message about a channel that cannot be reached (case 18); never with a secret."""
    channel = resolve_channels((name,), config, nodefaults=True)[0]
    assert describe(channel, config) == words


HOSTILE = [
    "", " ", "a b", "a\nb", "a\0b", "a;b", "$(x)", "`x`", "a|b", "<TOKEN>", "a/../../b", "a::b", "a?b", "a#b", "a[b]",
    "a*", "a,b", "a=b", "a@b", "gopher://h/c", "javascript://x", "https://h.example/a b", "https://h.example/a\nb",
    "https://h.example/\x1b[31m", "https://h.example/t/<TOKEN>/c", "https://***@h.example/c",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_what_is_no_channel_is_refused(name: str, config: CondaConfig) -> None:
    """With a message that can be shown, and none of the placeholders that exports leave behind (case 36)."""
    with pytest.raises(InputError) as caught:
        urls(config, name)
    assert caught.value.message.isprintable()
    assert caught.value.exit_code == 2


MOVED = """\
channel_alias: https://mirror.example/c
migrated_channel_aliases: [https://conda.anaconda.org, https://old.example/conda]
custom_channels: {thing: https://new.example/t/tk-1}
migrated_custom_channels: {thing: https://former.example/x}
"""


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://conda.anaconda.org/conda-forge", "https://mirror.example/c/conda-forge"),
        ("http://u:p@old.example/conda/nvidia/label/x/noarch", "https://mirror.example/c/nvidia/label/x"),
        ("https://former.example/x/thing/sub", "https://new.example/t/tk-1/thing/sub"),
        ("https://former.example/x/things", "https://former.example/x/things"),
        ("https://conda.anaconda.organic/a", "https://conda.anaconda.organic/a"),
        ("https://old.example/conda", "https://old.example/conda"),
    ],
)
def test_addresses_of_former_times_are_led_to_those_of_today(url: str, expected: str, tmp_path: Path) -> None:
    """``migrated_channel_aliases`` and ``migrated_custom_channels``: a file that names the original uses the mirror."""
    (tmp_path / ".condarc").write_text(MOVED)
    config = load_config({}, tmp_path, system=tmp_path)
    assert urls(config, url) == [expected]
    if expected != url:
        assert "migrated_" in describe(resolve_channels((url,), config)[0], config)


def test_lists_of_an_administrator_hold(tmp_path: Path) -> None:
    """What is denied, or not allowed, is refused with the file that says so."""
    (tmp_path / ".condarc").write_text("denylist_channels: [defaults]\n")
    config = load_config({}, tmp_path, system=tmp_path)
    with pytest.raises(InputError, match=r"pkgs/main\) is forbidden by denylist_channels") as caught:
        urls(config, "defaults")
    assert [origin.where for origin in caught.value.origins] == ["~/.condarc:1"]
    (tmp_path / ".condarc").write_text("allowlist_channels: [conda-forge]\n")
    config = load_config({}, tmp_path, system=tmp_path)
    assert urls(config, "https://conda.anaconda.org/conda-forge") == ["https://conda.anaconda.org/conda-forge"]
    with pytest.raises(InputError, match="is not among allowlist_channels") as caught:
        urls(config, "nvidia")
    assert "https://conda.anaconda.org/conda-forge" in caught.value.hint


@pytest.mark.parametrize("place", ["home", "XDG_CONFIG_HOME", "BINSTAR_CONFIG_DIR"])
def test_tokens_of_anaconda_login_are_added(place: str, tmp_path: Path) -> None:
    """As conda adds them to channels of the server that gave them, and nowhere else."""
    folders = {"home": ".config/binstar", "XDG_CONFIG_HOME": "binstar", "BINSTAR_CONFIG_DIR": "data"}
    folder = tmp_path / folders[place]
    folder.mkdir(parents=True)
    (folder / "https%3A%2F%2Fapi.anaconda.org.token").write_text("tk-s3cr3t\n")
    (folder / "https%3A%2F%2Fother.example%2Fapi.token").write_text("two\nlines")
    environ = {} if place == "home" else {place: str(tmp_path)}
    config = load_config(environ, tmp_path, system=tmp_path)
    assert urls(config, "me/label/dev") == ["https://conda.anaconda.org/t/tk-s3cr3t/me/label/dev"]
    assert urls(config, "https://conda.anaconda.org/me") == ["https://conda.anaconda.org/t/tk-s3cr3t/me"]
    assert urls(config, "https://conda.anaconda.org/t/tk-mine/me") == ["https://conda.anaconda.org/t/tk-mine/me"]
    assert urls(config, "defaults", "https://conda.anaconda.org.evil.example/me") == [
        "https://repo.anaconda.com/pkgs/main",
        "https://repo.anaconda.com/pkgs/r",
        "https://conda.anaconda.org.evil.example/me",
    ]
    assert "s3cr3t" not in describe(resolve_channels(("me",), config)[0], config)
    off = load_config({**environ, "CONDA_ADD_ANACONDA_TOKEN": "false"}, tmp_path, system=tmp_path)
    assert urls(off, "me") == ["https://conda.anaconda.org/me"]
