"""The application: its commands, and from arguments to an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from dcot._version import __version__
from dcot.cli import (
    audit,
    bench,
    demo,
    evaluate,
    explain,
    explore,
    fit,
    index,
    info,
    label,
    predict,
    refit,
    search,
    similar,
    suggest,
    train,
    transform,
)
from dcot.cli.errors import INTERRUPTED, OK, cleaned_up_when_terminated, report, write_error
from dcot.cli.help import Command, Group
from dcot.cli.options import with_groups
from dcot.cli.session import at_end

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
benchmarks = typer.Typer(
    cls=Group,
    help="Rerun the experiments of the paper, or compare on your own corpus.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _add(
    where: typer.Typer, function: Callable[..., None], examples: Sequence[str], panel: str | None
) -> None:
    add = where.command(cls=Command, epilog="\n".join(examples), rich_help_panel=panel)
    add(with_groups(function))


for _panel, _modules in {
    "Features": (fit, transform),
    "Classes": (label, audit, train, predict, evaluate, suggest, refit),
    "Reading": (explore, explain, similar),
    "Search": (index, search),
    "More": (info, demo),
}.items():
    for _module in _modules:
        _name = _module.__name__.rpartition(".")[2]
        _add(app, getattr(_module, _name), _module.EXAMPLES, _panel)
_add(benchmarks, bench.paper, bench.PAPER_EXAMPLES, None)
_add(benchmarks, bench.compare, bench.COMPARE_EXAMPLES, None)
_add(benchmarks, bench.defaults, bench.DEFAULTS_EXAMPLES, None)
app.add_typer(benchmarks, name="bench", rich_help_panel="More")


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"dcot {__version__}\n")
        raise typer.Exit


@app.callback()
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
            command = typer.main.get_command(app)
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
