"""Lines of a pip section are taken as pip takes them; what pip would not take is refused with a way out."""

from __future__ import annotations

import pytest

from conda_llmenv.errors import ConflictError, FileFormatError
from conda_llmenv.model import PipKind, PipRequirement
from tests.compose.files import HOME, fragment, merged, report

CHECKOUT = {"pkg/setup.py": "", "wheels/a-1-py3-none-any.whl": "", "a b/setup.py": ""}


def line(text: str) -> PipRequirement:
    """Read one requirement."""
    (found,) = fragment(f"dependencies:\n- pip:\n  - {text!r}\n", files=CHECKOUT).pip
    return found


@pytest.mark.parametrize(
    ("text", "kind", "name", "specifier"),
    [
        ("numpy", PipKind.NAMED, "numpy", ""),
        ("NumPy >= 1.2, <2", PipKind.NAMED, "numpy", "<2,>=1.2"),
        ("torch==2.1.0+cu121", PipKind.NAMED, "torch", "==2.1.0+cu121"),
        ("ruamel.yaml[jinja2]~=0.18", PipKind.NAMED, "ruamel-yaml", "~=0.18"),
        ("a==1 --hash=sha256:00 --hash=sha256:11", PipKind.NAMED, "a", "==1"),
        ("a --config-settings=--build-option=x", PipKind.NAMED, "a", ""),
        ("flash-attn @ https://h/flash_attn-2.7-cp311-cp311-linux_x86_64.whl", PipKind.URL, "flash-attn", ""),
        ("foo @ git+https://h/foo@main", PipKind.VCS, "foo", ""),
        ("git+https://${TOKEN}@h/foo.git@v1#egg=Foo_Bar", PipKind.VCS, "foo-bar", ""),
        ("git+ssh://git@h/foo.git", PipKind.VCS, None, ""),
        ("https://h/x/foo-1.0.tar.gz", PipKind.URL, "foo", ""),
        ("./pkg", PipKind.PATH, None, ""),
        ("pkg/", PipKind.PATH, None, ""),
        ("./pkg[dev,test]", PipKind.PATH, None, ""),
        ("./wheels/a-1-py3-none-any.whl", PipKind.PATH, "a", ""),
        ("-e ./pkg", PipKind.EDITABLE, None, ""),
        ("--editable=./pkg", PipKind.EDITABLE, None, ""),
        ("-e git+https://h/foo@main#egg=foo", PipKind.EDITABLE, "foo", ""),
        ("-e ${HERE}/x", PipKind.EDITABLE, None, ""),
        ("./a b", PipKind.PATH, None, ""),
    ],
)
def test_each_way_to_name_a_requirement(text: str, kind: PipKind, name: str | None, specifier: str) -> None:
    """Kind, normalised name and specifier; the text stays as written."""
    found = line(text)
    assert (found.kind, found.name, found.specifier) == (kind, name, specifier)
    if kind in {PipKind.URL, PipKind.VCS}:
        assert found.text == text


@pytest.mark.parametrize(
    "text",
    [
        'six --config-settings="a=b c"',
        "six --config-setting 'a=b c'",
        'six -C "a=b c"',
    ],
)
def test_settings_of_a_build_have_one_spelling(text: str) -> None:
    """Pip's three ways to write one, in one line or two words, are the same requirement."""
    assert line(text).text == "six --config-settings='a=b c'"


def test_markers_and_extras_are_taken_apart() -> None:
    """So that the same name for two Pythons is no contradiction."""
    found = line('a[X,y_z]>=1; python_version < "3.12"')
    assert (found.extras, found.marker) == (("x", "y-z"), 'python_version < "3.12"')
    assert line("./pkg[dev,test]").extras == ("dev", "test")
    assert line("./pkg[dev,test]").path == HOME / "pkg"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("-i https://h/simple", [("--index-url", "https://h/simple")]),
        ("--index-url=https://u:${P}@h/simple", [("--index-url", "https://u:${P}@h/simple")]),
        ("--pre", [("--pre",)]),
        ("--no-index -f wheels", [("--no-index",), ("--find-links", f"{HOME}/wheels")]),
        ("--no-binary :all:", [("--no-binary", ":all:")]),
        ("--trusted-host h --prefer-binary", [("--trusted-host", "h"), ("--prefer-binary",)]),
        ("-c https://h/constraints.txt", [("--constraint", "https://h/constraints.txt")]),
        ("-fhttps://h/links", [("--find-links", "https://h/links")]),
    ],
)
def test_each_way_to_write_an_option(text: str, tokens: list[tuple[str, ...]]) -> None:
    """Long names, one option after the other, folders absolute."""
    read = fragment(f"dependencies:\n- pip:\n  - {text!r}\n", files=CHECKOUT)
    assert [option.tokens for option in read.pip_options] == tokens
    assert read.pip == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("numpy=1.2", "numpy==1.2"),
        ("--indexurl https://h", "did you mean `--index-url`"),
        ("--index-url", "needs a value"),
        ("--pre=yes", "takes no value"),
        ("--hash=sha256:00", "behind a requirement"),
        ("a==1 --index-url https://h", "an entry of its own"),
        ("a==1 --hsh=x", "did you mean `--hash`"),
        ("-e ./pkg ./pkg --pre", "only one requirement"),
        ("-r https://h/requirements.txt", "download it"),
        ("git+https://<TOKEN>@h/x", "placeholder"),
        ("--index-url https://***@h/simple", "placeholder"),
        ("'a", "pip requirement"),
        ("-r 'a", "quotes"),
        ("-r loop.txt", "include each other: loop.txt → more.txt → loop.txt"),
        ("-c gone.txt", "cannot be read"),
        ("-r bad.txt", "bad.txt:2: 'b=1' is not a pip requirement"),
        ("-f gone", "is not there"),
        ("git+ext::sh%20-c%20touch%20pwned", "is no address that pip can install from"),
        ("x @ git+ext::sh%20-c%20touch%20pwned", "is no address that pip can install from"),
        ("-e git+ext::sh%20-c%20touch%20pwned", "is no address that pip can install from"),
        ("git+git@h:owner/x.git", "a slash, not a colon"),
        ("ftp://h/x-1.tar.gz", "is no address"),
        ("https:///x-1.tar.gz", "is no address"),
        ("-e https://h/x-1.tar.gz", "cannot be editable"),
        ("$(touch /tmp/pwned)", "is not there"),
        ("`touch /tmp/pwned`", "is not there"),
        ("./$HOME", "is not there"),
        ("-f $HOME", "is not there"),
        ("a --global-option=x", "--global-option is not supported"),
        ("-e ./pkg --global-option=x", "--global-option is not supported"),
        ("a --config-settings", "needs a value"),
        ("a --config-settings=x", "KEY=VALUE"),
        ("a --config-settings='x=1", "quotes"),
        ("--extra-index-url http://[::1", "is not a URL"),
        ("--index-url ::::", "is not the URL of an index"),
        ("-i pypi.org/simple", "is not the URL of an index"),
        ("-f http://[::1", "is not a URL"),
        ("-c http://[::1", "is not a URL"),
        ("http://[::1/x-1.tar.gz", "is not a URL"),
        ("x @ http://[::1/x-1.tar.gz", "is not a URL"),
    ],
)
def test_what_pip_would_not_take_is_refused_with_a_way_out(text: str, word: str) -> None:
    """File, line, reason, next step; one in a requirements file names that file."""
    files = {"loop.txt": "-r more.txt", "more.txt": "-r loop.txt", "bad.txt": "a\nb=1\n", **CHECKOUT}
    yaml = "dependencies:\n- pip:\n  - |\n    " + text + "\n"
    with pytest.raises(FileFormatError) as caught:
        fragment(yaml, files=files)
    assert word in report(caught.value)
    assert caught.value.message.split(":")[0] in {"f.yml", "bad.txt", "more.txt"}


def test_lines_of_a_requirements_file() -> None:
    """Comments, continued lines, constraints of constraints, and a byte order mark."""
    files = {"r.txt": "\ufeffa \\\n  --hash=sha256:00\n# no\n\n-c c.txt\nb  # why\n", "c.txt": "c<2\n"}
    read = fragment("dependencies: [{pip: [-r r.txt]}]", files=files)
    assert [(one.name, str(one.origin), one.why) for one in read.pip] == [("a", "r.txt:1", ""), ("b", "r.txt:6", "why")]
    assert read.pip[0].text.split() == ["a", "--hash=sha256:00"]
    assert [option.tokens for option in read.pip_options] == [("--constraint", f"{HOME}/c.txt")]
    assert len(read.includes) == 2


def test_same_name_twice_is_one_requirement() -> None:
    """Specifiers intersect, extras unite, hashes are kept; another marker is another requirement."""
    spec = merged(
        "dependencies: [pip, {pip: ['a[x]>=1', 'b==1 --hash=sha256:00', 'c==1; python_version<\"3.12\"']}]",
        "dependencies: [{pip: ['A[y]<2', 'b --hash=sha256:11', 'c==2; python_version>=\"3.12\"']}]",
    )
    assert [one.text for one in spec.pip.requirements] == [
        "a[x,y]<2,>=1",
        "b==1 --hash=sha256:00 --hash=sha256:11",
        'c==1; python_version<"3.12"',
        'c==2; python_version>="3.12"',
    ]
    assert [len(parts) for parts in spec.pip.parts] == [2, 2, 1, 1]


def test_one_distribution_from_two_places_is_refused() -> None:
    """Of which pip would take neither."""
    with pytest.raises(ConflictError) as caught:
        merged(
            "dependencies: [pip, {pip: ['x @ https://h/x-1.zip']}]", "dependencies: [{pip: ['x @ git+https://h/x']}]"
        )
    assert "from different places" in report(caught.value)


def test_of_two_indexes_the_last_holds_and_the_other_is_listed() -> None:
    """As in pip; credentials are not shown."""
    spec = merged(
        "dependencies: [pip, {pip: ['-i https://u:s3cr3t-canary@one/simple', a]}]",
        "dependencies: [{pip: ['-i https://two/simple']}]",
    )
    assert [option.tokens[1] for option in spec.pip.options] == ["https://two/simple"]
    (notice,) = spec.notices
    assert notice.code == "index-overridden"
    assert "canary" not in notice.message
