"""What mkdocs does besides Markdown: tutorials are run; tables, formulas and help are put in.

A tutorial is a plain Python file in ``docs/tutorials``. ``# %%`` starts a cell, the comment lines
right after it are its text. A page shows each cell, what it printed, and its last value if that is
a figure. Set ``DCOT_DOCS_RUN=0`` to leave the code unrun, which is quicker while writing.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from dcot.cli.app import application

DOCS = Path(__file__).parent
FORMULA = re.compile(r"```math\n(.+?)```|\$`(.+?)`\$", re.S)
# a line with nothing but a link to a table: the site shows the table in its place
TABLE = re.compile(r"^\[[^\]\n]+\]\(((?:\.\./)*(?:tables|experiments)/[\w-]+\.md)\)$", re.M)
ROW = re.compile(r"^\|.*$", re.M)
DRAWING = re.compile(
    r'(<img alt="([^"]*)" src="([^"]*?((?:experiments|images)/[\w-]+\.(?:svg|png)))"[^>]*>)'
)
VIEW = re.compile(r'<view id="([\w-]+)" viewBox="\S+ \S+ (\S+) (\S+)"/>')
UNIT = re.compile(r"(?<=\d) (?=(?:s|ms|MB|GB|%)(?!\w))")
PROMPTS = re.compile(r"^```python\n(?=>>> )", re.M)
DIRECTIVE = re.compile(r"  # doctest: .+$", re.M)  # for the tests, not for readers
NARROW = "(max-width: 44em)"  # as in style.css
VERDICT = "<!-- verdict -->"  # the main result, once ``dcot bench paper --docs`` has written it
NOT_YET = (
    "*This version has not been measured yet. The complete results are those of an earlier one.*"
)
RUN = os.environ.get("DCOT_DOCS_RUN") != "0"


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for path in sorted((DOCS / "tutorials").glob("*.py")):
        page, pictures = tutorial(path)
        folder = "tutorials"
        files.append(File.generated(config, f"{folder}/{path.stem}.md", content=page))
        for name, content in pictures.items():
            files.append(File.generated(config, f"{folder}/{name}", content=content))
    files.append(File.generated(config, "reference/command.md", content=command_help()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    folder = (DOCS / page.file.src_uri).parent
    markdown = TABLE.sub(lambda link: _table(folder, link[1]), markdown)
    markdown = ROW.sub(lambda row: UNIT.sub("\u00a0", row[0]), markdown)  # "2 s" stays on one line
    markdown = DIRECTIVE.sub("", markdown)
    markdown = PROMPTS.sub("```pycon\n", markdown)  # so that the copy button leaves prompts out
    if VERDICT in markdown:
        found = "experiments/verdict.md"
        text = _table(folder, found) if (folder / found).exists() else NOT_YET
        markdown = markdown.replace(VERDICT, text)
    return FORMULA.sub(_formula, markdown)


def on_page_content(html: str, **_: Any) -> str:
    return DRAWING.sub(_on_narrow_screens, html)


def _on_narrow_screens(match: re.Match[str]) -> str:
    """A drawing, and what a phone shows in its place.

    That is its panels, one below the other, or the file of the same name with ``-narrow``.
    """
    image, alt, source, name = match.groups()
    path = DOCS / name
    if path.with_stem(f"{path.stem}-narrow").exists():
        narrow = "-narrow.".join(source.rsplit(".", 1))
        return f'<picture><source media="{NARROW}" srcset="{narrow}">{image}</picture>'
    views = VIEW.findall(path.read_text(encoding="utf-8")) if path.suffix == ".svg" else []
    panels = [
        f'<img alt="{alt if view == views[0] else ""}" src="{source}#{view[0]}" '
        f'style="aspect-ratio: {view[1]} / {view[2]}">'
        for view in views
    ]
    return f'<span class="panels">{image}{"".join(panels)}</span>' if panels else image


def _table(folder: Path, link: str) -> str:
    """The tables in a file, with the figures beside it.

    Values such as "1.0 / 2.0 / 3.0" stay on one line.
    """
    text, place = (folder / link).read_text(encoding="utf-8"), link.rpartition("/")[0]
    text = re.sub(r"\]\(([\w-]+\.svg)\)", rf"]({place}/\1)", text)
    return re.sub(r"(?<=[\d–]) / (?=[-+\d–])", "\u00a0/\u00a0", text)


def _formula(match: re.Match[str]) -> str:
    """MathML, which browsers draw without a script."""
    from latex2mathml.converter import convert

    block, inline = match.groups()
    if block is None:
        return f"<span>{convert(inline)}</span>"  # a line that begins with math would be a block
    return f'<div class="formula">{convert(block.strip(), display="block")}</div>'


def cells(source: str) -> Iterator[tuple[str, str]]:
    """``(text, code)`` of each cell; the first is the module's docstring."""
    yield ast.get_docstring(ast.parse(source)) or "", ""
    for cell in re.split(r"^# %%.*\n", source, flags=re.M)[1:]:
        lines = cell.splitlines()
        end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:end])
        yield text, "\n".join(lines[end:]).strip()


def tutorial(path: Path) -> tuple[str, dict[str, bytes]]:
    """The page of a tutorial, and its pictures by name."""
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    parts, pictures = [], {}
    for text, code in cells(path.read_text(encoding="utf-8")):
        parts.append(text)
        if not code:
            continue
        parts.append(f"```python\n{code}\n```")
        said, value = run(code, names) if RUN else ("", None)
        if said:
            parts.append(f"```text\n{said.rstrip()}\n```")
        if hasattr(value, "savefig"):
            name = f"{path.stem}-{len(pictures) + 1}.png"
            pictures[name] = _png(value)
            parts.append(f"![]({name})")
    source = f"*This page was made by running `docs/tutorials/{path.name}`.*"
    return "\n\n".join([*parts, source]) + "\n", pictures


def run(code: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What the code prints, and the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(tree, "tutorial", "exec"), names)
        value = None
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "tutorial", "eval"), names)
    return out.getvalue(), value


def _png(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=130, facecolor="white")
    return out.getvalue()


def command_help() -> str:
    """A page with the help of every command."""
    app = application()
    parts = ["# Command-line help", _help(app)]
    for name, command in typer.main.get_command(app).commands.items():
        parts += [f"## dcot {name}", _help(app, name)]
        for inner in getattr(command, "commands", ()):
            parts += [f"### dcot {name} {inner}", _help(app, name, inner)]
    return "\n\n".join(parts) + "\n"


def _help(app: typer.Typer, *arguments: str) -> str:
    shown = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(app, [*arguments, "--help"])
    return f"```text\n{shown.stdout.rstrip()}\n```"
