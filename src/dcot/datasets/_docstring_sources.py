"""Public docstrings of installed packages, read from their sources without importing them.

Parsing is faster than importing, has no side effects and sees each docstring once, where it is
written: no re-exports and nothing inherited. Docstrings of compiled functions are found where
NumPy and SciPy attach them (``add_newdoc``).
"""

from __future__ import annotations

import ast
import gc
import os
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

__all__ = ["SKIPPED", "STANDARD_LIBRARY", "package_docstrings", "quiet", "standard_docstrings"]

# The label, and the file or folder of the standard library that holds its Python source.
STANDARD_LIBRARY = {
    "asyncio": "asyncio",
    "decimal": "_pydecimal",
    "email": "email",
    "http": "http",
    "importlib": "importlib",
    "inspect": "inspect",
    "io": "_pyio",
    "ipaddress": "ipaddress",
    "logging": "logging",
    "multiprocessing": "multiprocessing",
    "pathlib": "pathlib",
    "threading": "threading",
    "typing": "typing",
    "unittest": "unittest",
    "urllib": "urllib",
    "xml": "xml",
}

# Not subject matter of their own: tests, build tools, vendored code, helpers of all kinds.
SKIPPED = frozenset(
    {"tests", "test", "testing", "conftest", "setup", "__pycache__", "_build_utils", "_lib"}
    | {"_utils", "distutils", "externals", "f2py", "utils"}
)

# NumPy's top level is implemented in these folders.
_NUMPY_TOP = frozenset({"_core", "core", "lib", "matrixlib"})

Docstring = tuple[str, str, str]  # label, name of the object, text as written


def standard_docstrings() -> Iterator[Docstring]:
    """Docstrings of the modules named in `STANDARD_LIBRARY`."""
    root = Path(sysconfig.get_path("stdlib"))
    for label, module in STANDARD_LIBRARY.items():
        for path in (root / f"{module}.py", root / module):
            for file in _python_files(path):
                for name, text in _read(file):
                    yield label, f"{label}.{name}", text


def package_docstrings(package: str) -> Iterator[Docstring]:
    """Docstrings of an installed package, labelled by its subpackages."""
    spec = find_spec(package)
    roots = [] if spec is None else sorted(spec.submodule_search_locations or [])
    for root in map(Path, roots):
        for file in _python_files(root):
            label = _label(package, file.relative_to(root))
            for name, text in _read(file):
                yield label, f"{label}.{name}", text


def _label(package: str, path: Path) -> str:
    first = path.parts[0].removesuffix(".py")
    if first == "__init__" or (package == "numpy" and first in _NUMPY_TOP):
        return package
    return f"{package}.{first}"


def _python_files(path: Path) -> Iterator[Path]:
    if path.suffix == ".py" and path.is_file():
        yield path
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(set(folders) - SKIPPED)
        for file in sorted(files):
            if file.endswith(".py") and file.removesuffix(".py") not in SKIPPED:
                yield Path(folder, file)


def _read(path: Path) -> Iterator[tuple[str, str]]:
    """Name and docstring of each public class, function and method of a file."""
    try:
        source = path.read_bytes()
        if b'"""' not in source and b"'''" not in source:
            return  # nothing to find: saves parsing tables of numbers
        tree = ast.parse(source)
    except (SyntaxError, ValueError, OSError):
        return  # a template, or a file for another Python: not ours to judge
    yield from _in_body(tree.body, "")
    yield from _added(tree.body)


def _in_body(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_"):
            continue
        name = f"{prefix}{node.name}"
        if text := ast.get_docstring(node, clean=False):
            yield name, text
        if isinstance(node, ast.ClassDef):
            yield from _in_body(node.body, f"{name}.")


def _added(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Docstrings attached to compiled objects: ``add_newdoc(..., name, text)``.

    A method comes as ``add_newdoc(module, class, (name, text))``.
    """
    for node in body:
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            continue
        call = node.value
        if not (isinstance(call.func, ast.Name) and call.func.id == "add_newdoc"):
            continue
        parts = []
        for argument in call.args:
            parts += argument.elts if isinstance(argument, ast.Tuple) else [argument]
        strings = [part.value for part in parts if isinstance(part, ast.Constant)]
        *names, text = [string for string in strings if isinstance(string, str)] or [""]
        if names and not any(name.startswith("_") for name in names):
            yield ".".join(names), text


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings about other people's source, no garbage collection while it is read."""
    collecting = gc.isenabled()
    gc.disable()  # saves a third of the time: trees are many objects and no garbage
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collecting:
            gc.enable()
