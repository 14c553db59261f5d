"""Change a line of the mathematics, and see whether a test notices.

``python -m tests.trust.mutants MODULE SHARE`` changes one operator, comparison or number of the
module at a time (all of them, or a random share), puts the changed code into the functions that are
already imported, and runs the module's tests in a child, those first that noticed others.
It prints the mutants that no test noticed, and why, if the change means nothing.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import inspect
import io
import json
import math
import os
import random
import signal
import sys
import types
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from _pytest.warnings import catch_warnings_for_item
from tests.trust.unnoticed import why

TESTS = {
    "dcot.core.corruption": ["tests/contract/test_solvers.py", "tests/unit/test_corruption.py"],
    "dcot.core.solvers.direct": ["tests/contract/test_solvers.py"],
    "dcot.core.solvers.cg": ["tests/contract/test_solvers.py"],
    "dcot.classifier.ridge": ["tests/unit/test_ridge.py"],
    "dcot.core.representation": [
        "tests/unit/test_representation.py",
        "tests/unit/test_estimator.py",
    ],
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


def changed(source: str, mutant: tuple[int, str, str]) -> tuple[ast.AST, str, str]:
    """The tree with one change, its line, and the change in words."""
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
    line = source.splitlines()[node.lineno - 1].strip()
    return tree, line, "not" if what == "not" else f"{before} → {ast.unparse(node)}"


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


class Session:
    """A plugin of pytest: the tests of a module, once for every mutant."""

    def __init__(self, name: str, share: float) -> None:
        self.module = importlib.import_module(name)
        self.source = Path(str(self.module.__file__)).read_text(encoding="utf-8")
        self.functions = functions_of(self.module)
        self.chosen = mutants(self.source)
        random.Random(0).shuffle(self.chosen)
        del self.chosen[math.ceil(share * len(self.chosen)) :]
        self.survivors: list[tuple[str, str]] = []
        self.finished = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        tests = list(session.items)
        if not tests or noticed(tests, 900):  # compiles what is not in the cache yet
            return True
        for mutant in self.chosen:
            tree, line, change = changed(self.source, mutant)
            with self.in_place(compile(tree, str(self.module.__file__), "exec")):
                if not noticed(tests, 60):
                    self.survivors.append((line, change))
                    reason = why(line, change) or "not read yet"
                    print(f"survived: {line} ({change}): {reason}", file=sys.stderr, flush=True)
        self.finished = True
        return True

    def pytest_runtest_logreport(self) -> None:
        """Failures are wanted here."""

    @contextlib.contextmanager
    def in_place(self, code: types.CodeType) -> Iterator[None]:
        """The functions of the module with other code."""
        old = {}
        for one in codes_of(code):
            function = self.functions.get(one.co_qualname)
            if function is not None and one.co_freevars == function.__code__.co_freevars:
                old[function], function.__code__ = function.__code__, one
        try:
            yield
        finally:
            for function, before in old.items():
                function.__code__ = before


def noticed(tests: list[pytest.Item], seconds: float) -> bool:
    """Whether a test fails, takes for ever or crashes. One that fails is moved to the front.

    The tests run in a child, since a mutant may give compiled code a wrong size.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, str(_first_failing(tests, seconds)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as stream:
        number = int(stream.read() or 0)
    crashed = os.waitpid(child, 0)[1] != 0
    if not crashed and number >= 0:
        tests.insert(0, tests.pop(number))
    return crashed or number >= 0


def _first_failing(tests: list[pytest.Item], seconds: float) -> int:
    """The number of the first test that fails or takes for ever; -1 if all pass."""
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    for number, test in enumerate(tests):
        ignoring = catch_warnings_for_item(test.config, test.ihook, when="runtest", item=test)
        with ignoring:  # the warnings that its marks name
            reports = runtestprotocol(test, log=False, nextitem=None)
        if any(report.failed for report in reports):
            return number
    return -1


def _too_long(*_: object) -> None:
    raise TimeoutError("a mutant that takes for ever")


def main(name: str, share: str = "1") -> None:
    session = Session(name, float(share))
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*options, *TESTS[name]], plugins=[session])
    if not session.finished:
        raise SystemExit(f"{name}: its tests fail without a change")
    found = [(line, change, why(line, change)) for line, change in session.survivors]
    print(json.dumps({"tried": len(session.chosen), "survivors": found}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
