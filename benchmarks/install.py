"""How large an install is, and how long until the first answer: dcot beside its alternatives.

``python -m benchmarks.install --output docs/tables`` writes ``install.md``, the table of
docs/install.md. Each package is installed into a new environment, which needs pip's index, 1 GB of
disk and some minutes. Nothing else should run on the machine. sentence-transformers takes several
GB more, so it is measured only if it is named: add ``scikit-learn gensim dcot "dcot[cli]"
sentence-transformers``, and ``--encoder FOLDER`` with a model for its first answer.

Times are milliseconds in a new process, the best of five, without the start of Python. In brackets
is the multiple of scikit-learn's. The first answer is one text through a saved model, the import
included. The first run ever is the first fit after the install, in which dcot compiles its
functions. It can be measured only once.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXTS = 'texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn"] * 5\n'
SKLEARN = """
import pickle
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
"""
GENSIM = "from gensim.corpora import Dictionary\nfrom gensim.models import LsiModel\n"
DCOT_SAVE = "import dcot\ndcot.DCoTClassifier().fit(texts, ['o', 'o', 'g', 'g'] * 5).save('m')"
DCOT_USE = "import dcot\ndcot.load('m').predict(['opec'])"
# what is installed, the import, how a model is made, and how it is used
CASES: dict[str, tuple[str, str, str | None, str]] = {
    "scikit-learn": (
        "scikit-learn",
        "import sklearn.feature_extraction.text, sklearn.linear_model",
        f"{SKLEARN}m = make_pipeline(TfidfVectorizer(), LogisticRegression())\n"
        "m.fit(texts, [0, 0, 1, 1] * 5); pickle.dump(m, open('m', 'wb'))",
        "import pickle; pickle.load(open('m', 'rb')).predict(['opec'])",
    ),
    "gensim": (
        "gensim",
        "import gensim",
        f"{GENSIM}tokens = [t.split() for t in texts]; d = Dictionary(tokens)\n"
        "LsiModel([d.doc2bow(t) for t in tokens], 2, d).save('m'); d.save('d')",
        f"{GENSIM}LsiModel.load('m')[Dictionary.load('d').doc2bow(['opec'])]",
    ),
    "dcot": (str(ROOT), "import dcot; dcot.DCoTClassifier", DCOT_SAVE, DCOT_USE),
    "dcot[cli]": (f"{ROOT}[cli]", "import dcot; dcot.DCoTClassifier", DCOT_SAVE, DCOT_USE),
    "sentence-transformers": (
        "sentence-transformers",
        "import sentence_transformers",
        None,
        "from sentence_transformers import SentenceTransformer\n"
        "SentenceTransformer(ENCODER).encode(['opec'])",
    ),
}
TITLES = {"dcot[cli]": "dcot with the command"}
FIRST = "scikit-learn"  # what the others are compared with
REPEATS = 5
HEAD = "| | MB | import, ms | first answer, ms | first run ever, ms |\n|---|---|---|---|---|"
NOTE = (
    "Times are milliseconds in a new process, without the start of Python. They are the best of "
    "five, except for the first run ever. In brackets is the multiple of scikit-learn's."
)


@dataclass(frozen=True)
class Measured:
    """Bytes of an install, and milliseconds of what is done with it; None is not measured."""

    size: int
    times: tuple[float | None, float | None, float | None]

    def row(self, name: str, other: Measured | None) -> str:
        """A line of the table.

        >>> Measured(404_000_000, (600.0, 800.0, None)).row("dcot", Measured(0, (500.0, 500.0, 1)))
        '| dcot | 404 | 600 (1.2 ×) | 800 (1.6 ×) | – |'
        """
        others = other.times if other else (None, None, None)
        cells = [figure(*pair) for pair in zip(self.times, others, strict=True)]
        return f"| {TITLES.get(name, name)} | {self.size / 1e6:,.0f} | {' | '.join(cells)} |"


def figure(time: float | None, other: float | None) -> str:
    """Milliseconds, with the multiple of the other's."""
    if time is None:
        return "–"
    return f"{time:,.0f}" + (f" ({time / other:.1f} ×)" if other else "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = [name for name in CASES if name != "sentence-transformers"]
    parser.add_argument("names", nargs="*", default=default, help=", ".join(CASES))
    parser.add_argument("--encoder", type=Path, help="folder of a sentence-transformers model")
    parser.add_argument("--output", type=Path, help="also write install.md into this folder")
    options = parser.parse_args()
    print(HEAD)
    lines, first = [HEAD], None
    for name in sorted(options.names, key=list(CASES).index):
        found = measured(name, options.encoder and options.encoder.resolve())
        lines.append(found.row(name, first))
        print(lines[-1], flush=True)
        first = found if name == FIRST else first
    if options.output:
        table = "\n".join([*lines, "", NOTE, ""])
        (options.output / "install.md").write_text(table, encoding="utf-8")


def measured(name: str, encoder: Path | None) -> Measured:
    package, load, make, use = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        python = place / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        empty = size(place / "env")
        command = [python, "-m", "pip", "install", "--quiet", "--no-compile", package]
        subprocess.run(command, check=True, capture_output=True)
        full = size(place / "env") - empty
        first = None if make is None else elapsed(python, make, place)
        imports = best(python, load, place)
        answers = None
        if make is not None or encoder is not None:
            answers = best(python, use.replace("ENCODER", repr(str(encoder))), place)
        return Measured(full, (imports, answers, first))


def size(folder: Path) -> int:
    """Bytes of all files but those that Python writes when it first imports a module."""
    files = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return sum(path.stat().st_size for path in files if path.is_file())


def best(python: Path, code: str, place: Path) -> float:
    return min(elapsed(python, code, place) for _ in range(REPEATS))


def elapsed(python: Path, code: str, place: Path) -> float:
    """Milliseconds that a new process takes for the code, once Python has started."""
    clock = "time.perf_counter()"
    timed = f"import time\nbegun = {clock}\n{TEXTS}{code}\nprint(1e3 * ({clock} - begun))"
    done = subprocess.run(
        [python, "-E", "-W", "ignore", "-c", timed],
        cwd=place,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
