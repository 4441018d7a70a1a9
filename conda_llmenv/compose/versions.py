"""Whether some conda version fits several constraints at once, and how to write them as one; no repodata needed.

Versions are compared by py-rattler only. A set of constraints splits the line of all versions at the versions they
name; testing each of those, a point just above and just below each, and the ends of each ``.*`` range visits every
piece.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_TOKEN = re.compile(r"(~=|[<>=!]=|[<>=])?\s*([^(),|\s<>=!~][^(),|\s<>=~]*)")
_PLAIN_RELEASE = re.compile(r"(\d+!)?\d+(\.\d+)*")
_STRUCTURE = re.compile(r"[(),|]|[^(),|]+")

MAX_ALTERNATIVES = 64
"""Most alternatives (``a|b``) written into one spec; more are kept as separate specs."""

_ORDER = ("==", "", "~=", ">=", ">", "<=", "<", "!=")


class _NotSettled(ValueError):
    """A range whose end is not known, such as that of ``1.1.1w.*``."""


@lru_cache(maxsize=65536)
def is_satisfiable(constraints: tuple[str, ...]) -> bool:
    """Return whether some version fits all constraints; True also where that cannot be settled."""
    from rattler import Version, VersionSpec
    from rattler.exceptions import InvalidVersionError

    try:
        tightest = _pooled(constraints)
        specs = [VersionSpec(text) for text in tightest]
        return any(all(spec.matches(version) for spec in specs) for version in map(Version, _candidates(tightest)))
    except (InvalidVersionError, _NotSettled):
        return True


def _pooled(constraints: Iterable[str]) -> list[str]:
    """Return the constraints with their plain bounds reduced to the tightest."""
    choices = [alternatives(text) for text in constraints]
    atoms = {atom for choice in choices if len(choice) == 1 for atom in choice[0]}
    return [*_tightest(atoms), *(text for text, choice in zip(constraints, choices, strict=True) if len(choice) > 1)]


def _tightest(atoms: Iterable[str]) -> list[str]:
    """Drop every ``>=``, ``>``, ``<=`` and ``<`` that another one of the atoms implies."""
    from rattler import Version

    kept: list[str] = []
    lower: list[tuple[Version, bool, str]] = []
    upper: list[tuple[Version, bool, str]] = []
    for atom in sorted(atoms):
        strict = not atom[1:].startswith("=")
        if atom.startswith(">"):
            lower.append((Version(atom.lstrip(">=")), strict, atom))
        elif atom.startswith("<"):
            upper.append((Version(atom.lstrip("<=")), not strict, atom))
        else:
            kept.append(atom)
    return [*kept, *([max(lower)[2]] if lower else []), *([min(upper)[2]] if upper else [])]


def _candidates(constraints: Iterable[str]) -> Iterator[str]:
    """Yield versions so that every piece of the line the constraints cut has at least one.

    Raises:
        _NotSettled: a range ends nobody knows where.
    """
    tokens = [match for text in constraints for match in _TOKEN.finditer(text)]
    boundaries = dict.fromkeys(re.sub(r"\.?\*$", "", token[2]) for token in tokens)
    boundaries.pop("", None)
    pad = ".0" * (2 + max((len(re.split(r"[._+-]", text)) for text in boundaries), default=0))
    for text in boundaries:
        yield from _around(text, pad)
    for token in tokens:
        prefix = _prefix(token[1] or "", token[2])
        if prefix is not None:
            yield from _around(_next(prefix), pad)
    yield from ("0dev", "0")


def _around(text: str, pad: str) -> Iterator[str]:
    """Yield a version with its nearest neighbours, local versions and the suffixed forms of what it starts with.

    Suffixes count because ``1post1`` belongs to ``1.0.*`` though it is newer than ``1.1``.
    """
    yield text
    yield f"{text}{pad}.1"
    yield f"{text}{pad}dev"
    public = text.partition("+")[0]
    yield f"{public}+a"
    yield f"{public}+0{pad}.1"
    while public:
        yield from (f"{public}{suffix}" for suffix in ("post1", "post9999999999", "a1", "dev", "rc9999999999"))
        public = public.rpartition(".")[0]


def _prefix(operator: str, version: str) -> str | None:
    """Return what all versions of a range start with, or None for a constraint that is no such range."""
    if operator == "~=":
        return version.rpartition(".")[0] or version
    if version.endswith("*"):
        return re.sub(r"\.?\*$", "", version) or None
    return version if operator == "=" else None


def _next(prefix: str) -> str:
    """Return the first release behind a range, such as ``1.27`` behind ``1.26.*``."""
    from rattler import Version

    if not _PLAIN_RELEASE.fullmatch(prefix):
        raise _NotSettled(prefix)
    return str(Version(prefix).bump_last())


@lru_cache(maxsize=65536)
def alternatives(constraint: str) -> tuple[tuple[str, ...], ...]:
    """Return a constraint as alternatives of atoms that must all hold: ``>=1,(<2|>=3)`` → two pairs."""
    tokens = [token.strip() for token in _STRUCTURE.findall(constraint) if token.strip()]
    found, rest = _either(tokens)
    return tuple(found) if not rest else ((constraint,),)


_Clauses = list[tuple[str, ...]]


def _either(tokens: list[str]) -> tuple[_Clauses, list[str]]:
    clauses, rest = _all(tokens)
    while rest and rest[0] == "|":
        more, rest = _all(rest[1:])
        clauses = clauses + more
    return clauses, rest


def _all(tokens: list[str]) -> tuple[_Clauses, list[str]]:
    clauses, rest = _one(tokens)
    while rest and rest[0] == ",":
        more, rest = _one(rest[1:])
        clauses = [(*left, *right) for left in clauses for right in more]
    return clauses, rest


def _one(tokens: list[str]) -> tuple[_Clauses, list[str]]:
    first, rest = tokens[0], tokens[1:]
    if first != "(":
        return [(first,)], rest
    clauses, rest = _either(rest)
    return clauses, rest[1:]


def intersect(constraints: Iterable[str]) -> tuple[str, ...]:
    """Return constraints that all must hold as one text (several only where one would have too many alternatives).

    The text has no parentheses: conda 26.7 refuses them outside brackets, and ``a,c|b,c`` means the same to conda,
    mamba and rattler as ``(a|b),c``.
    """
    texts = sorted(set(constraints) - {""})
    choices = [alternatives(text) for text in texts]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MAX_ALTERNATIVES:
        return tuple(texts)
    clauses = {_clause(itertools.chain.from_iterable(combination)) for combination in itertools.product(*choices)}
    possible = sorted(clause for clause in clauses if len(clauses) == 1 or is_satisfiable(clause))
    return ("|".join(",".join(clause) for clause in possible),) if possible and texts else ()


def _clause(atoms: Iterable[str]) -> tuple[str, ...]:
    unique = sorted(_tightest(set(atoms)), key=_rank)
    exact = [atom for atom in unique if atom.startswith("==")]
    return (exact[0],) if len(exact) == 1 and is_satisfiable(tuple(unique)) else tuple(unique)


def _rank(atom: str) -> tuple[int, str]:
    operator = re.match(r"[<>=!~]*", atom)
    return (_ORDER.index(operator[0]) if operator and operator[0] in _ORDER else len(_ORDER), atom)
