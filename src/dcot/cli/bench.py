"""``dcot bench``"""

from __future__ import annotations

import typer

app = typer.Typer()


@app.callback()
def _root() -> None: ...
