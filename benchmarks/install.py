"""How large an install is, and how long until the first answer: dcot beside its alternatives.

``python -m benchmarks.install [NAME ...]`` installs each into a new environment, so it takes
minutes and a network; ``sentence-transformers`` only if it is named (several GB). Times are seconds
of the processor in a new process, the best of three. The first answer is one text through a saved
model, the import included; ``first ever`` is the first run after the install, in which dcot
compiles its kernels. For sentence-transformers it is the import alone, as a model would have to be
downloaded.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
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
CASES = {
    "dcot": (str(ROOT), "import dcot; dcot.DCoTClassifier", DCOT_SAVE, DCOT_USE),
    "dcot[cli]": (f"{ROOT}[cli]", "import dcot; dcot.DCoTClassifier", DCOT_SAVE, DCOT_USE),
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
    "sentence-transformers": (
        "sentence-transformers",
        "import sentence_transformers",
        "pass",
        "import sentence_transformers",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = [name for name in CASES if name != "sentence-transformers"]
    parser.add_argument("names", nargs="*", default=default, help=", ".join(CASES))
    print("| | MB | import, s | first answer, s | first ever, s |\n|---|---|---|---|---|")
    for name in parser.parse_args().names:
        print(f"| {name} | {' | '.join(measured(name))} |", flush=True)


def measured(name: str) -> list[str]:
    package, load, make, use = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        python = place / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        empty = size(place / "env")
        command = [python, "-m", "pip", "install", "--quiet", "--no-compile", package]
        subprocess.run(command, check=True, capture_output=True)
        full = size(place / "env") - empty
        first = cpu(python, make, place)
        imports = min(cpu(python, load, place) for _ in range(3))
        answers = min(cpu(python, use, place) for _ in range(3))
        return [f"{full / 1e6:.0f}", f"{imports:.2f}", f"{answers:.2f}", f"{first:.1f}"]


def size(folder: Path) -> int:
    """Bytes of all files but those that Python writes when it first imports a module."""
    files = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return sum(path.stat().st_size for path in files if path.is_file())


def cpu(python: Path, code: str, place: Path) -> float:
    """Seconds of the processor that a new process takes for the code."""
    timed = f"import time\n{TEXTS}{code}\nprint(time.process_time())"
    done = subprocess.run(
        [python, "-W", "ignore", "-c", timed], cwd=place, check=True, capture_output=True, text=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
