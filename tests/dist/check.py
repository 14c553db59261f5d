"""Install a wheel into an empty environment and use it as a new user would.

``python tests/dist/check.py dist/dcot-….whl``: the base install runs the README's Python; the extras
of the command line run ``dcot demo`` and the README's commands. Nothing of the checkout is seen.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
TABLE = "body,topic\n" + "".join(
    f"{text},{topic}\n"
    for text, topic in [
        ("crude oil prices rose", "oil"),
        ("opec cut its oil output", "oil"),
        ("oil exports and crude output", "oil"),
        ("the wheat harvest was poor", "grain"),
        ("wheat and corn prices fell", "grain"),
        ("corn exports after the harvest", "grain"),
        ("a poor harvest of oil seeds", ""),
        ("opec and the price of wheat", ""),
    ]
)
BASE = """
import importlib.util
for name in ("polars", "typer", "rich", "matplotlib", "pandas", "starlette"):
    assert importlib.util.find_spec(name) is None, f"the base install brings {name}"
"""


def main(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        python = environment(place / "env")
        run(python, "-m", "pip", "install", "--quiet", str(wheel), cwd=place)
        (example,) = re.findall(r"```python\n(.*?)```", README, re.S)
        run(python, "-c", BASE + example, cwd=place)
        print("the README's code runs with the base install")
        run(python, "-m", "pip", "install", "--quiet", f"{wheel}[cli,plots]", cwd=place)
        for file in ("news.csv", "new.csv"):
            (place / file).write_text(TABLE, encoding="utf-8")
        run(python, "-m", "dcot", "demo", "-o", "demo.png", cwd=place)
        assert (place / "demo.png").stat().st_size > 10_000
        block = re.search(r"## Install\n.*?```\n(.*?)```", README, re.S)
        assert block is not None
        commands = [shlex.split(line, comments=True) for line in block[1].splitlines()]
        commands = [arguments for program, *arguments in commands if program == "dcot"]
        assert commands, "the README shows no command"
        for arguments in commands:
            run(python, "-m", "dcot", *arguments, cwd=place)
        print("dcot demo and the README's commands run with the extras")


def environment(folder: Path) -> Path:
    """The Python of a new environment."""
    venv.create(folder, with_pip=True)
    found = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    return found


def run(*command: object, cwd: Path) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(map(str, command))}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
