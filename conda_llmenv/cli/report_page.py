"""``--report FILE.html``: where the page may go, and that a page which cannot be written takes no verdict away."""

from __future__ import annotations

from pathlib import Path

from conda_llmenv.errors import InputError
from conda_llmenv.model import Notice, Report


def check_place(path: Path) -> None:
    """Refuse a place before anything is looked at: a run takes a minute, a mistake in the name a second.

    Raises:
        InputError: its folder is not there, or it is something else than a file.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"--report: {path} is no file", hint="give it the name of a file, such as report.html")
    if not path.resolve().parent.is_dir():
        raise InputError(f"--report: there is no folder {path.parent}", hint=f"make it: mkdir -p {path.parent}")


def write_page(path: Path, report: Report) -> tuple[Notice, ...]:
    """Write the report as one self-contained page; a notice says why it could not be."""
    from conda_llmenv.checks.baseline import earlier_values
    from conda_llmenv.cli.remembering import report_store
    from conda_llmenv.page.report import render
    from conda_llmenv.plain_files import write_file

    page = render(report, earlier_values(report, report_store().reports()))
    try:
        write_file(path, page.encode("utf-8", "backslashreplace"))
    except OSError as error:
        message = f"{path} could not be written: {error.strerror or error}"
        return (Notice("report-not-written", message, hint="give --report another place"),)
    return ()
