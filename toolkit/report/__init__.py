"""The report that a quantization leaves: one HTML file, no scripts, nothing loaded from outside."""

from .html import LayerRow, OutputRow, ReportData, render
from .page import report_page

__all__ = ["LayerRow", "OutputRow", "ReportData", "render", "report_page"]
