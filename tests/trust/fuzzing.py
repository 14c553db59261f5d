"""Inputs changed at random: whatever reads bytes, matrices or texts of others.

``python -m tests.trust.fuzzing TARGET SECONDS`` fuzzes one target: guided by coverage with atheris
where it is installed, else by plain mutation. An exception that is not dcot's, a signal, more than
5 seconds or 1 GB for one input is a bug: the input is kept in ``fuzz-output`` and belongs into the
tests. ``test_fuzz.py`` runs a bounded number of mutations of each target.
"""

from __future__ import annotations

import gzip
import io
import random
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

MAX_SECONDS = 5
MAX_BYTES = 1 << 30
Target = Callable[[bytes], Any]


class TooMuchError(Exception):
    """An input took too long, or too much memory."""


@contextmanager
def bounded() -> Iterator[None]:
    """Errors of dcot pass; too much time or memory does not."""
    import resource  # here, because Windows has none and imports this module, too

    import dcot

    def stop(number: int, frame: Any) -> None:
        raise TooMuchError(f"more than {MAX_SECONDS} seconds")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # by the processor's time, so that a busy machine is no bug; and by the clock, if it waits
    timers = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    old = {number: signal.signal(number, stop) for number in timers}
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 20 * MAX_SECONDS)
    try:
        with warnings.catch_warnings(), suppress(dcot.DcotError):
            warnings.simplefilter("ignore")
            yield
    finally:
        for number, timer in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, old[number])
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    grown = unit * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if grown > MAX_BYTES:
        raise TooMuchError(f"{grown:,} bytes of memory")


# -- targets ------------------------------------------------------------------------------------

ENDINGS = ("csv", "tsv", "jsonl", "txt", "parquet", "csv.gz", "jsonl.gz", "txt.gz")
_PLACE = tempfile.TemporaryDirectory()


def _file(name: str, data: bytes) -> Path:
    path = Path(_PLACE.name) / name
    path.write_bytes(data)
    return path


def readers(data: bytes) -> None:
    """The first byte is the kind of file, the second its options, the rest what is in it."""
    from dcot.text import read_texts

    kind, options, content = data[:1] or b"\0", data[1:2] or b"\0", data[2:]
    path = _file(f"a.{ENDINGS[kind[0] % len(ENDINGS)]}", content)
    encoding = ("utf-8", "latin-1", "utf-16")[options[0] % 3]
    errors = ("strict", "replace")[options[0] % 2]
    list(read_texts(path, encoding=encoding, errors=errors))


def sgml(data: bytes) -> None:
    from dcot.datasets._reuters import parse_sgml

    list(parse_sgml(data))


def labels(data: bytes) -> None:
    """A file of labels, as ``dcot label`` imports it."""
    from dcot.web import formats

    formats.read(data.decode("utf-8", "surrogateescape"), "labels")


def npz(data: bytes) -> None:
    from dcot import DCoT
    from dcot.stream import NpzFiles

    DCoT(3).fit(NpzFiles(_file("a.npz", data)))


def manifest(data: bytes) -> None:
    """The first byte chooses a file of a model folder, whose checksums are right again."""
    from tests.unit.persistence.conftest import TEXTS, forge

    import dcot

    folder = Path(_PLACE.name) / "model"
    if not folder.exists():
        dcot.DCoTVectorizer(n_prototypes=4).fit(TEXTS).save(folder)
    role = ("settings", "vocabulary", "arrays")[(data[:1] or b"\0")[0] % 3]
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    try:
        forge(folder, **{role: data[1:]})
        dcot.load(folder).transform(TEXTS)
    finally:
        for path in folder.iterdir():
            path.unlink()
        for name, content in kept.items():
            (folder / name).write_bytes(content)


def matrices(data: bytes) -> None:
    """A CSR, BSR or LIL matrix of any integers and floats."""
    import numpy as np
    import scipy.sparse as sp

    from dcot import DCoT, DCoTClassifier
    from dcot.text import TermWeighting

    words = np.frombuffer(data[: len(data) // 8 * 8], dtype="<i8")
    if len(words) < 12:
        return
    n = int(words[0] % 6)
    kind = (np.int64, np.int32, np.uint32, np.uint64, np.int16, np.uint8)[int(words[1] % 6)]
    wild = words[2] % 2 == 0
    body = words[3:] if wild else np.abs(words[3:]) % 7
    X = sp.csr_matrix((max(n, 1), 7))
    with np.errstate(all="ignore"):
        X.indptr = body[: n + 1].astype(kind)
        if not wild:
            X.indptr = np.minimum(np.cumsum(X.indptr), len(body) - n - 1).astype(kind)
            X.indptr[:1] = 0
        X.indices = body[n + 1 :].astype(kind)
        X.data = words[3 + n + 1 :].view(np.float64).copy() if wild else np.abs(X.indices) + 1.0
    form = int(words[0]) // 6 % 3
    if form == 1:
        blocks = sp.bsr_matrix(X.shape, blocksize=(1, 1))
        blocks.indptr, blocks.indices, blocks.data = X.indptr, X.indices, X.data.reshape(-1, 1, 1)
        X = blocks
    elif form == 2:
        lists = sp.lil_matrix(X.shape)
        lists.rows[0], lists.data[0] = X.indices[:9].tolist(), X.data[: int(words[1]) % 12].tolist()
        X = lists
    known = DCoT(3).fit(np.eye(7))
    for use in (
        lambda: DCoT(3).fit_transform(X),
        lambda: known.transform(X),
        lambda: DCoT(3).partial_fit(X).transform(np.eye(7)),
        lambda: DCoTClassifier(selection="none").fit(X, ["a", "b"] + [None] * (X.shape[0] - 2)),
        lambda: TermWeighting("bm25").fit_transform(X),
        lambda: DCoT(3).fit([X, X]),
    ):
        with bounded():
            use()


def texts(data: bytes) -> None:
    """Texts of any characters, in any analyzer, learned from and looked up."""
    import numpy as np

    from dcot import DCoTVectorizer

    analyzer = ("word", "char", "char_wb")[(data[:1] or b"\0")[0] % 3]
    longest = 1 + (data[1:2] or b"\0")[0] % 4
    found = data[2:].decode("utf-16-le", "ignore").split("\n")
    model = DCoTVectorizer(n_prototypes=5, analyzer=analyzer, ngram_range=(1, longest), min_df=1)
    features = model.fit(found).transform([*found, *found[:1]])
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(features[0], features[-1])


TARGETS: dict[str, Target] = {
    "readers": readers,
    "sgml": sgml,
    "labels": labels,
    "npz": npz,
    "manifest": manifest,
    "matrices": matrices,
    "texts": texts,
}
# Compiled code cannot be watched, and code that numba compiles must not be changed.
WATCHED = {
    "readers": ["dcot.text.readers", "dcot.text.tables", "dcot.text.decoding"],
    "sgml": ["dcot.datasets._reuters"],
    "labels": ["dcot.web.formats"],
    "npz": ["dcot.stream.sources", "numpy.lib.format"],
    "manifest": ["dcot.persistence", "dcot.vectorizer"],
    "matrices": ["dcot.core.centred"],
    "texts": ["dcot.text.inputs", "dcot.text.analysis"],
}


# -- inputs to start from -----------------------------------------------------------------------


def seeds(name: str) -> list[bytes]:
    """Good inputs of a target."""
    import numpy as np
    import polars as pl
    import scipy.sparse as sp

    if name == "readers":
        quoted = 'a "quoted", text\nof two lines'
        frame = pl.DataFrame({"id": [1, 2], "text": ["crude oil", quoted], "y": ["", "b"]})
        parquet = io.BytesIO()
        frame.write_parquet(parquet)
        comma, tab, lines = frame.write_csv(), frame.write_csv(separator="\t"), frame.write_ndjson()
        plain = [comma, tab, lines, "crude oil\nopec\n"]
        bodies = [one.encode() for one in plain] + [parquet.getvalue()]
        bodies += [gzip.compress(bodies[place], mtime=0) for place in (0, 2, 3)]
        return [bytes([kind, 0]) + body for kind, body in enumerate(bodies)]
    if name == "sgml":
        story = (
            b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="2">\n<TOPICS><D>crude</D></TOPICS>'
            b"<TEXT>&#2;<TITLE>OIL &amp; GAS</TITLE><BODY>Crude rose.&#3;</BODY></TEXT></REUTERS>\n"
        )
        return [story, story * 3]
    if name == "labels":
        from dcot.web.formats import Entry, written

        entries = [Entry("1", "oil", text="crude, oil"), Entry("2", "=x", "random", text="a\nb")]
        return [written(entries, kind).encode() for kind in _formats()]
    if name == "npz":
        found = io.BytesIO()
        matrix = sp.random(20, 9, 0.3, format="csr", random_state=0)
        sp.save_npz(found, matrix, compressed=False)
        return [found.getvalue()]
    if name == "manifest":
        with suppress(Exception):
            manifest(b"")
        folder = Path(_PLACE.name) / "model"
        roles = ("settings", "vocabulary", "arrays")
        return [bytes([n]) + next(folder.glob(f"{r}-*")).read_bytes() for n, r in enumerate(roles)]
    if name == "matrices":
        rng = np.random.default_rng(0)
        found = rng.integers(0, 7, (6, 30)).astype("<i8")
        found[:, 0] = [3, 5, 9, 11, 15, 17]  # rows, and the format
        return [words.tobytes() for words in found]
    sample = "crude oil rose\nopec's naïve Ω output 中文 😀\n\nﬀ \u202e x\u0301"
    return [bytes([kind, 1]) + sample.encode("utf-16-le") for kind in range(3)]


def _formats() -> tuple[Any, ...]:
    from typing import get_args

    from dcot.web import formats

    return get_args(formats.Format)


INTERESTING = [0, 1, -1, 2**15, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63), 255]
PIECES = [b"", b"\0", b'"', b"\n", b"\r", b",", b"\t", b"<", b"&#", b"[" * 2000, b"{", b"\xff\xfe"]
PIECES += [b"\xed\xa0\x80", b"9" * 400, b"NaN", b"1e999", b"null", b"a" * 70_000, b"\x1f\x8b"]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The same with one to six places changed."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        place = rng.randrange(len(out) + 1)
        what = rng.randrange(7)
        if what == 0 and place < len(out):
            out[place] = rng.randrange(256)
        elif what == 1 and place < len(out):
            out[place] ^= 1 << rng.randrange(8)
        elif what == 2:
            out[place:place] = rng.choice(PIECES)
        elif what == 3:
            del out[place : place + rng.choice([1, 4, 64, 10**6])]
        elif what == 4:
            start = rng.randrange(len(out) + 1)
            out[place:place] = out[start : start + rng.choice([1, 8, 64])]
        elif what == 5:
            number = struct.pack("<q", rng.choice(INTERESTING))
            place -= place % 8
            out[place : place + 8] = number
        else:
            out[place : place + 4] = rng.choice(PIECES)[:70]
    return bytes(out)


def attempt(name: str, data: bytes) -> None:
    """Try one input; whatever is raised is a bug."""
    with bounded():
        TARGETS[name](data)


def attempts(name: str, count: int, seed: int = 0) -> Iterator[bytes]:
    """Mutations of good inputs."""
    rng = random.Random(f"{name}-{seed}")
    good = seeds(name)
    for data in good:  # also imports and compiles, which takes its time
        TARGETS[name](data)
    for _ in range(count):
        yield mutated(rng.choice(good), rng)


# -- longer runs --------------------------------------------------------------------------------


def _keep(name: str, data: bytes, error: BaseException) -> None:
    folder = Path("fuzz-output")
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{abs(hash(data)):x}"
    path.write_bytes(data)
    print(f"FOUND {name}: {error!r:.300}; the input is {path}", flush=True)


def plain(name: str, seconds: float) -> int:
    """Mutations without a guide, until the time is over; how many."""
    end, done, seed = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        seed += 1
        for data in attempts(name, 200, seed):
            done += 1
            try:
                attempt(name, data)
            except Exception as error:
                _keep(name, data, error)
            if time.monotonic() > end:
                break
    return done


def guided(name: str, seconds: int) -> None:
    """The same, guided by coverage; does not return."""
    import atheris

    for module in ("numpy", "scipy.sparse", "polars", "numba", "sklearn"):
        __import__(module)
    with atheris.instrument_imports(include=WATCHED[name]):
        for module in WATCHED[name]:
            __import__(module)
    count = 0

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        try:
            attempt(name, data)
        except Exception as error:
            _keep(name, data, error)

    corpus = Path(tempfile.mkdtemp())
    for number, data in enumerate(seeds(name)):
        (corpus / str(number)).write_bytes(data)
    limits = [f"-max_total_time={seconds}", "-max_len=100000", "-rss_limit_mb=4096", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *limits, "-print_final_stats=1", str(corpus)], one)
    atheris.Fuzz()


def main(name: str, seconds: str, engine: str = "") -> None:
    try:
        import atheris  # noqa: F401
    except ImportError:
        engine = "plain"
    if engine == "plain":
        print(f"{name}: {plain(name, float(seconds)):,} inputs, by mutation", flush=True)
    else:
        guided(name, int(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
