"""Change a line of the mathematics, and see whether a test notices.

``python -m tests.trust.mutants MODULE COUNT`` changes one operator, comparison or number of the
module at a time (a random sample of COUNT), puts the changed code into the functions that are
already imported, and runs the module's tests in the same process: seconds a mutant. It prints those
that no test noticed.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import inspect
import io
import random
import signal
import sys
import types
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

TESTS = {
    "dcot.core.corruption": ["tests/contract/test_solvers.py", "tests/unit/test_corruption.py"],
    "dcot.core.solvers.direct": ["tests/contract/test_solvers.py"],
    "dcot.core.solvers.cg": ["tests/contract/test_solvers.py"],
    "dcot.classifier.ridge": ["tests/unit/test_ridge.py"],
    "dcot.core.representation": ["tests/unit/test_estimator.py"],
}
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.MatMult: ast.Add, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd,
}  # fmt: skip


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What can be changed at a node: the field, and what to do."""
    for field in ("op",):
        if type(getattr(node, field, None)) in SWAPS:
            yield field, "swap"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "ops", "swap"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "value", "one more"
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "test", "not"


def mutants(source: str) -> list[tuple[int, str, str]]:
    """All changes inside functions: the number of the node, the field, and what to do."""
    found = []
    inside = set()
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            inside |= {id(node) for part in function.body for node in ast.walk(part)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in inside:
            found += [(number, field, what) for field, what in _changes(node)]
    return found


def changed(source: str, mutant: tuple[int, str, str]) -> tuple[ast.AST, str]:
    """The tree with one change, and the change in words."""
    number, field, what = mutant
    tree = ast.parse(source)
    node = list(ast.walk(tree))[number]
    before = ast.unparse(node)
    value = getattr(node, field)
    if what == "swap":
        one = value[0] if isinstance(value, list) else value
        new = SWAPS[type(one)]()
        setattr(node, field, [new, *value[1:]] if isinstance(value, list) else new)
    elif what == "one more":
        setattr(node, field, value + 1)
    else:
        setattr(node, field, ast.UnaryOp(ast.Not(), copy.deepcopy(value)))
    ast.fix_missing_locations(tree)
    return tree, f"line {node.lineno}: {before:.60} → {ast.unparse(node):.60}"


def functions_of(module: types.ModuleType) -> dict[str, types.FunctionType]:
    """The functions of a module and the methods of its classes, by qualified name."""
    found = {}
    values = list(vars(module).values())
    for one in values:
        if inspect.isclass(one) and one.__module__ == module.__name__:
            values += list(vars(one).values())
    for one in values:
        inner = getattr(one, "__func__", getattr(one, "fget", one))
        inner = inner.func if isinstance(inner, cached_property) else inner
        if isinstance(inner, types.FunctionType) and inner.__module__ == module.__name__:
            found[inner.__qualname__] = inner
    return found


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield one
            yield from codes_of(one)


def noticed(tests: list[str], seconds: float) -> bool:
    """Whether a test fails, or takes for ever."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return pytest.main(options) != 0
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def main(name: str, count: str) -> None:
    module = importlib.import_module(name)
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    tests, functions = TESTS[name], functions_of(module)
    if noticed(tests, 900):  # compiles what is not in the cache yet
        raise SystemExit(f"{name}: its tests fail without a change")
    chosen = mutants(source)
    random.Random(0).shuffle(chosen)
    survivors = []
    for mutant in chosen[: int(count)]:
        tree, words = changed(source, mutant)
        code = compile(tree, str(module.__file__), "exec")
        old = {}
        for one in codes_of(code):
            function = functions.get(one.co_qualname)
            if function is not None and one.co_freevars == function.__code__.co_freevars:
                old[function], function.__code__ = function.__code__, one
        if not noticed(tests, 120):
            survivors.append(words)
            print(f"survived: {words}", flush=True)
        for function, before in old.items():
            function.__code__ = before
    tried = min(int(count), len(chosen))
    print(f"{name}: {tried} of {len(chosen)} mutants, {tried - len(survivors)} noticed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
