"""How commands are run and described: one way to end, and help that fits 80 columns.

typer's own grouped help needs rich and a Markdown parser, which take longer to import than
everything else that ``dcot --help`` does.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dcot.cli.errors import report
from dcot.cli.options import group_of
from dcot.cli.session import Session

_LAST = "Common options"


class Command(TyperCommand):
    """A command that reports its errors, and whose help has groups of options and examples."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error is one line on standard error, and an exit code."""
        try:
            group_of(Session, ctx.params).start()
            result = super().invoke(ctx)
            sys.stdout.flush()  # a closed pipe shows here, where it can be handled
            return result
        except (SystemExit, typer.Exit, typer.BadParameter):
            raise
        except BaseException as error:
            raise typer.Exit(report(error, ctx.params["debug"])) from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice and has room for one value."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        counts: Counter[Any] = Counter(order)
        for parameter, times in counts.items():
            if times > 1 and not parameter.multiple and not parameter.is_flag:
                name = parameter.opts[0]
                raise typer.BadParameter(f"{name} is given {times} times, but takes one value", ctx)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_head(self, ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if not getattr(parameter, "hidden", False):
                groups.setdefault(_group(parameter), []).append(_record(parameter))
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


def _group(parameter: Any) -> str:
    if "--help" in parameter.opts:
        return _LAST
    if panel := getattr(parameter, "rich_help_panel", None):
        return str(panel)
    return "Arguments" if parameter.param_type_name == "argument" else "Options"


def _write_head(command: Any, ctx: Any, formatter: Any) -> None:
    parameters = command.get_params(ctx)
    pieces = [_metavar(one) for one in parameters if one.param_type_name == "argument"]
    if isinstance(command, TyperGroup):
        pieces = ["COMMAND", "…"]
    required = [
        f"{min(one.opts, key=len)} {_metavar(one)}"
        for one in parameters
        if one.param_type_name == "option" and one.required
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
    text = getattr(parameter, "help", None) or ""
    if parameter.param_type_name == "argument":
        return _metavar(parameter), text
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.secondary_opts:
        names = f"{names} / {parameter.secondary_opts[0]}"
    elif not parameter.is_flag:
        names += f" {_metavar(parameter)}"
    return names, " ".join([text, *_remarks(parameter)])


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or "TEXT")


def _remarks(parameter: Any) -> Iterator[str]:
    if parameter.required:
        yield "[required]"
        return
    default = parameter.show_default
    if not isinstance(default, str):
        value = parameter.default
        shown = default is not False and value is not None
        default = "" if not shown else _shown(value, bool(parameter.secondary_opts))
    if default:
        yield f"[{default}]"


def _shown(value: Any, switch: bool) -> str:
    if isinstance(value, bool):
        return ("yes" if value else "no") if switch else ""
    return str(value)


def _bold(text: str) -> str:
    plain = "NO_COLOR" in os.environ or not sys.stdout.isatty()
    return text if plain else typer.style(text, bold=True)
