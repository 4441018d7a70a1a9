"""Virtual packages, their order of precedence, and misspelled overrides."""

from __future__ import annotations

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.hardware import virtual_packages
from conda_llmenv.model import EnvSpec, Gpu, HostFacts, Notice, VirtualPackage
from tests.hardware.building import A100_CARD, LOGIN_NODE, composed, host

PLAIN = "dependencies: [python]\n"


def found(facts: HostFacts, spec: EnvSpec, **environ: str) -> tuple[dict[str, VirtualPackage], tuple[Notice, ...]]:
    """Return the virtual packages by name, and the notices."""
    packages, notices = virtual_packages(facts, spec, environ)
    return {package.name: package for package in packages}, notices


def test_login_node_takes_what_the_tier_assumes() -> None:
    """No driver, ``--tier h100``: the tier's value, with the line that says so (39: pixi#480)."""
    packages, notices = found(LOGIN_NODE, composed(PLAIN, "h100"))
    assert packages["__cuda"].version == "12.4"
    assert packages["__cuda"].reason == "assumed by envs/tiers/h100.yml:3"
    assert packages["__cuda_arch"].version == "9.0"
    assert notices == ()


def test_the_persons_own_override_wins() -> None:
    """``CONDA_OVERRIDE_CUDA=12.2`` beats tier and driver (39)."""
    for facts in (LOGIN_NODE, host("550.54.15", "12.4", A100_CARD)):
        packages, _ = found(facts, composed(PLAIN), CONDA_OVERRIDE_CUDA="12.2")
        assert packages["__cuda"] == VirtualPackage("__cuda", "12.2", reason="CONDA_OVERRIDE_CUDA")


@pytest.mark.parametrize(
    "name",
    [
        "CONDA_CUDA_OVERRIDE",
        "CUDA_OVERRIDE_CONDA",
        "CONDA_OVERIDE_CUDA",
        "CONDA_OVERRIDES_CUDA",
        "CONDA_OVERRIDE_CUDE",
        "conda_override_cuda",
        "CONDA_OVERRRIDE_CUDA",
    ],
)
def test_misspelled_override_is_noticed(name: str) -> None:
    """A name nobody reads changes nothing and is reported with the right one (39: pixi#3949)."""
    packages, notices = found(LOGIN_NODE, composed(PLAIN), **{name: "12.2"})
    assert packages["__cuda"].version == "12.4"
    assert [notice.code for notice in notices] == ["override-misspelled"]
    assert name in notices[0].message
    assert notices[0].hint == "export CONDA_OVERRIDE_CUDA=12.2"


@pytest.mark.parametrize(
    "name",
    [
        "CONDA_OVERRIDE_CHANNELS_ENABLED",
        "CONDA_PREFIX",
        "CUDA_HOME",
        "CONDA_OVERRIDE_GLIBC",
        "CUDA_VISIBLE_DEVICES",
        "OVERRIDE",
        "_",
    ],
)
def test_other_variables_are_left_alone(name: str) -> None:
    """Names that mean something else, or nothing, raise no alarm."""
    _, notices = found(LOGIN_NODE, composed(PLAIN), **{name: "2.17"})
    assert notices == ()


def test_a_misspelling_beside_the_right_name_is_quiet() -> None:
    """Who set the right one too does not need telling."""
    _, notices = found(LOGIN_NODE, composed(PLAIN), CONDA_CUDA_OVERRIDE="12.2", CONDA_OVERRIDE_CUDA="12.2")
    assert notices == ()


def test_empty_override_removes() -> None:
    """``CONDA_OVERRIDE_CUDA=`` means no CUDA, and without ``__cuda`` there is no ``__cuda_arch`` (CEP 46)."""
    packages, _ = found(host("550.54.15", "12.4", A100_CARD), composed(PLAIN), CONDA_OVERRIDE_CUDA="")
    assert "__cuda" not in packages
    assert "__cuda_arch" not in packages


def test_the_driver_here_beats_the_tier_and_the_difference_is_said() -> None:
    """A card of the tier with an older driver: solved for what is here, with the way out in the hint."""
    packages, notices = found(host("535.104.05", "12.2", A100_CARD), composed(PLAIN))
    assert packages["__cuda"].version == "12.2"
    assert packages["__cuda"].reason == "driver 535.104.05 of this machine"
    assert "lower than the 12.4" in notices[0].message
    assert notices[0].hint.startswith("set CONDA_OVERRIDE_CUDA=12.4")
    assert notices[0].origins[0].where == "envs/tiers/a100.yml:4"


def test_a_newer_driver_is_said_too() -> None:
    """Higher than assumed: the plan may not run on the older nodes of a cluster."""
    packages, notices = found(host("580.65.06", "13.0", A100_CARD), composed(PLAIN))
    assert packages["__cuda"].version == "13.0"
    assert "higher than the 12.4" in notices[0].message


def test_cpu_tier_has_no_cuda_even_beside_a_card() -> None:
    """The CPU tier means CPU builds, also on a machine with a GPU."""
    packages, notices = found(host("550.54.15", "12.4", A100_CARD), composed(PLAIN, "cpu"))
    assert "__cuda" not in packages
    assert notices[0].code == "cpu-tier-beside-card"


def test_an_override_beside_the_cpu_tier_wins_and_is_noticed() -> None:
    """The variable is the person's word, and it contradicts the tier."""
    packages, notices = found(LOGIN_NODE, composed(PLAIN, "cpu"), CONDA_OVERRIDE_CUDA="12.2")
    assert packages["__cuda"].version == "12.2"
    assert notices[0].code == "override-beside-cpu-tier"


def test_without_a_tier_the_machine_decides() -> None:
    """No tier: the driver's CUDA, or none."""
    assert "__cuda" not in found(LOGIN_NODE, composed(PLAIN, None))[0]
    packages, _ = found(host("550.54.15", "12.4", A100_CARD), composed(PLAIN, None))
    assert (packages["__cuda"].version, packages["__cuda_arch"].version) == ("12.4", "8.0")


def test_mixed_cards_give_the_lowest_capability() -> None:
    """``__cuda_arch`` is the lowest of all cards (CEP 46)."""
    facts = host(
        "535.104.05", "12.2", Gpu("NVIDIA H100 80GB HBM3", 81559, (9, 0)), Gpu("Tesla V100-SXM2-32GB", 32768, (7, 0))
    )
    assert found(facts, composed(PLAIN, None))[0]["__cuda_arch"].version == "7.0"


def test_system_packages() -> None:
    """A Linux machine offers kernel, C library and processor level."""
    packages, _ = found(LOGIN_NODE, composed(PLAIN))
    assert packages["__glibc"].version == "2.35"
    assert packages["__linux"].version == "5.15.0"
    assert packages["__unix"].version == "0"
    assert (packages["__archspec"].version, packages["__archspec"].build) == ("1", "x86_64_v3")


def test_overrides_of_the_system() -> None:
    """The other overrides work the same way."""
    environ = {"CONDA_OVERRIDE_GLIBC": "2.17", "CONDA_OVERRIDE_ARCHSPEC": "x86_64", "CONDA_OVERRIDE_LINUX": "4.18"}
    packages, _ = found(LOGIN_NODE, composed(PLAIN), **environ)
    assert packages["__glibc"].version == "2.17"
    assert packages["__archspec"].build == "x86_64"
    assert packages["__linux"].version == "4.18"


def test_unknown_glibc_has_a_default_and_a_notice() -> None:
    """A machine whose C library cannot be read is planned for with a default, and told how to say better."""
    packages, notices = found(HostFacts("linux-64"), composed(PLAIN, None))
    assert packages["__glibc"].version == "2.28"
    assert "CONDA_OVERRIDE_GLIBC" in notices[0].hint


def test_other_platforms_have_no_glibc() -> None:
    """``__glibc`` and ``__linux`` belong to Linux targets only (CEP 30)."""
    packages, notices = found(HostFacts("osx-arm64", cpu_level="aarch64"), composed(PLAIN, None))
    assert set(packages) == {"__unix", "__archspec", "__osx"}
    assert packages["__osx"].version == "11.0"
    assert notices == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUDA", "twelve"),
        ("CUDA", "12.2; rm"),
        ("CUDA_ARCH", "sm_80"),
        ("GLIBC", "latest"),
        ("LINUX", "6"),
        ("ARCHSPEC", "x86 64"),
    ],
)
def test_an_override_that_is_no_version_is_refused(name: str, value: str) -> None:
    """A value conda cannot read is a usage mistake, not something to guess about."""
    with pytest.raises(InputError, match=f"CONDA_OVERRIDE_{name}"):
        found(LOGIN_NODE, composed(PLAIN), **{"CONDA_OVERRIDE_CUDA": "12.4", f"CONDA_OVERRIDE_{name}": value})
