"""Facts of the operating system from the kernel's texts."""

from __future__ import annotations

import pytest

from conda_llmenv.host.system import cpu_level, kernel_version, memory_mib, soft_limit

V2 = "fpu sse sse2 pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm"
V3 = f"{V2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("fpu sse sse2", "x86_64"),
        (V2, "x86_64_v2"),
        (V3, "x86_64_v3"),
        (V4, "x86_64_v4"),
        (V4.replace("movbe", ""), "x86_64_v2"),
    ],
)
def test_cpu_level(flags: str, level: str) -> None:
    """A level counts only when every flag of it is there."""
    assert cpu_level(f"processor\t: 0\nflags\t\t: {flags}\n", "linux-64") == level


def test_the_weakest_processor_decides() -> None:
    """Processors that differ get the level they all have."""
    assert cpu_level(f"flags\t: {V4}\nflags\t: {V2}\n", "linux-64") == "x86_64_v2"


def test_other_architectures_have_no_level() -> None:
    """On ARM the level is the architecture."""
    assert cpu_level("Features\t: fp asimd\n", "linux-aarch64") == "aarch64"


@pytest.mark.parametrize(
    ("text", "version"),
    [("5.15.0-91-generic\n", "5.15.0"), ("6.1.0+rpt-rpi", "6.1.0"), ("4.18.0-553.el8_10.x86_64", "4.18.0"), ("", None)],
)
def test_kernel_without_the_distribution(text: str, version: str | None) -> None:
    """CEP 30 wants the upstream version only."""
    assert kernel_version(text) == version


def test_memory_is_what_the_control_group_allows() -> None:
    """In a container the smaller limit is the one that kills."""
    meminfo = "MemTotal:       32768000 kB\nMemFree: 1 kB\n"
    assert memory_mib(meminfo, "max\n") == 32000
    assert memory_mib(meminfo, str(8 * 2**30)) == 8192
    assert memory_mib("", "") is None


def test_limits() -> None:
    """Soft limits are read from the kernel's table; unlimited is -1."""
    text = "Max stack size            8388608  unlimited  bytes\nMax locked memory  unlimited unlimited bytes\n"
    assert soft_limit(text, "Max stack size") == 8388608
    assert soft_limit(text, "Max locked memory") == -1
    assert soft_limit(text, "Max open files") is None
