"""The model card: what a person wants to know before using somebody's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dcot._version import __version__
from dcot.runtime.resources import format_bytes


def render(
    kind: str, facts: Sequence[tuple[str, str]], precision: str | None, sizes: Mapping[str, int]
) -> str:
    """Markdown; no date, so that the same model gives the same card.

    >>> print(render("DCoT", [("terms", "20,000")], None, {"arrays": 4_000_000}).splitlines()[0])
    # A DCoT model
    """
    saved = "as learned" if precision is None else f"{precision}, float32 after loading"
    total = format_bytes(float(sum(sizes.values())))
    rows = [*facts, ("weights", saved), ("size", total), ("saved by", f"dcot {__version__}")]
    table = [f"| {_cell(label)} | {_cell(value)} |" for label, value in rows]
    lines = [
        f"# A {kind} model",
        "",
        "Text features learned without labels: Dense Cohort of Terms.",
        "",
        "| | |",
        "|---|---|",
        *table,
        "",
        "```python",
        "import dcot",
        "",
        'model = dcot.load("path/to/this/folder")',
        "```",
        "",
        "The folder holds numbers and text (safetensors and JSON). Loading it runs no code.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Words of a corpus may be anything: nothing in them may end a cell or start a tag."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return plain if len(plain) <= 500 else plain[:499] + "…"
