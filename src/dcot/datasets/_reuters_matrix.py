"""The paper's own Reuters matrix: counts, 65 classes and its split, without a vocabulary."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dcot.datasets._checks import check_figures
from dcot.datasets._corpus import Corpus
from dcot.datasets._location import find_file
from dcot.errors import DatasetError

__all__ = ["load_reuters_matrix"]

_FILE = "Reuters21578.mat"
_HINT = (
    "It is the Reuters-21578 matrix that Deng Cai published with his text data sets "
    "(fea, gnd, trainIdx, testIdx)."
)


def load_reuters_matrix(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """Reuters-21578 as the dCoT paper used it: 5946 + 2347 documents × 18933 terms.

    Labels are the integers 1 to 65 of the file. Seven classes of the test set have no training
    document; they stay in.
    """
    path = find_file(_FILE, data_dir, hint=_HINT)
    content = _read(path)
    corpus = Corpus(
        name="reuters-matrix",
        counts=content["fea"],
        labels=content["gnd"].ravel().astype(np.intp),
        train=content["trainIdx"].ravel().astype(np.intp) - 1,  # MATLAB counts from one
        test=content["testIdx"].ravel().astype(np.intp) - 1,
        licence="research purposes only; copyright Reuters Ltd.",
        citation="D. Cai, X. Wang, X. He. Probabilistic dyadic data analysis with local and global "
        "consistency. ICML 2009 (which the dCoT paper follows). D. Cai, X. He, J. Han. Document "
        "clustering using locality preserving indexing. IEEE TKDE 17(12), 2005. Data: D. Lewis, "
        "Reuters-21578, Distribution 1.0.",
        description="Newswire of 1987, documents with one topic only, as counts without their "
        "vocabulary: the matrix of the dCoT paper. 58 of its 65 classes are in the training set.",
    )
    return check_figures(
        corpus, str(path), train=5946, test=2347, terms=18933, classes=65, train_classes=58
    )


def _read(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.sparse import csr_matrix

    try:
        with warnings.catch_warnings():
            # Newer SciPy warns that sparse arrays will replace matrices; csr_matrix takes both.
            warnings.simplefilter("ignore")
            content: dict[str, Any] = loadmat(path)
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise DatasetError(f"{path} cannot be read as a MATLAB file: {error}. {_HINT}") from error
    missing = {"fea", "gnd", "trainIdx", "testIdx"} - content.keys()
    if missing:
        raise DatasetError(f"{path} has no variables {sorted(missing)}. {_HINT}")
    content["fea"] = csr_matrix(content["fea"])
    return content
