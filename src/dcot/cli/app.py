"""The application: its commands, how they run and end, and the layout of their help.

Help is laid out here: typer's own grouped help needs rich and a Markdown parser, which take longer
to import than everything else that ``dcot --help`` does.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dcot._version import __version__
from dcot.cli.errors import INTERRUPTED, OK, report, write_error
from dcot.cli.options import group_of, with_groups
from dcot.cli.session import Session, at_end

# The module of each command, and the heading it has in help.
COMMANDS = {
    "fit": ("fit", "Features"),
    "transform": ("fit", "Features"),
    "label": ("pages", "Classes"),
    "audit": ("audit", "Classes"),
    "train": ("train", "Classes"),
    "predict": ("predict", "Classes"),
    "evaluate": ("evaluate", "Classes"),
    "suggest": ("predict", "Classes"),
    "refit": ("train", "Classes"),
    "explore": ("pages", "Reading"),
    "explain": ("explain", "Reading"),
    "similar": ("explain", "Reading"),
    "index": ("search", "Search"),
    "search": ("search", "Search"),
    "info": ("explain", "More"),
    "demo": ("demo", "More"),
    "bench": ("bench", "More"),
}


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command with these subcommands; only their modules are imported."""
    app = typer.Typer(
        name="dcot",
        help="Better text features from your own unlabelled documents.",
        cls=Group,
        epilog="dcot demo\ndcot train --help",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    )
    app.callback()(_root)
    for name in names:
        module, panel = COMMANDS[name]
        found = import_module(f"dcot.cli.{module}")
        if name == "bench":
            group = typer.Typer(
                cls=Group, help=found.HELP, no_args_is_help=True, rich_markup_mode=None
            )
            app.add_typer(group, name=name, rich_help_panel=panel)
            for each, examples in found.EXAMPLES.items():
                _add(group, getattr(found, each), examples)
        else:
            _add(app, getattr(found, name), found.EXAMPLES[name], panel)
    return app


def _add(
    app: typer.Typer,
    command: Callable[..., None],
    examples: Sequence[str],
    panel: str | None = None,
) -> None:
    add = app.command(cls=Command, epilog="\n".join(examples), rich_help_panel=panel)
    add(with_groups(command))


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"dcot {__version__}\n")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        _choose_encoding(stream)
    try:
        with _cleaned_up_when_terminated(), at_end:
            named = [one for one in arguments[:1] if one in COMMANDS]
            command = typer.main.get_command(application(named or COMMANDS))
            code = command.main(
                list(arguments) or ["--help"], prog_name="dcot", standalone_mode=False
            )
        return code if isinstance(code, int) else OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else OK
    except Exception as error:
        return _usage(error) if hasattr(error, "format_message") else report(error, debug=False)


def _choose_encoding(stream: Any) -> None:
    """Escape characters that cannot be shown; on Windows, pipes and files get UTF-8.

    There the default is the code page of the country, which has few characters.
    """
    if not hasattr(stream, "reconfigure"):
        return
    kept = sys.platform != "win32" or stream.isatty() or "PYTHONIOENCODING" in os.environ
    encoding = None if kept else "utf-8"
    stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _open_missing_streams() -> None:
    """Read nothing from a closed standard input, and write to nowhere in place of others."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


@contextmanager
def _cleaned_up_when_terminated() -> Iterator[None]:
    """Make a signal that ends the process run the same clean-up as an error."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = {}
    with suppress(ValueError):  # not in the main thread
        for name in ("SIGTERM", "SIGHUP"):
            if number := getattr(signal, name, None):
                before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _usage(error: Any) -> int:
    """Report a wrong command line, and point to its help."""
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command
        sys.stdout.write(error.format_message() + "\n")
        return OK
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "dcot"
    message = error.format_message().replace("Value error, ", "")  # by the parser of typer
    write_error(f"{message}\nSee: {path} --help")
    return int(error.exit_code)


class Command(TyperCommand):
    """A command that reports its errors, with help that groups its options."""

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
        """Refuse an option that is given twice but takes one value."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        counts: Counter[Any] = Counter(order)
        for parameter, times in counts.items():
            if times > 1 and not parameter.multiple and not parameter.is_flag:
                name = parameter.opts[0]
                raise typer.BadParameter(f"{name} is given {times} times, but takes one value", ctx)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            groups.setdefault(_heading(parameter), []).append(_record(parameter))
        groups[_LAST] = groups.pop(_LAST, [])
        _write_help(self, ctx, formatter, groups)


class Group(TyperGroup):
    """A group with help that shows its commands under headings."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)  # in the order in which they were added

    def format_help(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, found in self.commands.items():
            panel = getattr(found, "rich_help_panel", None)
            first = (found.help or "").strip().partition("\n\n")[0]
            records = groups.setdefault(panel if isinstance(panel, str) else "Commands", [])
            records.append((name, " ".join(first.split())))
        shown = [one for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        groups["Options"] = [_record(one) for one in shown]
        _write_help(self, ctx, formatter, groups)


_LAST = "Common options"


def _heading(parameter: Any) -> str:
    if "--help" in parameter.opts:
        return _LAST
    if panel := getattr(parameter, "rich_help_panel", None):
        return str(panel)
    return "Arguments" if parameter.param_type_name == "argument" else "Options"


def _write_help(
    command: Any, ctx: Any, formatter: Any, groups: dict[str, list[tuple[str, str]]]
) -> None:
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
    for title, records in groups.items():
        if records:
            with formatter.section(_bold(title)):
                formatter.write_dl(records, col_max=26)
    examples = (command.epilog or "").strip().splitlines()
    if examples:
        with formatter.section(_bold("Examples" if len(examples) > 1 else "Example")):
            for line in examples:  # not wrapped, so that they can be copied
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
    default = "required" if parameter.required else _default(parameter)
    return names, f"{text} [{default}]" if default else text


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or "TEXT")


def _default(parameter: Any) -> str:
    """The default as help shows it; nothing for a flag that is off."""
    shown, value = parameter.show_default, parameter.default
    if isinstance(shown, str):
        return shown
    if shown is False or value is None:
        return ""
    if isinstance(value, bool):
        return ("yes" if value else "no") if parameter.secondary_opts else ""
    return str(value)


def _bold(text: str) -> str:
    plain = "NO_COLOR" in os.environ or not sys.stdout.isatty()
    return text if plain else typer.style(text, bold=True)
