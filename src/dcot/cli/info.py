"""``dcot info``: the contents of a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session
from dcot.runtime.terminal import one_line, printable

if TYPE_CHECKING:
    from dcot import DCoT, DCoTClassifier, DCoTVectorizer, SearchIndex

    Model = DCoT | DCoTClassifier | DCoTVectorizer | SearchIndex

EXAMPLES = {"info": ("dcot info model", "dcot info model --json")}


def info(
    model: o.Model,
    session: Session,
) -> None:
    """Show the settings, sizes and estimated accuracy of a model.

    All files of the folder are checked, including their checksums.
    """
    import dcot
    from dcot.persistence.manifest import FORMAT_VERSION, read_manifest
    from dcot.runtime.resources import format_bytes

    if model.is_file():
        raise UserError(f"{model} is a file, but a model folder was expected here")
    manifest = read_manifest(model)
    loaded = dcot.load(model)
    contents = loaded._contents(False)
    sizes = {entry.name: entry.size for entry in manifest.files.values()}
    if session.json:
        session.emit(
            {
                "model": str(model),
                "kind": manifest.kind,
                "format_version": FORMAT_VERSION,
                "dcot_version": manifest.dcot_version,
                "bytes": sum(sizes.values()),
                "files": sizes,
                "facts": dict(contents.facts),
                "settings": _settings(loaded),
            }
        )
        return
    rows = [("kind", manifest.kind), *contents.facts]
    rows += [("size", format_bytes(float(sum(sizes.values()))))]
    rows += [("saved by", f"dcot {manifest.dcot_version}, format {FORMAT_VERSION}")]
    session.show(_facts(model, rows, _changed(loaded)))


def _settings(model: Model) -> dict[str, Any]:
    """Parameters that JSON can represent."""
    if hasattr(model, "_short_params"):
        parameters = model._short_params()
    else:
        parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {name: value for name, value in parameters.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, str | int | float | bool)


def _changed(model: Model) -> dict[str, Any]:
    """Settings that are not the defaults."""
    defaults = _settings(type(model)()) if hasattr(model, "get_params") else {}
    return {
        name: value
        for name, value in _settings(model).items()
        if _comparable(value) != _comparable(defaults.get(name)) and name != "random_state"
    }


def _comparable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _facts(path: Path, rows: list[tuple[str, str]], changed: dict[str, Any]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if changed:
        listed = ", ".join(f"{name}={_short(value)}" for name, value in sorted(changed.items()))
        rows = [*rows, ("settings changed", listed)]
    found = Table(
        box=box.SIMPLE_HEAD, show_header=False, title=Text(one_line(path)), pad_edge=False
    )
    found.title_justify = "left"
    found.add_column(style="bold", no_wrap=True)
    found.add_column(overflow="fold")
    for name, value in rows:
        found.add_row(Text(one_line(name)), Text(printable(value)))
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
