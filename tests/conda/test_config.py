"""Inside conda the configuration is conda's; outside we read the same files and find the same."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conda.conftest import CONDA_PYTHON, Conda, has_module
from tests.e2e.mirrored import ALIAS, STYLES, Trap, configure, lay_out, set_trap
from tests.http_channel import ChannelServer, serve
from tests.program import ROOT

HOME = "home/.condarc"

TUNA = """\
channels:
  - defaults
show_channel_urls: true
default_channels:
  - https://mirror.example/anaconda/pkgs/main
  - https://mirror.example/anaconda/pkgs/r
  - https://mirror.example/anaconda/pkgs/msys2
custom_channels:
  conda-forge: https://mirror.example/anaconda/cloud
  pytorch: https://mirror.example/anaconda/cloud
"""

SITUATIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "empty file": {"files": {HOME: ""}},
    "only comments": {"files": {HOME: "# mine\n---\n"}},
    "channels": {"files": {HOME: "channels: [conda-forge, nvidia]\n"}},
    "channels with an address": {"files": {HOME: "channels: [https://u:p@h.example/a, conda-forge]\n"}},
    "null": {"files": {HOME: "channels:\nproxy_servers:\n"}},
    "university mirror": {"files": {HOME: TUNA}},
    "mirror by alias": {"files": {HOME: "channel_alias: https://mirror.example/anaconda/cloud\n"}},
    "alias with slash": {"files": {HOME: "channel_alias: https://mirror.example/anaconda/cloud/\n"}},
    "alias with token": {"files": {HOME: "channel_alias: https://h.example/conda/t/tk-0123-abc\n"}},
    "alias with login": {"files": {HOME: "channel_alias: https://user:word@h.example/conda\n"}},
    "artifactory": {
        "files": {
            HOME: "channel_alias: https://u:tok@art.example/artifactory/api/conda\n"
            "default_channels: [https://u:tok@art.example/artifactory/api/conda/main]\n"
        }
    },
    "custom channels": {
        "files": {HOME: "custom_channels:\n  private: https://h.example/t/tk-1/x\n  private/deep: https://d.example\n"}
    },
    "custom channel with login": {"files": {HOME: "custom_channels: {private: 'https://a:b@h.example:8443/x/'}\n"}},
    "custom channel named oddly": {"files": {HOME: "custom_channels: {/private/: 'https://h.example'}\n"}},
    "multichannels": {
        "files": {HOME: "custom_multichannels: {lab: [conda-forge, private/deep, https://e.example/y/]}\n"}
    },
    "multichannel for defaults": {"files": {HOME: "custom_multichannels: {defaults: [conda-forge, bioconda]}\n"}},
    "multichannel with token": {
        "files": {HOME: "custom_multichannels: {lab: ['https://h.example/t/tk-1/main', nvidia]}\n"}
    },
    "multichannels of two files": {
        "files": {
            "root/.condarc": "custom_multichannels: {lab: [a, b], other: [x]}\n",
            HOME: "custom_multichannels: {lab: [c, a]}\n",
        }
    },
    "moved aliases": {
        "files": {
            HOME: "channel_alias: https://mirror.example/c\n"
            "migrated_channel_aliases: [https://conda.anaconda.org, https://old.example/conda]\n"
        }
    },
    "moved channels": {
        "files": {
            HOME: "custom_channels: {thing: https://new.example}\nmigrated_custom_channels: {thing: https://old.example/conda}\n"
        }
    },
    "strict": {"files": {HOME: "channel_priority: strict\n"}},
    "priority of old": {"files": {HOME: "channel_priority: false\n"}},
    "priority of old, true": {"files": {HOME: "channel_priority: true\n"}},
    "envs_dirs": {"files": {HOME: "envs_dirs: [/scratch/envs, ~/e, $SCRATCH/envs]\n"}, "environ": {"SCRATCH": "/s"}},
    "envs_path": {"files": {HOME: "envs_path: [/scratch/envs]\n"}},
    "pkgs_dirs": {"files": {HOME: "pkgs_dirs: [/scratch/pkgs, ~/p]\n", "root/.condarc": "pkgs_dirs: [/opt/p]\n"}},
    "proxies": {
        "files": {HOME: "proxy_servers: {http: 'http://u:p@proxy:1', https: 'http://proxy:2', 'https://h': null}\n"}
    },
    "proxies from the environment": {
        "files": {HOME: "proxy_servers: {https: 'http://$WHO:$WORD@proxy:2'}\n"},
        "environ": {"WHO": "me", "WORD": "x"},
    },
    "ssl off": {"files": {HOME: "ssl_verify: false\n"}},
    "ssl no": {"files": {HOME: "verify_ssl: 'no'\n"}},
    "truststore": {"files": {HOME: "ssl_verify: truststore\n"}},
    "bundle": {"files": {HOME: "ssl_verify: $BUNDLE\n"}, "environ": {"BUNDLE": "/etc/passwd"}},
    "bundle by requests": {"environ": {"REQUESTS_CA_BUNDLE": "/etc/passwd"}},
    "client certificate": {"files": {HOME: "client_ssl_cert: /a/c.pem\nclient_ssl_cert_key: /a/c.key\n"}},
    "offline": {"files": {HOME: "offline: true\n"}},
    "offline by variable": {"environ": {"CONDA_OFFLINE": "yes"}},
    "timeouts": {"files": {HOME: "remote_read_timeout_secs: 120\nremote_max_retries: 7\n"}},
    "timeouts by variable": {"environ": {"CONDA_REMOTE_CONNECT_TIMEOUT_SECS": "3.5"}},
    "virtual packages": {"files": {HOME: "virtual_packages: {cuda: '12.4', __glibc: '2.17', archspec: null}\n"}},
    "allowlist": {"files": {HOME: "allowlist_channels: [conda-forge, https://repo.anaconda.com/pkgs/main]\n"}},
    "whitelist of old": {"files": {HOME: "whitelist_channels: [defaults]\n"}},
    "denylist": {"files": {HOME: "denylist_channels: [defaults]\nchannels: [conda-forge]\n"}},
    "denied and configured": {"files": {HOME: "denylist_channels: [defaults]\nchannels: [defaults]\n"}},
    "variables over files": {
        "files": {HOME: "channels: [file]\nchannel_alias: https://file.example\n"},
        "environ": {"CONDA_CHANNELS": "one, two", "CONDA_CHANNEL_ALIAS": "https://env.example"},
    },
    "folders by variable": {"environ": {"CONDA_ENVS_PATH": "/a:/b", "CONDA_PKGS_DIRS": "/p,/q"}},
    "final key": {
        "files": {
            "root/.condarc": "channels: #!final\n  - admin\nchannel_alias: https://admin.example #!final\n",
            HOME: "channels: [mine]\nchannel_alias: https://mine.example\n",
        },
        "environ": {"CONDA_CHANNEL_ALIAS": "https://env.example"},
    },
    "final entry": {
        "files": {
            "root/.condarc": "custom_channels:\n  private: https://admin.example #!final\n  lab: https://admin.example\n",
            HOME: "custom_channels: {private: 'https://mine.example', lab: 'https://mine.example'}\n",
        }
    },
    "top and bottom": {
        "files": {
            "root/condarc": "channels:\n  - a\n  - first #!top\n  - last #!bottom\n  - shared\n",
            HOME: "channels:\n  - b\n  - shared\n  - almost #!bottom\n",
        }
    },
    "important variable": {
        "files": {HOME: "offline: false\n"},
        "environ": {"CONDA_OFFLINE": "true!important"},
    },
    "every place": {
        "files": {
            "root/.condarc": "channels: [c1]\n",
            "root/condarc.d/a.yml": "channels: [c2]\n",
            "xdg/conda/condarc": "channels: [c3]\n",
            "home/.config/conda/.condarc": "channels: [c4]\n",
            "home/.conda/condarc.d/z.yaml": "channels: [c5]\n",
            HOME: "channels: [c6]\n",
            "active/.condarc": "channels: [c7]\n",
            "mine.yml": "channels: [c8]\n",
        },
        "environ": {
            "XDG_CONFIG_HOME": "BASE/xdg",
            "CONDA_PREFIX": "BASE/active",
            "CONDARC": "BASE/mine.yml",
        },
    },
    "token by variable": {
        "files": {HOME: "channel_alias: https://h.example/t/${TOKEN}\nchannels: ['https://$USER_X:$TOKEN@h.example/c']\n"},
        "environ": {"TOKEN": "tk-1", "USER_X": "me"},
    },
    "register_envs": {"files": {HOME: "register_envs: false\nadd_binstar_token: false\n"}},
    "only for conda": {
        "files": {
            HOME: "pinned_packages: [python=3.11]\nchannel_settings:\n  - {channel: private, auth: keyring}\n"
            "disallowed_packages: []\n"
        }
    },
    "our settings": {
        "files": {
            HOME: "plugins:\n  llmenv_engine: conda\n  llmenv_installer: pip\n"
            "  llmenv_envs_path: [~/site, $SITE/envs]\n  llmenv_default_tier: a100\n  llmenv_history: ~/reports\n"
        },
        "environ": {"SITE": "/site"},
    },
    "our settings by variable": {
        "files": {HOME: "plugins: {llmenv_engine: conda}\n"},
        "environ": {
            "CONDA_PLUGINS_LLMENV_ENGINE": "rattler",
            "CONDA_PLUGINS_LLMENV_ENVS_PATH": "/a,/b",
            "CONDA_PLUGINS_LLMENV_HISTORY": "$HOME/reports",
        },
    },
    "our settings, finally": {
        "files": {
            "root/.condarc": "plugins:\n  llmenv_engine: rattler #!final\n  llmenv_envs_path:\n    - /site\n",
            HOME: "plugins:\n  llmenv_engine: conda\n  llmenv_envs_path: [/mine]\n",
        }
    },
    "our settings, wrong": {"files": {HOME: "plugins: {llmenv_engine: turbo}\n"}},
    "quotes and numbers": {"files": {HOME: "channels: ['conda-forge', \"nvidia\", 42]\n"}},
}  # fmt: skip

DIFFERENT = {
    "Strict": "conda takes lower case only",
    "a null alias": "conda reads it as the text None, which is no address; we as not set",
    "not YAML": "conda warns and goes on without the file; we stop, since the channels would be others than written",
    "two names": "conda refuses a setting under both of its names in one file; we take the main one",
}
"""Situations in which the readings differ, and why."""

SITUATIONS |= {
    "Strict": {"files": {HOME: "channel_priority: Strict\n"}},
    "a null alias": {"files": {HOME: "channel_alias:\n"}},
    "not YAML": {"files": {HOME: "channels:\n\t- a\n"}},
    "two names": {"files": {HOME: "ssl_verify: false\nverify_ssl: true\n"}},
}

AGREEING = [name for name in SITUATIONS if name not in DIFFERENT]

ARGUMENTS: dict[str, dict[str, Any]] = {
    "a channel and offline": {
        "files": {HOME: "channels: [file]\n"},
        "arguments": {"channel": ["one", "two"], "offline": True},
    },
    "only these channels": {
        "files": {HOME: "channels: [file]\n"},
        "arguments": {"channel": ["one"], "override_channels": True},
    },
}
"""What only conda's own command line says."""


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What both readings say about every situation."""
    base = tmp_path_factory.mktemp("readings")
    done = subprocess.run(
        [CONDA_PYTHON, "-W", "ignore", "-m", "tests.conda.readings", str(base)],
        input=json.dumps(SITUATIONS | ARGUMENTS),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(base), "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", AGREEING)
def test_both_readings_agree(name: str, readings: Any) -> None:
    """Every setting, the line it stands on, and what channel names come to."""
    found = readings[name]
    assert found["files"] == found["conda"]


@pytest.mark.parametrize("name", DIFFERENT)
def test_differences_are_known(name: str, readings: Any) -> None:
    """Where conda and we differ it is for a reason, and still so."""
    found = readings[name]
    assert found["files"] != found["conda"], DIFFERENT[name]


@pytest.mark.parametrize("name", AGREEING)
def test_addresses_are_those_of_conda(name: str, readings: Any) -> None:
    """What conda's own ``Channel`` gives, credentials included; forbidden where conda forbids it."""
    found = readings[name]
    if "error" not in found["conda"]:
        assert found["conda"]["addresses"] == found["addresses"]


@pytest.mark.parametrize(
    ("name", "channels"), [("a channel and offline", ["one", "two", "file"]), ("only these channels", ["one"])]
)
def test_the_command_line_of_conda_counts(name: str, channels: list[str], readings: Any) -> None:
    """``conda env create -c one --offline`` reaches us through conda's context, and is named as the place."""
    config = readings[name]["conda"]["config"]
    assert [channel["value"] for channel in config["channels"]] == channels
    assert config["channels"][0]["origin"]["file"] == "command line"
    assert config["offline"] is ("offline" in ARGUMENTS[name]["arguments"])


def test_a_wrong_value_is_named_with_its_line(readings: Any) -> None:
    """Conda says "declared in <<merged>>"; the file and line come before it."""
    assert readings["Strict"]["conda"]["error"].startswith("~/.condarc:1: ")
    assert readings["our settings, wrong"]["conda"]["error"].startswith("~/.condarc:1: ")


@pytest.fixture(scope="module")
def layout(offline_channel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a mirror."""
    return lay_out(offline_channel, tmp_path_factory.mktemp("mirror"))


@pytest.fixture
def mirror(layout: Path) -> Iterator[ChannelServer]:
    """Serve the mirror."""
    with serve(layout) as server:
        yield server


@pytest.fixture
def trap() -> Iterator[Trap]:
    """What a request to another host runs into."""
    with set_trap() as caught:
        yield caught


@pytest.fixture
def mirrored(conda: Conda, trap: Trap, tmp_path: Path) -> Conda:
    """The conda of a person who has nothing but a mirror."""
    for name in ("CONDA_CHANNEL_ALIAS", "CONDA_CHANNELS"):
        conda.environ.pop(name, None)
    conda.environ |= {"CONDA_PKGS_DIRS": str(tmp_path / "pkgs"), **trap.environ}
    conda.write("bare.yml", "llmenv: {remove: [python, pip]}\n")
    conda.write(
        "team.yml", "channels: [conda-forge, pytorch, nodefaults]\ndependencies: [gate-c, 'pytorch::only-other']\n"
    )
    return conda


@pytest.mark.parametrize(
    "engine",
    [
        "rattler",
        "conda",
        pytest.param(
            "libmamba", marks=pytest.mark.skipif(not has_module("libmambapy.solver"), reason="no libmambapy 2 there")
        ),
    ],
)
@pytest.mark.parametrize("style", STYLES)
def test_a_mirror_is_enough_inside_conda(
    style: str, engine: str, mirrored: Conda, mirror: ChannelServer, trap: Trap
) -> None:
    """The same .condarc as outside, whichever engine works: nothing is asked of any other host."""
    configure(Path(mirrored.environ["HOME"]), mirror, STYLES[style])
    files = ("-f", "bare.yml", "-f", "team.yml")
    prefix = mirrored.cwd / "env"
    ended = mirrored("llmenv", "create", "--engine", engine, *files, "-p", prefix)
    assert ended.code == 0, ended.text
    assert (prefix / "conda-meta" / "only-other-1.0-0.json").is_file()
    assert mirror.asked_for("anaconda/cloud/conda-forge/*.conda")
    assert trap.connections == []


def test_the_line_of_a_mirror_is_told_inside_conda(mirrored: Conda, mirror: ChannelServer) -> None:
    """Conda does not know lines; the message about a channel that is not there has the one of its alias."""
    configure(Path(mirrored.environ["HOME"]), mirror, ALIAS)
    mirrored.write("odd.yml", "channels: [bioconda]\ndependencies: [gate-c]\n")
    ended = mirrored("llmenv", "create", "-f", "bare.yml", "-f", "odd.yml", "--dry-run")
    assert ended.code == 1
    assert "channel_alias (~/.condarc:1)" in ended.stderr


@pytest.mark.parametrize(
    "text", ["channel_settings:\n- {channel: private, auth: keyring}\n", "client_ssl_cert: /etc/passwd\n"]
)
def test_what_only_conda_can_honour_makes_conda_work(text: str, mirrored: Conda, mirror: ChannelServer) -> None:
    """An auth handler that a plugin of conda brings, a certificate: ``auto`` is conda then, and says why."""
    configure(Path(mirrored.environ["HOME"]), mirror, ALIAS + text)
    plan = ("llmenv", "create", "-f", "bare.yml", "-f", "team.yml", "--dry-run")
    ended = mirrored(*plan)
    assert ended.code == 0, ended.text
    key = text.partition(":")[0]
    assert "packages, conda, " in ended.stdout, ended.text
    ended = mirrored(*plan, "--engine", "rattler")
    assert ended.code == 0, ended.text
    assert f"{key} (~/.condarc:5) is not honoured by this engine" in ended.stderr
