"""What comes out of a run: JSON and CSV of every cell, figures, and one page that has it all."""

from __future__ import annotations

from dcot.bench.report.results import Results
from dcot.bench.report.writing import write_docs, write_report, write_tables

__all__ = ["Results", "write_docs", "write_report", "write_tables"]
