"""A report survives its file, and nothing else gets in by one."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from conda_llmenv.checks.moments import moment
from conda_llmenv.history.report_file import FORMAT, LARGEST, decode, encode, file_name, parse_name
from conda_llmenv.model import Level, Status
from tests.history.reports import report, result

FULL = report(
    "/envs/sft",
    1.5,
    result(figures={"fp32_tflops": 51.25}, detail=("a", "b"), fix="do it", measured="1", expected="2"),
    result("ddp", Status.SKIP, group="ranks", seconds=0.25, reused=True),
    gpus=8,
    tier="h200",
    reused_from="2026-11-01T00:00:00+00:00",
    whole=False,
    unproven="why",
)


def test_a_report_is_read_as_it_was_written() -> None:
    """Every field, nested ones and enumerations included."""
    assert decode(encode(FULL)) == FULL


def test_it_is_json_with_a_version() -> None:
    """Other programs can read it: statuses are words, and the first key says what it is."""
    document = json.loads(encode(FULL))
    assert next(iter(document.items())) == ("llmenv_report", FORMAT)
    assert document["report"]["results"][1]["finding"]["status"] == "skip"


def test_secrets_are_masked_wherever_they_stand() -> None:
    """An address with a password in a detail, a token in a summary, a variable in what was measured."""
    token = "hf_" + "a1B2" * 8
    leaky = result(
        summary=f"cannot log in with {token}", measured="HF_TOKEN=abc123", detail=("https://me:pass@host.example/x",)
    )
    text = encode(report("/envs/sft", 0, leaky)).decode()
    assert token not in text
    assert "abc123" not in text
    assert "pass@" not in text
    assert "***" in text


def test_figures_that_are_no_number_are_left_out() -> None:
    """A bandwidth of infinity or nan would be null in JSON, which is no figure."""
    odd = result(figures={"a_gbs": float("inf"), "b_gbs": float("nan"), "c_gbs": 1.0})
    assert decode(encode(report("/envs/sft", 0, odd))).results[0].finding.figures == {"c_gbs": 1.0}


def test_a_path_that_is_not_utf_8_is_kept() -> None:
    """Names on disk are bytes; what cannot be text is shown escaped."""
    assert decode(encode(report("/envs/\udcff"))).prefix == "/envs/\\udcff"


def test_a_field_that_came_later_is_passed_over() -> None:
    """The same format may grow fields that an older program does not know."""
    document = json.loads(encode(FULL))
    document["report"]["moon"] = "full"
    document["report"]["host"]["moons"] = 1
    assert decode(json.dumps(document).encode()) == FULL


def test_a_report_from_before_a_field_is_read() -> None:
    """What has a default may be missing."""
    document = json.loads(encode(FULL))
    for name in ("unproven", "whole", "reused_from", "ranks", "llmenv"):
        del document["report"][name]
    assert decode(json.dumps(document).encode()).whole is True


@pytest.mark.parametrize("report_part", [{}, {"anything": [1]}, None])
def test_a_later_format_is_refused_with_the_way_out(report_part: Any) -> None:
    """Whatever the report in it looks like by then."""
    content = json.dumps({"llmenv_report": FORMAT + 1, "report": report_part}).encode()
    with pytest.raises(ValueError, match=r"later llmenv wrote it \(format 2, known here is 1\); upgrade conda-llmenv"):
        decode(content)


def _altered(**changes: Any) -> bytes:
    document = json.loads(encode(FULL))
    document["report"].update(changes)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"llmenv_report": 1}',
        b'{"llmenv_report": 0, "report": {}}',
        b'{"llmenv_report": "1", "report": {}}',
        encode(FULL)[:-40],
        encode(FULL).replace(b"skip", b"splendid"),
        b"\xff\xfe" + encode(FULL),
        b"[" * 100_000,
        b'{"llmenv_report": 1, "report": ' + b'{"a":' * 50_000,
        _altered(level=7),
        _altered(results="all good"),
        _altered(prefix=None),
        _altered(started="yesterday"),
        _altered(started="0001-01-01T00:00:00+23:59"),
        _altered(seconds="long"),
    ],
)
def test_what_is_no_report_is_refused(content: bytes) -> None:
    """Cut short, of other types, nested without end, dated with words: one sentence each, and never a crash."""
    with pytest.raises(ValueError, match=r"it holds no report|is no time"):
        decode(content)


def test_whatever_bytes_a_file_has() -> None:
    """Flipped, cut, doubled and filled with noise: a report or a refusal, nothing else."""
    chance = random.Random(20261130)
    good = encode(FULL)
    refused = 0
    for _ in range(3000):
        content = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(content))
            content[place : place + chance.randint(0, 6)] = chance.randbytes(chance.randint(0, 6))
        try:
            decode(bytes(content))
        except ValueError as error:
            refused += "it holds no report" in str(error) or "is no time" in str(error)
    assert refused > 1000


def test_what_is_larger_than_a_report_is_refused() -> None:
    """Before it is parsed."""
    with pytest.raises(ValueError, match="larger than a report"):
        decode(b" " * (LARGEST + 1))


def test_the_name_tells_time_level_state_and_machine() -> None:
    """What a person looks for in a listing, in an order that sorts by time."""
    name = file_name(FULL, encode(FULL))
    assert name.startswith("20261103T200000Z-full-5c5c5c5c5c5c-gpu-01-")
    named = parse_name(name)
    assert named is not None
    assert (named.stamp, named.level, named.fingerprint) == ("20261103T200000Z", "full", "5c5c5c5c5c5c")


@pytest.mark.parametrize(
    "hostname", ["", "../../etc/passwd", "a\nb", "ü" * 300, "-", "gpu01.cluster.example", "\udcff"]
)
@pytest.mark.parametrize("fingerprint", ["", "../x", "5C" * 32, "5c" * 32])
def test_a_name_is_a_name_whatever_the_machine_is_called(hostname: str, fingerprint: str) -> None:
    """No separator, no control character, no length that a file system refuses; it can be parsed back."""
    one = replace(FULL, hostname=hostname, fingerprint=fingerprint)
    name = file_name(one, encode(one))
    assert parse_name(name) is not None
    assert name.isascii()
    assert name.isprintable()
    assert "/" not in name
    assert len(name) < 200


def test_two_reports_have_two_names_and_one_has_one() -> None:
    """Runs that begin in the same second on one machine do not replace each other; keeping one twice adds nothing."""
    other = replace(FULL, seconds=41.0)
    assert file_name(FULL, encode(FULL)) == file_name(FULL, encode(FULL))
    assert file_name(FULL, encode(FULL)) != file_name(other, encode(other))


def test_times_are_utc_whatever_zone_they_were_written_in() -> None:
    """Python before 3.11 does not know the letter Z."""
    moments = {moment(text) for text in ("2026-11-02T08:00:00Z", "2026-11-02T10:00:00+02:00", "2026-11-02T08:00:00")}
    assert len(moments) == 1


def test_every_level_has_a_place_in_names() -> None:
    """A level that comes to the ladder comes to the names."""
    for level in Level:
        one = replace(FULL, level=level)
        named = parse_name(file_name(one, encode(one)))
        assert named is not None
        assert named.level == level.word


def test_the_time_to_read_one_is_small() -> None:
    """A hundred checks with their details stay far below the limit of size."""
    long = report("/envs/sft", 0, *(result(f"check-{n}", detail=("x" * 200,) * 10) for n in range(100)))
    content = encode(long)
    assert len(content) < LARGEST / 10
    assert len(msgspec.json.decode(content)["report"]["results"]) == 100
