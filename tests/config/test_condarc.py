"""Reading the configuration as conda does: search path, merging, types, and errors with file and line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conda_llmenv.config import CondaConfig, load_config
from conda_llmenv.errors import FileFormatError, PrefixError
from conda_llmenv.redact import has_secret

REPOSITORY = Path(__file__).parents[2]


class Machine:
    """A home, a system, a conda installation and an active environment, all empty, in a folder of their own."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.system = base / "system"
        self.root = base / "conda"
        self.active = base / "active"
        self.environ: dict[str, str] = {}
        for folder in (self.home, self.system / "etc/conda", self.root / "conda-meta", self.active):
            folder.mkdir(parents=True)
        (self.root / "conda-meta" / "history").touch()

    def write(self, path: Path, text: str) -> Path:
        """Write a configuration file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def rc(self, text: str) -> Path:
        """Write the file in the home folder."""
        return self.write(self.home / ".condarc", text)

    def load(self) -> CondaConfig:
        """Load the configuration."""
        return load_config(self.environ, self.home, system=self.system)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine without any configuration."""
    return Machine(tmp_path)


def names(config: CondaConfig) -> list[str]:
    """Return the configured channels."""
    return [channel.value for channel in config.channels]


def test_without_any_file_conda_defaults_hold(machine: Machine) -> None:
    """No file, no variable, no conda."""
    config = machine.load()
    assert config.channels == ()
    assert config.channel_alias.value == "https://conda.anaconda.org"
    assert [channel.value for channel in config.default_channels] == [
        "https://repo.anaconda.com/pkgs/main",
        "https://repo.anaconda.com/pkgs/r",
    ]
    assert config.envs_dirs == (machine.home / ".conda/envs",)
    assert config.pkgs_dirs == (machine.home / ".conda/pkgs",)
    assert (config.offline, config.ssl_verify, config.channel_priority) == (False, True, None)
    assert config.files == ()


def test_every_place_of_the_search_path_is_read_in_order(machine: Machine) -> None:
    """The most important file comes last and its items first (conda/base/constants.py)."""
    machine.environ = {
        "CONDA_ROOT": str(machine.root),
        "XDG_CONFIG_HOME": str(machine.home / "xdg"),
        "CONDA_PREFIX": str(machine.active),
        "CONDARC": str(machine.home / "mine.yml"),
    }
    files = [
        machine.system / "etc/conda/.condarc",
        machine.system / "etc/conda/condarc",
        machine.system / "etc/conda/condarc.d/a.yml",
        machine.system / "etc/conda/condarc.d/b.yaml",
        machine.system / "var/lib/conda/.condarc",
        machine.system / "var/lib/conda/condarc.d/x.yml",
        machine.root / ".condarc",
        machine.root / "condarc",
        machine.root / "condarc.d/x.yml",
        machine.home / "xdg/conda/.condarc",
        machine.home / ".config/conda/condarc",
        machine.home / ".config/conda/condarc.d/x.yml",
        machine.home / ".conda/.condarc",
        machine.home / ".conda/condarc",
        machine.home / ".condarc",
        machine.active / ".condarc",
        machine.active / "condarc.d/x.yml",
        machine.home / "mine.yml",
    ]
    for number, path in enumerate(files):
        machine.write(path, f"channels: [c{number}]\nchannel_alias: https://h{number}.example\n")
    config = machine.load()
    assert list(config.files) == files
    assert names(config) == [f"c{number}" for number in reversed(range(len(files)))]
    assert config.channel_alias.value == f"https://h{len(files) - 1}.example"
    assert config.channel_alias.origin.where == "~/mine.yml:2"


@pytest.mark.parametrize("name", ["notes.txt", ".condarc.bak", "condarc.d/README", "condarc.d/a.yml.off", "MAMBARC"])
def test_files_with_other_names_are_not_read(name: str, machine: Machine) -> None:
    """Conda takes .condarc, condarc, and *.yml or *.yaml only; mamba's own files are mamba's."""
    path = machine.write(machine.home / ".conda" / name, "channels: [wrong]\n")
    machine.environ = {"CONDARC": str(path), "MAMBARC": str(path)}
    assert machine.load().files == ()


def test_the_environment_wins(machine: Machine) -> None:
    """``CONDA_*``: lists by comma, folders by colon, both of conda's names for folders (conda's EnvRawParameter)."""
    machine.rc("channels: [file]\noffline: false\nenvs_dirs: [/file/envs]\n")
    machine.environ = {
        "CONDA_CHANNELS": "one, two",
        "CONDA_OFFLINE": "yes",
        "CONDA_ENVS_PATH": "/a:/b",
        "CONDA_PKGS_DIRS": "/p,/q",
        "CONDA_CHANNEL_PRIORITY": "strict",
        "CONDA_OVERRIDE_CUDA": "12.4",
        "CONDA_EXE": "/not/there/bin/conda",
    }
    config = machine.load()
    assert names(config) == ["one", "two", "file"]
    assert config.offline is True
    assert config.envs_dirs == (Path("/a"), Path("/b"), Path("/file/envs"), machine.home / ".conda/envs")
    assert config.pkgs_dirs == (Path("/p"), Path("/q"))
    assert config.channel_priority == "strict"
    assert config.sources["offline"].where == "CONDA_OFFLINE"
    machine.environ = {"CONDA_ENVS_DIRS": "/c"}
    assert machine.load().envs_dirs[0] == Path("/c")


def test_a_conda_installation_is_found_by_its_program(machine: Machine) -> None:
    """Its folders of environments and packages count, before the person's own where they can be written."""
    machine.environ = {"CONDA_EXE": str(machine.root / "bin/conda")}
    config = machine.load()
    assert config.root_prefix == machine.root
    assert config.envs_dirs == (machine.root / "envs", machine.home / ".conda/envs")
    assert config.pkgs_dirs == (machine.root / "pkgs", machine.home / ".conda/pkgs")


FINAL = """\
channels: #!final
  - admin
channel_alias: https://admin.example #!final
custom_channels:
  locked: https://admin.example #!final
  free: https://admin.example
"""


def test_an_administrator_has_the_last_word(machine: Machine) -> None:
    """``#!final`` behind a key or a value (conda's ParameterFlag)."""
    machine.write(machine.system / "etc/conda/condarc", FINAL)
    machine.rc(
        "channels: [mine]\nchannel_alias: https://mine.example\n"
        "custom_channels: {locked: https://mine.example, free: https://mine.example}\n"
    )
    machine.environ = {"CONDA_CHANNEL_ALIAS": "https://env.example"}
    config = machine.load()
    assert names(config) == ["admin"]
    assert config.channel_alias.value == "https://admin.example"
    assert {name: base.value for name, base in config.custom_channels.items()} == {
        "locked": "https://admin.example",
        "free": "https://mine.example",
    }


def test_top_and_bottom_move_items(machine: Machine) -> None:
    """``#!top`` and ``#!bottom`` hold over the order of the files; duplicates go."""
    machine.write(
        machine.system / "etc/conda/condarc", "channels:\n  - a\n  - first #!top\n  - last #!bottom\n  - shared\n"
    )
    machine.rc("channels:\n  - b\n  - shared\n  - almost #!bottom\n")
    assert names(machine.load()) == ["first", "b", "shared", "a", "almost", "last"]


def test_maps_and_lists_in_maps_are_merged(machine: Machine) -> None:
    """Key by key; the more important file comes first in a list."""
    machine.write(machine.system / "etc/conda/condarc", "custom_multichannels: {lab: [a, b], other: [x]}\n")
    machine.rc("custom_multichannels: {lab: [c, a]}\n")
    found = machine.load().custom_multichannels
    assert {name: [item.value for item in items] for name, items in found.items()} == {
        "lab": ["c", "a", "b"],
        "other": ["x"],
    }


def test_variables_and_home_are_expanded(machine: Machine) -> None:
    """In addresses and paths, as conda does; unknown ones stay."""
    machine.environ = {"TOKEN": "tk-1", "SCRATCH": "/scratch/me"}
    machine.rc("channel_alias: https://h.example/t/${TOKEN}\nenvs_dirs: ['~/e', $SCRATCH/envs, $NOTHING/envs]\n")
    config = machine.load()
    assert config.channel_alias.value == "https://h.example/t/tk-1"
    assert config.envs_dirs[:3] == (machine.home / "e", Path("/scratch/me/envs"), Path.cwd() / "$NOTHING/envs")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ssl_verify: true", True),
        ("ssl_verify: False", False),
        ("verify_ssl: no", False),
        ("ssl_verify: truststore", "truststore"),
        ("ssl_verify: /etc/passwd", "/etc/passwd"),
        ("ssl_verify:", True),
    ],
)
def test_ssl_verify_has_three_kinds_of_value(text: str, value: object, machine: Machine) -> None:
    """A switch, the system's certificates, or a bundle."""
    machine.rc(f"{text}\n")
    assert machine.load().ssl_verify == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("strict", "strict"),
        ("Flexible", "flexible"),
        ("disabled", "disabled"),
        ("true", "flexible"),
        ("false", "disabled"),
    ],
)
def test_channel_priority_in_old_and_new_spellings(text: str, value: str, machine: Machine) -> None:
    """Conda still takes true and false."""
    machine.rc(f"channel_priority: {text}\n")
    assert machine.load().channel_priority == value


def test_the_rest_is_typed(machine: Machine) -> None:
    """Numbers, mappings of texts, certificates, virtual packages."""
    machine.rc(
        "proxy_servers: {http: 'http://u:p@proxy:1', https: null}\n"
        "remote_read_timeout_secs: 120\nremote_max_retries: 7\n"
        "client_ssl_cert: ~/c.pem\nvirtual_packages: {cuda: 12.4}\nunknown_key: [1, {a: b}]\nregister_envs: off\n"
    )
    config = machine.load()
    assert config.proxy_servers == {"http": "http://u:p@proxy:1"}
    assert (config.remote_read_timeout_secs, config.remote_max_retries) == (120.0, 7)
    assert config.client_ssl_cert == str(machine.home / "c.pem")
    assert config.override_virtual_packages == {"cuda": "12.4"}
    assert config.register_envs is False


BROKEN = {
    "tab": ("channels:\n\t- a\n", "2:"),
    "bracket": ("channels: [a\nb: c\n", "2:"),
    "list": ("- a\n- b\n", "1"),
    "text": ("just words\n", "1"),
    "duplicate": ("channels: [a]\nchannels: [b]\n", "2:"),
    "tag": ("channels: !!python/object/apply:os.system [id]\n", "1:"),
    "channels as text": ("# mine\nchannels: conda-forge\n", "2"),
    "map as list": ("custom_channels: [a]\n", "1"),
    "list as value": ("channel_alias: [a]\n", "1"),
    "alias without scheme": ("channel_alias: mirror.example\n", "1"),
    "priority": ("channel_priority: high\n", "1"),
    "switch": ("offline: maybe\n", "1"),
    "number": ("remote_read_timeout_secs: soon\n", "1"),
    "infinite": ("remote_read_timeout_secs: .inf\n", "1"),
    "bundle": ("ssl_verify: /not/there.pem\n", "1"),
    "multichannel as text": ("custom_multichannels: {lab: a}\n", "1"),
    "deep": ("a: " + "[" * 500 + "\n", "1:"),
    "aliases": ("a: &a [x,x,x,x,x,x,x,x]\n" + "".join(f"{new}: &{new} [{','.join([f'*{old}'] * 8)}]\n"
                for old, new in ("ab", "bc", "cd", "de", "ef")), ""),
    "binary": ("channels: [a\x00]\n", "1:"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_an_error_with_its_line(text: str, line: str, machine: Machine) -> None:
    """Not a warning that scrolls by: the channels would be others than the person thinks (row 36)."""
    machine.rc(text)
    begun = time.monotonic()
    with pytest.raises(FileFormatError) as caught:
        machine.load()
    assert caught.value.message.startswith(f"~/.condarc:{line}")
    assert caught.value.exit_code == 2
    assert time.monotonic() - begun < 1


def test_a_huge_file_is_refused(machine: Machine) -> None:
    """Whatever it is, it is no configuration."""
    machine.rc("# x\n" * 1_000_000)
    with pytest.raises(FileFormatError, match="larger than 1024 KiB"):
        machine.load()


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# nothing\n", "---\n# nothing\n", "\ufeffchannels: [a]\r\n", "channels:\n", "channels: ~\n"]
)
def test_empty_files_are_fine(text: str, machine: Machine) -> None:
    """So are byte order marks, Windows line ends and empty values."""
    machine.rc(text)
    assert names(machine.load()) in ([], ["a"])


def test_a_map_from_the_environment_is_refused(machine: Machine) -> None:
    """A variable cannot hold one; the message says where it can be."""
    machine.environ = {"CONDA_CUSTOM_CHANNELS": "a=b"}
    with pytest.raises(FileFormatError, match="CONDA_CUSTOM_CHANNELS: custom_channels: takes a mapping") as caught:
        machine.load()
    assert ".condarc" in caught.value.hint


def test_secrets_do_not_reach_messages(machine: Machine) -> None:
    """A wrong value may be an address (case 36)."""
    machine.rc("offline: https://u:s3cr3t-canary@h.example/t/tk-s3cr3t/x\n")
    with pytest.raises(FileFormatError) as caught:
        machine.load()
    assert not has_secret(caught.value.message)
    assert "s3cr3t" not in caught.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_notice(machine: Machine) -> None:
    """Administrators keep tokens in such files; ours goes on without."""
    machine.rc("channels: [a]\n").chmod(0)
    config = machine.load()
    assert config.channels == ()
    assert [notice.code for notice in config.notices] == ["condarc-unreadable"]


def test_the_first_writable_package_cache_is_used(machine: Machine, tmp_path: Path) -> None:
    """One that can be made counts; with none, it says what to do."""
    (tmp_path / "file").touch()
    machine.rc(f"pkgs_dirs: [{tmp_path}/file, {tmp_path}/file/below, {tmp_path}/new/pkgs]\n")
    assert machine.load().package_cache() == tmp_path / "new/pkgs"
    machine.rc(f"pkgs_dirs: [{tmp_path}/file]\n")
    with pytest.raises(PrefixError, match="no package cache can be written"):
        machine.load().package_cache()


def test_loading_is_quick_and_light(machine: Machine) -> None:
    """Some milliseconds, and no solver is loaded: it happens on every start."""
    machine.rc("channels: [conda-forge]\n")
    code = (
        "import sys, time; from pathlib import Path; from conda_llmenv.config import load_config; "
        "begun = time.perf_counter(); load_config({}, Path(sys.argv[1])); took = time.perf_counter() - begun; "
        "assert took < 0.1, took; assert 'rattler' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(machine.home)], check=True, env={"PYTHONPATH": str(REPOSITORY)})
