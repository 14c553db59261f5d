"""The application: its commands, and from arguments to an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from dcot._version import __version__
from dcot.cli.errors import INTERRUPTED, OK, cleaned_up_when_terminated, report, write_error
from dcot.cli.help import Command, Group
from dcot.cli.options import with_groups
from dcot.cli.session import at_end

# The module of each command, and its group in help.
COMMANDS = {
    "fit": ("fit", "Features"),
    "transform": ("transform", "Features"),
    "label": ("label", "Classes"),
    "audit": ("audit", "Classes"),
    "train": ("train", "Classes"),
    "predict": ("predict", "Classes"),
    "evaluate": ("evaluate", "Classes"),
    "suggest": ("predict", "Classes"),
    "refit": ("train", "Classes"),
    "explore": ("explore", "Reading"),
    "explain": ("explain", "Reading"),
    "similar": ("explain", "Reading"),
    "index": ("search", "Search"),
    "search": ("search", "Search"),
    "info": ("info", "More"),
    "demo": ("demo", "More"),
    "bench": ("bench", "More"),
}


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command with these subcommands; the modules of others are not imported."""
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
    """Run a command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that cannot be shown is no error
            stream.reconfigure(errors="backslashreplace")
    try:
        with cleaned_up_when_terminated(), at_end:
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


def _usage(error: Any) -> int:
    """A wrong command line: what is wrong, and where the right one is described."""
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command
        sys.stdout.write(error.format_message() + "\n")
        return OK
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "dcot"
    write_error(f"{error.format_message()}\nSee: {path} --help")
    return int(error.exit_code)
