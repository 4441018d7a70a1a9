"""Where distributions come from, and how uv is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.locks.pip_toml import loads
from conda_llmenv.model import Origin, PipOption
from conda_llmenv.pypi.config import parse_config
from conda_llmenv.pypi.sources import Sources, gather
from conda_llmenv.pypi.uvconfig import credentials_folder, environment, render
from tests.index.fixtures import CANARY


def configured(*options: tuple[str, ...], **settings: str) -> Sources:
    """Return the sources of ``PIP_*`` settings and section options."""
    variables = {f"PIP_{key.upper()}": value for key, value in settings.items()}
    given = [PipOption(tokens, Origin("envs/env.yml", 3)) for tokens in options]
    return gather(parse_config([], variables), given, {"TOKEN": "t0k"}, Path("/base"))


def test_public_index_is_always_last() -> None:
    """Main or extra, the public index comes after those added on purpose."""
    public = "https://pypi.org/simple"
    assert configured(extra_index_url="https://corp/simple").indexes() == ("https://corp/simple", public)
    both = configured(index_url="https://corp/simple", extra_index_url=f"{public} https://torch/whl")
    assert both.indexes() == ("https://torch/whl", "https://corp/simple", public)


def test_index_url_of_a_section_replaces_everything_before_it() -> None:
    """As in pip's requirements files: the order of the options counts."""
    options = [
        ("--extra-index-url", "https://lost/"),
        ("--index-url", "https://kept/"),
        ("--extra-index-url", "https://m/"),
    ]
    sources = configured(*options, extra_index_url="https://configured/")
    assert sources.indexes() == ("https://m/", "https://kept/")
    assert sources.pinned


def test_no_index_leaves_no_index() -> None:
    """``--no-index`` silences configured indexes."""
    assert configured(("--no-index",), index_url="https://corp/").indexes() == ()


def test_formats_follow_pips_rules_for_all_and_none() -> None:
    """``:all:`` clears both lists, a name moves from one list to the other, ``:none:`` empties its own."""
    sources = configured(("--no-binary", "b_x"), ("--only-binary", ":none:"), no_binary=":all:,a", only_binary="a,b-x")
    assert (sources.formats.no_binary, sources.formats.only_binary) == ([":all:", "b-x"], [])


def test_references_are_filled_in_and_relative_paths_anchored() -> None:
    """``${TOKEN}`` comes from the environment; a section's folder lies beside it, one of pip.conf here."""
    sources = configured(
        ("--extra-index-url", "https://${TOKEN}@h/"), ("--find-links", "wheels"), find_links="mine https://h/p"
    )
    assert sources.extra_index_urls == ["https://t0k@h/"]
    assert sources.find_links == ["/base/mine", "https://h/p", "/base/envs/wheels"]


def test_setting_without_counterpart_is_reported_with_its_origin() -> None:
    """What cannot be taken over is said, without its secret; what is only pip's own habit is not worth a word."""
    sources = configured(
        ("--use-feature", "x"), global_option=f"--token=x https://u:{CANARY}@h", no_input="1", cache_dir="/c"
    )
    assert [notice.code for notice in sources.notices] == ["pip-setting-not-applied", "pip-option-not-applied"]
    assert sources.notices[0].message.startswith("PIP_GLOBAL_OPTION: pip's setting global-option = ")
    assert CANARY not in sources.notices[0].message
    assert sources.notices[1].message == "envs/env.yml:3: pip option --use-feature x is not applied"


def test_timeout_that_is_no_number_is_an_input_mistake() -> None:
    """One sentence with where it stands."""
    with pytest.raises(InputError, match="PIP_TIMEOUT: 'soon' is no number of seconds"):
        configured(timeout="soon")


def test_settings_file_says_everything_in_uvs_words() -> None:
    """Indexes, links, hosts and formats arrive; quotes and backslashes in a value cannot break out of it."""
    sources = configured(
        ("--pre",),
        index_url='https://h/"x\\',
        find_links="/w",
        trusted_host="h:8080",
        only_binary=":all:",
        keyring_provider="import",
    )
    settings = loads(render(sources))
    assert settings == {
        "allow-insecure-host": ["h:8080"],
        "pip": {
            "index-strategy": "unsafe-first-match",
            "index-url": 'https://h/"x\\',
            "find-links": ["/w"],
            "only-binary": [":all:"],
            "prerelease": "allow",
            "keyring-provider": "subprocess",
        },
    }


def test_environment_carries_certificates_proxies_and_limits_and_nothing_unwanted(tmp_path: Path) -> None:
    """Pip's cert, proxy and timeout become uv's variables; PYTHONPATH, an active environment and index variables go."""
    authorities, own = tmp_path / "ca.pem", tmp_path / "me.pem"
    authorities.touch()
    own.touch()
    sources = configured(cert=str(authorities), client_cert=str(own), proxy="proxy:3128", timeout="180", retries="9")
    given = {
        "PYTHONPATH": "/p",
        "VIRTUAL_ENV": "/v",
        "CONDA_PREFIX": "/c",
        "UV_INDEX": "x",
        "UV_CACHE_DIR": "/cache",
        "PATH": "/bin",
    }
    assert environment(sources, given) == {
        "PATH": "/bin",
        "UV_CACHE_DIR": "/cache",
        "PYTHONNOUSERSITE": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "NO_COLOR": "1",
        "SSL_CERT_FILE": str(authorities),
        "SSL_CLIENT_CERT": str(own),
        "HTTP_PROXY": "http://proxy:3128",
        "HTTPS_PROXY": "http://proxy:3128",
        "http_proxy": "http://proxy:3128",
        "https_proxy": "http://proxy:3128",
        "UV_HTTP_TIMEOUT": "180",
        "UV_HTTP_RETRIES": "9",
    }


def test_certificates_of_the_system_are_trusted_unless_others_are_named() -> None:
    """Pip trusts the operating system's certificates by default, so uv is told to."""
    assert environment(configured(), {})["UV_SYSTEM_CERTS"] == "1"
    assert "UV_SYSTEM_CERTS" not in environment(configured(), {"SSL_CERT_FILE": "/ca.pem"})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("constraint = /nope", "pip's constraint is not there: no file /nope"),
        ("cert = /nope", "pip's cert is not there: no file /nope"),
        ("client-cert = /nope", "pip's client-cert is not there: no file /nope"),
        ("timeout = abc", "'abc' is no number of seconds for pip's timeout"),
        ("retries = abc", "'abc' is no number for pip's retries"),
        ("index-url = ::::", "'::::' is not the URL of a package index"),
        ("index-url = http://[::1", "'http://[::1' is not a URL"),
        ("extra-index-url = https://h:port/simple", "is not a URL"),
        ("find-links = http://[::1", "is not a URL"),
    ],
)
def test_a_wrong_value_is_told_with_the_line_of_its_file(line: str, told: str) -> None:
    """Before a tool fails for a reason that does not name the setting."""
    with pytest.raises(InputError) as caught:
        gather(parse_config([("/etc/pip.conf", f"[global]\n{line}\n")], {}), [], {}, Path("/base"))
    assert caught.value.message.startswith("/etc/pip.conf:2: ")
    assert told in caught.value.message


def test_a_reference_that_makes_no_url_is_told_with_its_line() -> None:
    """What a variable holds is known here only."""
    option = PipOption(("--extra-index-url", "${TOKEN}"), Origin("envs/env.yml", 3))
    with pytest.raises(InputError, match=r"^envs/env\.yml:3: 'http://\[::1' is not a URL"):
        gather(parse_config([], {}), [option], {"TOKEN": "http://[::1"}, Path("/base"))


def test_a_local_index_may_be_a_folder(tmp_path: Path) -> None:
    """As pip takes it."""
    assert configured(index_url=str(tmp_path)).index_url == tmp_path.as_uri()


def test_uvs_credentials_are_the_users_or_go_away(tmp_path: Path) -> None:
    """Without a login of uv's own, nothing is made in the home; with one, it is used."""
    assert credentials_folder({"HOME": str(tmp_path)}, Path("/scratch")) == "/scratch/credentials"
    own = tmp_path / ".local/share/uv/credentials"
    own.mkdir(parents=True)
    (own / "credentials.toml").touch()
    assert credentials_folder({"HOME": str(tmp_path)}, Path("/scratch")) == str(own)
