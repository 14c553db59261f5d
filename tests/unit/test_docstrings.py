"""Every name in the reference has an example, and names the errors that it raises."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcot import errors

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
NAMES = re.findall(
    r"^::: (\S+)$", "\n".join(page.read_text() for page in REFERENCE.glob("*.md")), re.M
)
# docs/reference/errors.md has an example below each error
ERRORS = [name for name in NAMES if name.split(".")[-1] in errors.__all__]
PUBLIC = {name: pkgutil.resolve_name(name) for name in NAMES if name not in ERRORS}
PUBLIC = {name: found for name, found in PUBLIC.items() if callable(found)}
# functions that raise an error on behalf of their caller
RAISED_BY = {
    "_fitted": "ModelNotFittedError",
    "not_fitted": "ModelNotFittedError",
    "check_integer": "InvalidParameterError",
    "check_number": "InvalidParameterError",
    "require": "MissingExtraError",
}
# methods that take input from users, which other functions check
TAKE_INPUT = {"add", "fit", "load", "partial_fit", "predict", "save", "search", "transform"}


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods that dcot defines, without properties and those of scikit-learn."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("dcot"):
            continue
        if callable(found := getattr(cls, name)) and not re.fullmatch(r"set_\w+_request", name):
            yield name, found


METHODS = {
    f"{name}.{method}": found
    for name, cls in PUBLIC.items()
    if inspect.isclass(cls)
    for method, found in methods(cls)
}


def raised_in(found: Any) -> set[str]:
    """Errors of dcot that a function, or the constructor of a class, raises itself."""
    if inspect.isclass(found):
        own = [vars(found).get(name) for name in ("__init__", "__post_init__")]
        # the constructor that dataclass writes has no source
        made = [
            part for part in own if part is not None and part.__code__.co_filename != "<string>"
        ]
        return set().union(*map(raised_in, made))
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(found))))
    raised = {node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)}
    names = {node.func.id for node in raised if isinstance(getattr(node, "func", None), ast.Name)}
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {getattr(func, "attr", getattr(func, "id", "")) for func in calls}
    return names & set(errors.__all__) | {RAISED_BY[name] for name in called & RAISED_BY.keys()}


def documented_errors(found: Any) -> set[str]:
    """Names in the section Raises."""
    text = inspect.getdoc(found) or ""
    section = re.search(r"^Raises\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", text, re.M | re.S)
    return set(re.findall(r"^(\w+)$", section[1], re.M)) if section else set()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_example(name):
    assert re.search(r"^Examples\n-+\n(.*\n)*?>>> ", inspect.getdoc(PUBLIC[name]), re.M)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_method_has_an_example_or_its_class_calls_it(name):
    cls, _, method = name.rpartition(".")
    of_classes = [base.__doc__ or "" for base in PUBLIC[cls].__mro__]
    calls = re.compile(rf"^ *(>>>|\.\.\.) .*\b{method}\(", re.M)
    own = inspect.getdoc(METHODS[name]) or ""
    assert ">>> " in own or any(calls.search(text) for text in of_classes)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_error_has_an_example_on_its_page(name):
    page = (REFERENCE / "errors.md").read_text()
    assert re.search(rf"^::: {re.escape(name)}\n\n```python\n>>> ", page, re.M)


@pytest.mark.parametrize("name", sorted(PUBLIC | METHODS))
def test_errors_are_documented(name):
    found = (PUBLIC | METHODS)[name]
    documented = documented_errors(found)
    assert documented or name.split(".")[-1] not in TAKE_INPUT
    if name in METHODS:
        documented |= documented_errors(PUBLIC[name.rpartition(".")[0]])
    assert raised_in(found) <= documented <= set(errors.__all__)


@pytest.mark.parametrize("name", [*PUBLIC, *METHODS])
def test_no_markup_that_the_site_would_show_as_it_is(name):
    """The site is Markdown: roles and tables of reStructuredText mean nothing there."""
    text = inspect.getdoc((PUBLIC | METHODS)[name]) or ""
    assert not re.search(r":(?:func|class|meth|mod|attr|data):`|^=====|^\.\. ", text, re.M)
