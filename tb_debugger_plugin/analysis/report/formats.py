"""The formats of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.report.facts import Report
from tb_debugger_plugin.analysis.report.html_page import page
from tb_debugger_plugin.analysis.report.markdown import markdown


@dataclass(frozen=True)
class ReportFormat:
    """A format.

    Attributes:
      write: Returns the text.
      suffix: The end of the name of its files.
      content_type: The MIME type.
    """

    write: Callable[[Report], str]
    suffix: str
    content_type: str


#: By the name that users choose.
REPORT_FORMATS: Final[Mapping[str, ReportFormat]] = {
    "html": ReportFormat(page, ".html", "text/html"),
    "markdown": ReportFormat(markdown, ".md", "text/markdown"),
}
