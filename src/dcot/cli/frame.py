"""What all commands share: the common options, examples in the help, and how they end."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from dcot.cli.errors import report
from dcot.cli.help import Command
from dcot.cli.session import Session

_COMMON = "Common options"
_APART = "setting_"


def _common_options() -> list[inspect.Parameter]:
    def option(name: str, kind: Any, default: Any, *flags: str, **more: Any) -> inspect.Parameter:
        information = typer.Option(*flags, rich_help_panel=_COMMON, **more)
        annotation = Annotated[kind, information]
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, keyword, default=default, annotation=annotation)

    return [
        option("json", bool, False, "--json", help="JSON on standard output, and nothing else."),
        option("quiet", bool, False, "--quiet", "-q", help="No progress, no notes."),
        option("seed", int, 0, "--seed", metavar="INT", help="For everything that is random."),
        option(
            "threads",
            int | None,
            None,
            "--threads",
            metavar="INT",
            min=1,
            show_default="all cores",
            help="Threads to use.",
        ),
        option("debug", bool, False, "--debug", help="Show the traceback of an error."),
    ]


def command(
    app: typer.Typer,
    *,
    examples: Sequence[str],
    panel: str | None = None,
    options: Callable[[], list[inspect.Parameter]] | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function ``(session, …)`` as a command.

    Parameters
    ----------
    examples : command lines for the end of the help; a test runs all of them
    panel : the group of commands in ``dcot --help``
    options : makes further options; their values come as the dict ``settings``
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())
        own = [parameter for parameter in own if parameter.name not in ("session", "settings")]
        own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        generated = [_apart(option) for option in options()] if options else []
        common = _common_options()

        @functools.wraps(function)
        def wrapper(**values: Any) -> None:
            session = Session(**{option.name: values.pop(option.name) for option in common})
            if options:
                values["settings"] = {
                    item.name.removeprefix(_APART): values.pop(item.name) for item in generated
                }
            _run(function, session, values)

        parameters = [*own, *generated, *common]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {item.name: item.annotation for item in parameters}
        app.command(
            name or function.__name__,
            cls=Command,
            epilog="\n".join(examples),
            rich_help_panel=panel,
        )(wrapper)
        return function

    return register


def _apart(option: inspect.Parameter) -> inspect.Parameter:
    """Under a name that no option of the command's own has."""
    return option.replace(name=_APART + option.name)


def _run(function: Callable[..., None], session: Session, values: dict[str, Any]) -> None:
    try:
        with session.prepared():
            function(session, **values)
        sys.stdout.flush()  # a closed pipe shows here, where it can be handled
    except (SystemExit, typer.Exit, typer.BadParameter):
        raise
    except BaseException as error:
        raise typer.Exit(report(error, session.debug)) from None
