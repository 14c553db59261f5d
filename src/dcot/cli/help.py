"""Help that can be read at 80 columns: options in groups, one line each where that is possible."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_FIRST = ("Arguments", "Options")
_LAST = "Common options"


class Command(TyperCommand):
    """A command whose help shows groups of options and examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_head(self, ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in _FIRST}
        for parameter in self.get_params(ctx):
            if not getattr(parameter, "hidden", False):
                is_argument = parameter.param_type_name == "argument"
                default = "Arguments" if is_argument else "Options"
                group = getattr(parameter, "rich_help_panel", None) or default
                if "--help" in parameter.opts:
                    group = _LAST
                groups.setdefault(group, []).append(_record(parameter))
        groups[_LAST] = groups.pop(_LAST, [])
        for group, records in groups.items():
            _write_group(formatter, group, records)
        _write_examples(formatter, self.epilog or "")


class Group(TyperGroup):
    """A group whose help shows its commands in groups."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)  # in the order in which they were added

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_head(self, ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            found = self.get_command(ctx, name)
            if found is not None and not found.hidden:
                panel = getattr(found, "rich_help_panel", None)
                first = (found.help or "").strip().partition("\n\n")[0]
                records = groups.setdefault(panel if isinstance(panel, str) else "Commands", [])
                records.append((name, " ".join(first.split())))
        groups["Options"] = [
            _record(p) for p in self.get_params(ctx) if not getattr(p, "hidden", False)
        ]
        for group, records in groups.items():
            _write_group(formatter, group, records)
        _write_examples(formatter, self.epilog or "")


def _write_head(command: Any, ctx: Any, formatter: Any) -> None:
    pieces = [
        _metavar(parameter) if parameter.required else f"[{_metavar(parameter)}]"
        for parameter in command.get_params(ctx)
        if parameter.param_type_name == "argument"
    ]
    if isinstance(command, TyperGroup):
        pieces = ["COMMAND", "…"]
    required = [
        f"{_short(parameter.opts)} {_metavar(parameter)}"
        for parameter in command.get_params(ctx)
        if parameter.param_type_name == "option" and parameter.required
    ]
    formatter.write_usage(ctx.command_path, " ".join([*pieces, *required, "[OPTIONS]"]))
    for paragraph in (command.help or "").strip().split("\n\n"):
        formatter.write_paragraph()
        formatter.write_text(" ".join(paragraph.split()))


def _write_group(formatter: Any, title: str, records: list[tuple[str, str]]) -> None:
    if records:
        with formatter.section(_bold(title)):
            formatter.write_dl(records, col_max=26)


def _write_examples(formatter: Any, examples: str) -> None:
    lines = examples.strip().splitlines()
    if lines:
        with formatter.section(_bold("Examples" if len(lines) > 1 else "Example")):
            for line in lines:  # never wrapped: they are to be copied
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _record(parameter: Any) -> tuple[str, str]:
    """What to type, and what it does."""
    words = [getattr(parameter, "help", None) or ""]
    if parameter.param_type_name == "argument":
        return _metavar(parameter), words[0]
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.secondary_opts:
        names = f"{names} / {parameter.secondary_opts[0]}"
    elif not parameter.is_flag:
        names += f" {_metavar(parameter)}"
    words += _remarks(parameter)
    return names, " ".join(filter(None, words))


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or "TEXT")


def _remarks(parameter: Any) -> Iterator[str]:
    if parameter.required:
        yield "[required]"
        return
    default = parameter.show_default
    if not isinstance(default, str):
        value = parameter.default
        shown = default is not False and value is not None and not isinstance(value, bool)
        default = str(getattr(value, "value", value)) if shown else ""
    if default:
        yield f"[{default}]"


def _short(names: list[str]) -> str:
    return min(names, key=len)


def _bold(text: str) -> str:
    plain = "NO_COLOR" in os.environ or not sys.stdout.isatty()
    return text if plain else typer.style(text, bold=True)
