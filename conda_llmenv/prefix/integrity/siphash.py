"""SipHash, by which Python tells whether a source has changed (PEP 552).

:mod:`importlib` offers only the one of the Python that runs. The algorithm is that of Aumasson and Bernstein, "SipHash:
a fast short-input PRF" (2012), with the second half of the key zero.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_STARTS = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_BLOCK = 8


def siphash(key: int, data: bytes, rounds: int) -> int:
    """Return the 64-bit hash of ``data``.

    Args:
        key: the first 64 bits of the key.
        data: what is hashed.
        rounds: for each block of 8 bytes, 1 (SipHash-1-3) or 2 (SipHash-2-4); two more at the end.
    """
    state = (_STARTS[0] ^ key, _STARTS[1], _STARTS[2] ^ key, _STARTS[3])
    whole = len(data) // _BLOCK * _BLOCK
    last = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    blocks = [int.from_bytes(data[start : start + _BLOCK], "little") for start in range(0, whole, _BLOCK)]
    for block in (*blocks, last):
        a, b, c, d = state
        a, b, c, d = _mixed(a, b, c, d ^ block, rounds)
        state = (a ^ block, b, c, d)
    a, b, c, d = state
    a, b, c, d = _mixed(a, b, c ^ 0xFF, d, rounds + 2)
    return a ^ b ^ c ^ d


def _mixed(a: int, b: int, c: int, d: int, rounds: int) -> tuple[int, int, int, int]:
    for _ in range(rounds):
        a, c = (a + b) & _MASK, (c + d) & _MASK
        b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
        a = _turned(a, 32)
        c, a = (c + b) & _MASK, (a + d) & _MASK
        b, d = _turned(b, 17) ^ c, _turned(d, 21) ^ a
        c = _turned(c, 32)
    return a, b, c, d


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK
