"""pip's configuration is read as pip reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from conda_llmenv.errors import FileFormatError, InputError
from conda_llmenv.pypi.config import config_paths, parse_config, read_config


def value(config_text: str, key: str, **environ: str) -> str | None:
    """Return the value that wins for a key, given one file and an environment."""
    setting = parse_config([("pip.conf", config_text)], environ).get(key)
    return setting.value if setting else None


def test_install_section_beats_global_and_the_environment_beats_both() -> None:
    """The three places rank as in pip, and other commands' sections count for nothing."""
    text = "[install]\ntimeout = 2\n[global]\ntimeout = 1\nindex-url = https://g/\n[download]\nindex-url = https://d/\n"
    assert value(text, "timeout") == "2"
    assert value(text, "timeout", PIP_DEFAULT_TIMEOUT="3") == "3"
    assert value(text, "index-url") == "https://g/"


def test_global_of_a_later_file_does_not_beat_install_of_an_earlier_one() -> None:
    """A section's rank comes before a file's: pip pools all files per section first."""
    files = [("/etc/pip.conf", "[install]\ntimeout = 2\n"), ("~/.pip/pip.conf", "[global]\ntimeout = 9\n")]
    setting = parse_config(files, {}).get("timeout")
    assert setting is not None
    assert (setting.value, str(setting.origin)) == ("2", "/etc/pip.conf:2")


def test_empty_value_takes_a_setting_back() -> None:
    """An empty value in a later file clears an earlier one; an empty variable is as good as none."""
    files = [("a", "[global]\nindex-url = https://one/\n"), ("b", "[global]\nindex-url =\n")]
    assert parse_config(files, {}).get("index-url") is None
    assert value("[global]\nindex-url = https://one/\n", "index-url", PIP_INDEX_URL="") == "https://one/"


def test_several_lines_and_words_are_several_values_with_their_line() -> None:
    """``extra-index-url`` over several lines gives each address once, and says where it stands."""
    text = (
        "# mirror\n[global]\nextra_index_url =\n    https://one/simple\n    https://two/simple https://three/simple\n"
    )
    setting = parse_config([("pip.conf", text)], {}).get("extra-index-url")
    assert setting is not None
    assert setting.words() == ("https://one/simple", "https://two/simple", "https://three/simple")
    assert str(setting.origin) == "pip.conf:3"


def test_percent_sign_in_a_password_is_kept() -> None:
    """Pip does not interpolate: ``%40`` in a URL stays."""
    assert value("[global]\nindex-url = https://u:p%40q@h/simple\n", "index-url") == "https://u:p%40q@h/simple"


def test_file_that_is_no_configuration_is_named_with_its_line() -> None:
    """One sentence with file and line instead of a traceback."""
    with pytest.raises(FileFormatError) as caught:
        parse_config([("/etc/pip.conf", "index-url = x\n")], {})
    assert caught.value.message.startswith("/etc/pip.conf:1:")
    assert caught.value.exit_code == 2


def test_flag_with_another_word_is_refused() -> None:
    """``no-index = maybe`` is an input mistake, as it is for pip."""
    with pytest.raises(InputError, match="'maybe' is no value for pip's no-index"):
        parse_config([], {"PIP_NO_INDEX": "maybe"}).flag("no-index")


def test_places_of_files_follow_the_environment(tmp_path: Path) -> None:
    """XDG folders, the legacy file, the prefix's own file and PIP_CONFIG_FILE, weakest first."""
    own = tmp_path / "own.conf"
    environ = {"XDG_CONFIG_DIRS": f"/x{os.pathsep}/y", "XDG_CONFIG_HOME": "/z"}
    home, prefix = Path("/home/me"), Path("/envs/e")
    names = [str(path) for path in config_paths(environ, home, prefix)]
    assert names == [
        "/x/pip/pip.conf",
        "/y/pip/pip.conf",
        "/etc/pip.conf",
        "/home/me/.pip/pip.conf",
        "/z/pip/pip.conf",
        "/envs/e/pip.conf",
    ]
    own.write_text("")
    only = config_paths({**environ, "PIP_CONFIG_FILE": str(own)}, home, None)
    assert [path.name for path in only] == ["pip.conf", "pip.conf", "pip.conf", "own.conf"]
    assert config_paths({"PIP_CONFIG_FILE": os.devnull}, home, prefix) == ()


def test_unreadable_bytes_are_one_clear_error(tmp_path: Path) -> None:
    """A pip.conf in another encoding is named."""
    path = tmp_path / "pip.conf"
    path.write_bytes(b"[global]\nindex-url = https://h/\xff\n")
    with pytest.raises(FileFormatError, match="pip's configuration cannot be read"):
        read_config({"PIP_CONFIG_FILE": str(path)}, tmp_path)


@pytest.mark.skipif(find_spec("pip") is None, reason="the Python that runs the tests has no pip")
def test_real_pip_agrees(tmp_path: Path) -> None:
    """Over a layered configuration, the values that win are those that pip's own option parser arrives at."""
    home, shared, own = tmp_path / "home", tmp_path / "xdg" / "pip", tmp_path / "home" / ".config" / "pip"
    for folder, text in {
        shared: "[global]\nindex-url = https://shared/simple\ntimeout = 5\nno-index = no\n[install]\nno-binary = a,b\n",
        home / ".pip": "[global]\nextra-index-url = https://a/ https://b/\ntrusted-host = h1\n",
        own: "[global]\nextra-index-url =\n  https://c/\n[install]\nprefer-binary = true\nonly-binary = b\n",
    }.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pip.conf").write_text(text)
    environ = {
        "HOME": str(home),
        "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
        "PIP_DEFAULT_TIMEOUT": "7",
        "PIP_FIND_LINKS": "/w /v",
    }
    environ |= {"PIP_CERT": "", "PIP_NO_BUILD_ISOLATION": "0"}
    # site-wide files of this machine would weigh in on both sides alike, except for ours that pip cannot see
    code = (
        "import json; from pip._internal.commands import create_command as c\n"
        "o = vars(c('install').parser.parse_args([])[0])\n"
        "keys = 'index_url extra_index_urls timeout find_links trusted_hosts build_isolation no_index'.split()\n"
        "print(json.dumps([o[key] for key in keys]))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    index_url, extra, timeout, links, hosts, isolation, no_index = json.loads(done.stdout)
    config = read_config(environ, home)

    def words(key: str) -> list[str]:
        setting = config.get(key)
        return list(setting.words()) if setting else []

    assert words("index-url") == [index_url] == ["https://shared/simple"]
    assert words("extra-index-url") == extra == ["https://c/"]
    assert words("timeout") == [str(round(timeout))] == ["7"]
    assert words("find-links") == links == ["/w", "/v"]
    assert words("trusted-host") == hosts == ["h1"]
    assert config.flag("no-build-isolation", default=True) is bool(isolation) is False
    assert config.flag("no-index") is bool(no_index) is False
