"""``make trust``: everything that was tried, how often, and what failed.

``python -m tests.trust.campaign SHARE [PART …]`` runs the parts, with SHARE of the full number of
trials, prints the table and writes docs/trust.md from it. Parts that are not named keep their rows.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.trust import mutants
from tests.trust.inputs import folded

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "trust.md"
RESULTS = ROOT / "docs" / "tables" / "trust.json"
# All tests but those in a browser and with packages of others, which run the same compiled code.
WHOLE_SUITE = ["tests", "--ignore=tests/browser", "--ignore=tests/integrations"]
MEASURED = ["core", "persistence"]
LEAST = 0.95  # of their lines, and of their branches
COVERING = ["contract", "unit/persistence", "unit/test_bad_input.py", "unit/test_classifier.py"]
COVERING += ["unit/test_classifier_embedding.py", "unit/test_corruption.py"]
COVERING += ["unit/test_estimator.py", "unit/test_machine.py", "unit/test_properties.py"]
COVERING += ["unit/test_representation.py", "unit/test_vectorizer.py"]
COVERING += ["unit/search/test_saving.py", "unit/streaming/test_fit_sources.py"]
COVERING += ["unit/streaming/test_sums.py"]


@dataclass(frozen=True)
class Part:
    """A part of the campaign: what it asks, its tests, and how many trials are the whole.

    ``means`` is what it tells a user; parts without it are about the tests themselves. ``counted``
    begin the names of the rows whose trials are those of the part.
    """

    title: str
    tests: list[str]
    trials: dict[str, int]  # of the suite's settings, by their names in the environment
    options: tuple[str, ...] = ()
    means: str = ""
    counted: tuple[str, ...] = ("",)


PARTS = {
    "security": Part(
        "A test for each threat of SECURITY.md",
        ["tests/trust/test_security.py"],
        {},
        means="models, files and web sites of strangers run no code",
    ),
    "inputs": Part(
        "Bad input to every function and command",
        ["tests/trust/test_inputs.py"],
        {},
        means="you get an error that tells you what to do ([bad input](inputs.md))",
    ),
    "folders": Part(
        "Model folders changed at random, checksums right again, loaded and used",
        ["tests/unit/persistence/test_fuzz.py"],
        {"DCOT_FUZZ": 10_000},
        means="a damaged or forged model gives an error or works; it never crashes your program",
    ),
    "fuzz": Part(
        "Files, matrices and texts changed at random",
        ["tests/trust/test_fuzz.py"],
        {"DCOT_FUZZ": 10_000},
        means="nor does a damaged or forged file, matrix or text",
    ),
    "bounds": Part(
        "Every test, and inputs changed at random, with the bounds of compiled loops checked "
        "(NUMBA_BOUNDSCHECK=1)",
        WHOLE_SUITE,
        {"DCOT_FUZZ": 500, "NUMBA_BOUNDSCHECK": 1},
        means="compiled code reads and writes only what it may",
        counted=("fuzz: ", "changed folders: "),
    ),
    "crashes": Part(
        "Work killed, or without room, at random moments",
        ["tests/trust/test_crashes.py", "tests/unit/persistence/test_atomic.py"],
        {"DCOT_KILLS": 200},
        means="you find the old model or file, or the new one, complete",
    ),
    "load": Part(
        "Many threads, processes and calls",
        ["tests/trust/test_load.py"],
        {"DCOT_LOAD": 4},
        means="threads and processes can share a model, and memory does not grow",
    ),
    "numbers": Part(
        "Fits against exact fractions",
        ["tests/trust/test_numbers.py"],
        {"DCOT_NUMBERS": 2000},
        means="the numbers are right, or dcot refuses or warns",
        # all of them; other rows say what they were instead
        counted=("exact fractions: wrong without a warning",),
    ),
    "versions": Part(
        "Model folders of every format so far",
        ["tests/trust/test_versions.py"],
        {},
        means="models that you saved give the answers they gave then",
    ),
    "coverage": Part(
        "Lines and branches of the core and of persistence that tests run",
        [f"tests/{name}" for name in COVERING],
        {},
        (
            *(f"--cov=dcot.{package}" for package in MEASURED),
            "--cov-branch",
            "--ignore=tests/unit/persistence/test_fuzz.py",  # slow, and no aim of its own
            "--cov-report=json:{place}/coverage.json",
        ),
    ),
    "mutants": Part(
        "Operators and numbers of the mathematics changed, one at a time, for a test to notice",
        [],
        {},
    ),
}


@dataclass
class Row:
    """A line of the table."""

    part: str
    what: str
    tried: int
    failed: int
    when: str
    minutes: float


def run(name: str, share: float) -> list[Row]:
    """Run a part; its rows."""
    if name == "mutants":
        return _mutants(share)
    part = PARTS[name]
    place = Path(tempfile.mkdtemp())
    trials = {key: str(max(1, round(share * most))) for key, most in part.trials.items()}
    extra = {**trials, "DCOT_TALLY": str(place / "tally"), "PYTHONHASHSEED": "0"}
    if "NUMBA_BOUNDSCHECK" in trials:  # its own cache: others have no checks in them
        extra |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(place / "numba")}
    options = [option.format(place=place) for option in part.options]
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={place}/tests.xml"]
    start = time.monotonic()
    done = subprocess.run(
        [*command, *options, *part.tests], cwd=ROOT, env={**os.environ, **extra}, check=False
    )
    minutes = (time.monotonic() - start) / 60
    when = time.strftime("%Y-%m-%d")
    rows = [Row(name, part.title, *_tests(place / "tests.xml", done.returncode), when, minutes)]
    if (place / "tally").exists():
        for line in (place / "tally").read_text().splitlines():
            what, tried, failed = json.loads(line)
            rows.append(Row(name, what, tried, failed, when, 0.0))
    if (place / "coverage.json").exists():
        rows += _covered(json.loads((place / "coverage.json").read_text()), when)
    return rows


def _tests(path: Path, code: int) -> tuple[int, int]:
    """How many tests ran, and failed; a run that broke off failed."""
    if not path.exists():
        return 0, 1
    suite = next(ElementTree.parse(path).iter("testsuite"))
    skipped = int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    return int(suite.get("tests", 0)) - skipped, max(failed, int(code not in (0, 1)))


def _covered(report: dict, when: str) -> list[Row]:
    """Lines and branches, without the compiled loops, which run outside of Python."""
    rows = []
    for package in MEASURED:
        files = [
            found["summary"]
            for path, found in report["files"].items()
            if f"dcot/{package}/" in path and not path.endswith("kernels.py")
        ]
        for what, all_, good in (
            ("lines", "num_statements", "covered_lines"),
            ("branches", "num_branches", "covered_branches"),
        ):
            total, covered = sum(f[all_] for f in files), sum(f[good] for f in files)
            share = covered / max(total, 1)
            words = f"{package}: {what} ({100 * share:.1f} % run, at least {100 * LEAST:g} %)"
            rows.append(Row("coverage", words, total, int(share < LEAST), when, 0.0))
    return rows


def _mutants(share: float) -> list[Row]:
    """A row for each module. Survivors that nobody has explained are failures."""
    start, rows, when = time.monotonic(), [], time.strftime("%Y-%m-%d")
    for module in mutants.TESTS:
        command = [sys.executable, "-m", "tests.trust.mutants", module, str(share)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout)
        left, tried = found["survivors"], found["tried"]
        same = sum(why is not None for _, _, why in left)
        noticed = f"{100 * (tried - len(left)) / tried:.0f} % noticed, {same} explained"
        rows.append(Row("mutants", f"{module}: {noticed}", tried, len(left) - same, when, 0.0))
    tried, failed = sum(row.tried for row in rows), sum(row.failed for row in rows)
    minutes = (time.monotonic() - start) / 60
    return [Row("mutants", PARTS["mutants"].title, tried, failed, when, minutes), *rows]


HEAD = """# Stress tests

Can you give dcot a file from a stranger, kill it while it saves, or call it from 16 threads?
`make trust` tries to break it in such ways. A trial fails if there is an exception that is not
dcot's own, a crash, a wait of more than 5 seconds, more than 1 GB of memory, half-written output,
or a changed answer.

| what was tried | times | failed | what it means for you |
|---|---|---|---|
"""
TESTS = """
Two more parts are about the tests themselves: how much of the code they run, and whether they
notice when the mathematics is changed. Threats to security, and what is not defended against, are
in SECURITY.md.

"""
NOTES = """A line in bold counts tests, and the lines below it their trials. A smaller share
of the full run has fewer trials. Files, matrices and texts are changed at random with fixed seeds,
starting from good ones. Coverage is that of Python code. Compiled loops are not counted; they are
run with their bounds checked instead.

`make trust` runs everything, which takes hours, and writes this page. `make trust SHARE=0.05` runs
a twentieth of the trials. `make fuzz` goes on for as long as you like, guided by coverage if
atheris can be installed.
"""


def page(rows: list[Row], shares: dict[str, float]) -> str:
    """The page of the documentation: what a user wants to know, and every row, folded."""
    short = [_in_short(name, rows) for name in PARTS if PARTS[name].means and name in shares]
    where = f"These rows are from {platform.machine()} with Python {platform.python_version()}."
    details = f"{where}\n\n{_table(rows, shares)}\n\n{NOTES}"
    missing = [part.title for name, part in PARTS.items() if name not in shares]
    if missing:
        names = "; ".join(missing)
        details += f"\nNot in this run, but with few trials in every run of the tests: {names}.\n"
    return HEAD + "\n".join(short) + "\n" + TESTS + folded("Every row", details.rstrip())


def _in_short(name: str, rows: list[Row]) -> str:
    """A part in one line: all its trials, or its tests if it has none."""
    part = PARTS[name]
    first, *trials = (row for row in rows if row.part == name)
    tried = sum(row.tried for row in trials if row.what.startswith(part.counted)) or first.tried
    failed = max(first.failed, sum(row.failed for row in trials))
    return f"| {first.what} | {tried:,} | {failed:,} | {part.means} |"  # as it was when it ran


def _table(rows: list[Row], shares: dict[str, float]) -> str:
    lines = ["| what | tried | failed | share of the full run | when |", "|---|---|---|---|---|"]
    part = ""
    for row in rows:
        what, share, when = row.what, "", ""
        if row.part != part:
            part = row.part
            what = f"**{row.what}**{'' if part == 'mutants' else ' (tests)'}"
            share = f"{100 * shares[part]:g} %" if PARTS[part].trials or part == "mutants" else ""
            when = row.when
        lines.append(f"| {what} | {row.tried:,} | {row.failed:,} | {share} | {when} |")
    return "\n".join(lines)


def main(share: str = "1", *names: str) -> None:
    for name in names or PARTS:
        found = run(name, float(share))
        rows, shares = _kept()  # read now: another run may have written its own parts
        rows = [row for row in rows if row.part != name] + found
        rows.sort(key=lambda row: list(PARTS).index(row.part))
        shares[name] = float(share)
        RESULTS.write_text(json.dumps({"shares": shares, "rows": [*map(asdict, rows)]}, indent=1))
        PAGE.write_text(page(rows, shares), encoding="utf-8")
    print(PAGE.read_text())
    sys.exit(any(row.failed for row in _kept()[0]))


def _kept() -> tuple[list[Row], dict[str, float]]:
    """The rows of the last run of each part, and the share that it tried."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": [], "shares": {}}
    return [Row(**row) for row in kept["rows"]], kept["shares"]


if __name__ == "__main__":
    main(*sys.argv[1:])
