"""Results in every format, written whole or not at all."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from tests.unit.cli.running import documents, run

import dcot
from dcot.cli import app
from dcot.cli.files import frame, joined

ROWS = documents()
TEXTS = [text for _, _, text in ROWS]
COLUMNS = ("news.csv", "--text", "body", "--id", "number")


@pytest.fixture
def expected(shelf):
    model = dcot.load("model")
    return model.transform(TEXTS), model.get_feature_names_out().tolist()


READ = {
    "parquet": pl.read_parquet,
    "csv": pl.read_csv,
    "tsv": lambda path: pl.read_csv(path, separator="\t"),
    "jsonl": pl.read_ndjson,
}


@pytest.mark.parametrize("ending", READ)
def test_features_by_name(shelf, expected, ending, monkeypatch):
    monkeypatch.setattr("dcot.cli.corpus._BATCH_DOCUMENTS", 5)
    done = run("transform", "model", *COLUMNS, "-o", f"f.{ending}", "--json")
    features, names = expected
    assert done.json == {"documents": 24, "features": len(names), "output": f"f.{ending}"}
    found = READ[ending](f"f.{ending}")
    assert found.columns == ["id", *names]
    assert [int(one) for one in found["id"]] == [number for number, _, _ in ROWS]
    np.testing.assert_allclose(found.drop("id").to_numpy(), features, atol=1e-6)


def test_features_as_arrays(shelf, expected, monkeypatch):
    monkeypatch.setattr("dcot.cli.corpus._BATCH_DOCUMENTS", 5)
    features, names = expected
    assert run("transform", "model", *COLUMNS, "-o", "f.npy").code == 0
    assert run("transform", "model", *COLUMNS, "-o", "f.npz").code == 0
    np.testing.assert_allclose(np.load("f.npy"), features, atol=1e-6)
    found = np.load("f.npz")  # allow_pickle is False by default
    np.testing.assert_allclose(found["features"], features, atol=1e-6)
    assert found["feature_names"].tolist() == names
    assert found["id"].astype(int).tolist() == [number for number, _, _ in ROWS]


def test_sparse_features(here):
    run("fit", "news.txt", "--features", "concat", "--n-prototypes", "4", "-o", "m")
    features = dcot.load("m").transform(TEXTS)
    for ending in ("npz", "npy"):
        assert run("transform", "m", "news.txt", "-o", f"f.{ending}").code == 0
    found = sp.load_npz("f.npz")
    np.testing.assert_allclose(found.toarray(), features.toarray(), atol=1e-6)
    np.testing.assert_allclose(np.load("f.npy"), features.toarray(), atol=1e-6)


@pytest.mark.parametrize("ending", READ)
def test_predictions(shelf, ending):
    done = run("predict", "classifier", *COLUMNS, "--top", 2, "-o", f"p.{ending}")
    assert done.code == 0, done.err
    found = READ[ending](f"p.{ending}")
    names = ["id", "prediction", "probability", "class_2", "probability_2", "known_words"]
    assert found.columns == names
    model = dcot.load("classifier")
    assert found["prediction"].to_list() == model.predict(TEXTS).tolist()
    best = model.predict_proba(TEXTS).max(axis=1)
    np.testing.assert_allclose(found["probability"], best, atol=1e-6)
    np.testing.assert_allclose(found["probability"] + found["probability_2"], 1, atol=1e-6)


def test_predictions_as_arrays(shelf):
    for ending in ("npy", "npz"):
        assert run("predict", "classifier", *COLUMNS, "-o", f"p.{ending}").code == 0
    expected = dcot.load("classifier").predict(TEXTS).tolist()
    assert np.load("p.npy").tolist() == expected
    assert np.load("p.npz")["prediction"].tolist() == expected


def test_the_same_command_gives_the_same_bytes(shelf):
    for ending in ("npy", "npz", "csv", "jsonl", "parquet"):
        for name in ("a", "b"):
            run("transform", "model", "news.txt", "-o", f"{name}.{ending}")
        assert (shelf / f"a.{ending}").read_bytes() == (shelf / f"b.{ending}").read_bytes()


def test_an_id_like_a_feature(here):
    table = frame({"id": [1]}, np.array([[0.5, 0.25]]), ["id", "x"])
    assert table.columns == ["id", "id_", "x"]


# -- what can go wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("f.xls", ["ends in '.xls'", ".parquet"]),
        ("nowhere/f.csv", ["nowhere does not exist", "mkdir -p"]),
        ("news.csv", ["is an input of this command"]),
        ("folder.csv", ["is a folder"]),
    ],
)
def test_outputs_that_cannot_be(shelf, path, words):
    (shelf / "folder.csv").mkdir()
    before = (shelf / "news.csv").read_bytes()
    done = run("transform", "model", *COLUMNS, "-o", path)
    assert (done.code, done.out) == (1, "")
    for word in words:
        assert word in done.err
    assert (shelf / "news.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("fit", "news.txt", "-o", ""), "-o"),
        (("transform", "model", "news.txt", "-o", ""), "-o"),
        (("label", "news.txt", "--no-open", "-o", ""), "-o"),
        (("info", ""), "MODEL"),
    ],
)
def test_an_empty_name_is_not_the_current_folder(shelf, arguments, name):
    before = sorted(shelf.rglob("*"))
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert name in done.err
    assert "the name is empty" in done.err
    assert sorted(shelf.rglob("*")) == before


def no_permission(path, mode):
    return mode != os.W_OK


def test_a_folder_that_cannot_be_written(shelf, monkeypatch):
    monkeypatch.setattr(os, "access", no_permission)
    assert "cannot be written" in run("transform", "model", *COLUMNS, "-o", "f.csv").err
    assert "cannot be written" in run("fit", "news.txt", "-o", "m").err


@pytest.mark.parametrize(
    ("ending", "code"), [("csv", errno.ENOSPC), ("npz", errno.EIO), ("parquet", errno.EROFS)]
)
def test_a_full_disk_leaves_what_was_there(shelf, monkeypatch, ending, code):
    (shelf / f"f.{ending}").write_text("precious")

    def fail(handle):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    done = run("transform", "model", *COLUMNS, "-o", f"f.{ending}")
    assert done.code == 1
    assert f"cannot write f.{ending}: {os.strerror(code)}" in done.err
    assert (shelf / f"f.{ending}").read_text() == "precious"
    assert not list(shelf.glob(".*"))


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_a_file_that_grows_too_large(shelf, ending):
    """A real limit of the system, met in the middle of writing."""
    import resource
    import signal

    (shelf / "many.txt").write_text("opec oil\n" * 9000)
    (shelf / f"f.{ending}").write_text("precious")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        done = run("transform", "model", "many.txt", "-o", f"f.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert done.code == 1, done.err
    assert f"cannot write f.{ending}: File too large; free some space" in done.err
    assert (shelf / f"f.{ending}").read_text() == "precious"
    assert not list(shelf.glob(".*"))


@pytest.mark.parametrize("name", ["f.npy", "f.npz"])
def test_a_classifier_has_features_too(shelf, name):
    done = run("transform", "classifier", "news.txt", "-o", name)
    assert done.code == 0, done.err
    found = np.load(name)
    texts = (shelf / "news.txt").read_text().splitlines()
    expected = dcot.load("classifier").transform(texts)
    np.testing.assert_array_equal(found if name == "f.npy" else found["features"], expected)


@pytest.mark.parametrize("name", ["f.npy", "f.npz", "f.parquet", "folder"])
def test_a_classifier_has_the_columns_of_its_word_vectors(here, name):
    labelled = ("news.csv", "--text", "body", "--label", "topic")
    assert run("train", *labelled, "--embedding", "vectors.txt", "-o", "m").code == 0
    model = dcot.load("m")
    expected, names = model.transform(TEXTS), model.get_feature_names_out().tolist()
    assert names[-1] == "embedding1"
    done = run("transform", "m", "news.txt", "-o", name, "--json")
    assert done.code == 0, done.err
    assert done.json["features"] == len(names)
    if name == "folder":
        found = np.array(pl.read_parquet("folder/*.parquet")["features"].to_list())
    elif name == "f.parquet":
        found = pl.read_parquet(name).drop("id").select(names).to_numpy()
    else:
        found = np.load(name) if name == "f.npy" else np.load(name)["features"]
    np.testing.assert_array_equal(found, expected)


def test_features_of_an_encoder_are_not_left_out_silently(here):
    labels = ["oil" if "o" in text.split()[0] else "other" for text in TEXTS]
    vectors = np.random.default_rng(0).normal(size=(len(TEXTS), 2))
    vectors[:, 0] += [10 * (label == "oil") for label in labels]
    model = dcot.DCoTClassifier(grid={"embedding": (1.0,)}).fit(TEXTS, labels, vectors=vectors)
    model.save("m")
    done = run("transform", "m", "news.txt", "-o", "f.npy")
    assert done.code == 1
    assert "call its transform" in done.err
    assert not (here / "f.npy").exists()


# -- large outputs ------------------------------------------------------------------------------


def interrupted_at_the_fourth_batch(monkeypatch):
    """Ctrl-C in the fourth of batches of 1000 documents; the list has all that were begun."""
    from dcot.stream import writing

    monkeypatch.setattr("dcot.text.readers._BATCH_TEXTS", 1000)
    monkeypatch.setattr("dcot.text.readers._BATCH_CHARACTERS", 10_000)
    real, calls = writing._write_batch, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(writing, "_write_batch", interrupted)
    return calls


@pytest.mark.parametrize("name", ["f.npy", "features"])
def test_an_interrupted_transform_goes_on(shelf, monkeypatch, name):
    """Killed after some batches were noted; the same command writes the rest, and only that."""
    from dcot.stream import writing

    (shelf / "many.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in TEXTS * 2000)
    )
    monkeypatch.setattr(writing, "_SYNC_BYTES", 1)
    calls = interrupted_at_the_fourth_batch(monkeypatch)
    done = run("transform", "model", "many.jsonl", "-o", name)
    assert done.code == 130
    assert f"{name} is not complete: the same command resumes" in done.err
    assert not (shelf / name).exists()
    done = run("transform", "model", "many.jsonl", "-o", name)
    assert done.code == 0, done.err
    got = features_in(name)
    batches = -(-len(got) // 1000)
    assert len(calls) < 4 + batches  # not all of them again
    assert not list(shelf.glob(f"{name}.*"))
    assert run("transform", "model", "many.jsonl", "-o", f"whole-{name}").code == 0
    np.testing.assert_array_equal(got, features_in(f"whole-{name}"))
    one = dcot.load("model").transform(TEXTS)
    np.testing.assert_allclose(got, np.tile(one, (2000, 1)), atol=1e-6)


def features_in(name):
    if name.endswith(".npy"):
        return np.load(name)
    return pl.read_parquet(f"{name}/part-*.parquet").sort("document")["features"].to_numpy()


@pytest.mark.parametrize("name", ["f.npy", "features"])
def test_it_goes_on_beside_an_older_output(shelf, monkeypatch, name):
    """The older one stays until the new one is complete; --overwrite starts again."""

    def length():
        if name == "f.npy":
            return len(np.load(name))
        return len(pl.read_parquet(f"{name}/part-*.parquet"))

    (shelf / "many.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in TEXTS * 200)
    )
    assert run("transform", "model", "news.txt", "-o", name).code == 0
    calls = interrupted_at_the_fourth_batch(monkeypatch)
    command = ("transform", "model", "many.jsonl", "-o", name)
    first = (*command, "--overwrite") if name == "features" else command
    done = run(*first)
    assert done.code == 130
    without = " without --overwrite" if name == "features" else ""
    assert f"the same command{without} resumes" in done.err
    assert length() == 24
    done = run(*command)
    assert done.code == 0, done.err
    assert length() == 4800
    again = len(calls)
    assert run(*command, "--overwrite").code == 0
    assert len(calls) - again > again - 4  # all batches, where the rest was less


def test_a_folder_is_not_written_over(shelf):
    assert run("transform", "model", "news.txt", "-o", "features").code == 0
    done = run("transform", "model", "news.txt", "-o", "features")
    assert done.code == 1
    assert "features exists: replace it with --overwrite" in done.err
    assert run("transform", "model", "news.txt", "-o", "features", "--overwrite").code == 0
    (shelf / "thesis").mkdir()
    (shelf / "thesis" / "chapter1.tex").write_text("years of work")
    done = run("transform", "model", "news.txt", "-o", "thesis", "--overwrite")
    assert done.code == 1
    assert "name another folder" in done.err
    assert (shelf / "thesis" / "chapter1.tex").read_text() == "years of work"
    done = run("transform", "model", *COLUMNS, "-o", "more")
    assert done.code == 1
    assert "no column for --id" in done.err


def test_what_another_model_began_is_not_taken_up(shelf):
    record = {"model": "another", "width": 3, "dtype": "<f4", "kind": "npy", "rows": 5}
    record["checksum"] = 7
    (shelf / "f.npy.progress").write_text(json.dumps(record))
    done = run("transform", "model", "news.txt", "-o", "f.npy")
    assert done.code == 1
    assert "begun with another model" in done.err
    assert "start again with overwrite=True (--overwrite)" in done.err
    assert run("transform", "model", "news.txt", "-o", "f.npy", "--overwrite").code == 0


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_large_output_that_finds_no_room_says_what_is_safe(shelf):
    import resource
    import signal

    (shelf / "many.txt").write_text("opec oil\n" * 9000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        done = run("transform", "model", "many.txt", "-o", "f.npy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert done.code == 1, done.err
    assert "f.npy cannot be written: there is no more room" in done.err
    done = run("transform", "model", "many.txt", "-o", "f.npy")
    assert done.code == 0, done.err
    assert len(np.load("f.npy")) == 9000


def test_an_error_midway_leaves_what_was_there(shelf):
    (shelf / "long.jsonl").write_text('{"text": "opec"}\n' * 5000 + "broken\n")
    (shelf / "f.csv").write_text("precious")
    done = run("transform", "model", "long.jsonl", "-o", "f.csv")
    assert done.code == 1
    assert "line 5001" in done.err
    assert (shelf / "f.csv").read_text() == "precious"
    assert not list(shelf.glob(".*"))


@pytest.mark.parametrize("command", ["fit", "train", "index"])
def test_what_is_no_model_is_not_written_over(shelf, command):
    (shelf / "thesis").mkdir()
    (shelf / "thesis" / "chapter1.tex").write_text("years of work")
    more = {"train": ["--label", "topic"], "index": [], "fit": []}[command]
    first = ["model"] if command == "index" else []
    for target in ("thesis", "news.txt", "nowhere/model"):
        done = run(command, *first, "news.csv", "--text", "body", *more, "-o", target)
        assert (done.code, done.out) == (1, "")
        assert target.split("/")[0] in done.err
    assert (shelf / "thesis" / "chapter1.tex").read_text() == "years of work"
    assert [path.name for path in (shelf / "thesis").iterdir()] == ["chapter1.tex"]


def test_a_model_is_replaced(shelf):
    before = run("info", "model", "--json").json
    assert run("fit", "news.txt", "--n-prototypes", "4", "-o", "model").code == 0
    after = run("info", "model", "--json").json
    assert before["settings"]["n_prototypes"] == 8
    assert after["settings"]["n_prototypes"] == 4


@pytest.mark.parametrize(("precision", "share"), [("float16", 0.75), ("int8", 0.6)])
def test_smaller_models(here, precision, share):
    sizes = []
    for options in ([], ["--precision", precision]):
        done = run("fit", "news.txt", "--no-lowercase", "-o", "m", "--json", *options)
        weights = [size for name, size in run("info", "m", "--json").json["files"].items()]
        sizes.append(max(weights))
        assert done.json["bytes"] >= sum(weights)
    assert sizes[1] < share * sizes[0]


# -- several labels of a document ---------------------------------------------------------------

MANY = ("news.jsonl", "--text", "body", "--label", "topics")


@pytest.fixture
def several(here):
    """A classifier whose labels have blanks and a comma; a document can have two of them."""
    rows = [{"body": text, "topics": ["crude, oil", "oil price"]} for text in TEXTS[:4]]
    rows += [{"body": text, "topics": ["stock price"]} for text in TEXTS[4:8]]
    (here / "news.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("train", *MANY, "-o", "several")
    assert done.code == 0, done.err
    return dcot.load("several")


def predicted_labels(model, texts):
    order = np.argsort(-model.predict_proba(texts), axis=1, kind="stable")
    chosen = model.predict_proba(texts) > 0.5
    return [
        [model.classes_[k] for k in row if on[k]] for row, on in zip(order, chosen, strict=True)
    ]


def test_several_labels_are_not_left_out(several):
    done = run("predict", "several", "news.txt", "--abstain", "0.9")
    assert done.code == 1
    assert "--abstain needs a classifier with one label per document" in done.err
    assert "--top shows" in done.err


@pytest.mark.parametrize(("options", "mark"), [((), "|"), (("--label-separator", "; "), "; ")])
@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "npy", "lines"])
def test_several_labels_can_be_told_apart(several, ending, options, mark):
    expected = predicted_labels(several, TEXTS)
    assert max(map(len, expected)) == 2
    output = () if ending == "lines" else ("-o", f"p.{ending}")
    done = run("predict", "several", "news.txt", *output, *options)
    assert done.code == 0, done.err
    if ending == "lines":
        found = [line.split("\t")[1] for line in done.out.splitlines()[1:]]
    elif ending == "npy":
        found = np.load("p.npy").tolist()
    elif ending == "npz":
        found = np.load("p.npz")["prediction"].tolist()
    else:
        found = READ[ending](f"p.{ending}")["prediction"].to_list()
    assert [one.split(mark) if one else [] for one in found] == expected


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_formats_with_lists_keep_them(several, ending):
    command = ("predict", "several", "news.txt", "-o", f"p.{ending}", "--label-separator", " ")
    assert run(*command).code == 0
    found = READ[ending](f"p.{ending}")["prediction"].to_list()
    assert found == predicted_labels(several, TEXTS)


@pytest.mark.parametrize("output", [("-o", "p.csv"), ("-o", "p.npz"), ()])
def test_a_label_that_contains_the_separator_is_refused(several, here, output):
    done = run("predict", "several", "news.txt", *output, "--label-separator", " ")
    assert done.code == 1
    assert "'crude, oil'" in done.err
    assert "--label-separator" in done.err
    assert not (here / "p.csv").exists()
    done = run("predict", "several", "news.txt", *output, "--label-separator", "")
    assert (done.code, "is empty" in done.err) == (1, True)


@pytest.mark.parametrize(("parts", "mark"), [(["a|", "b"], "||"), ([""], "|")])
def test_lists_that_could_not_be_read_again_are_not_joined(parts, mark):
    with pytest.raises(dcot.DcotError, match="separates"):
        joined(parts, mark)


KEPT = {
    "numbers": [1, 2.5],
    "large numbers": [2**60 + 1, 0.5],
    "numbers beyond 64 bits": [2**70, 1],
    "text and numbers": ["a", 1],
    "lists and numbers": [["a"], 2],
    "objects": [{"a": 1}, {"b": [2]}],
    "objects and text": [{"a": 1}, "x"],
    "empty objects": [{}, {}],
    "nothing": [None, None],
    "not a number": [float("nan"), 1.0],
}


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "npz"])
@pytest.mark.parametrize("kind", KEPT)
def test_any_value_of_json_is_kept(shelf, kind, ending):
    lines = [json.dumps({"text": "opec oil", "kept": value}) for value in KEPT[kind]]
    (shelf / "odd.jsonl").write_text("\n".join(lines))
    done = run("predict", "classifier", "odd.jsonl", "--keep", "kept", "-o", f"p.{ending}")
    assert done.code == 0, done.err
    if ending == "jsonl":
        lines = (shelf / "p.jsonl").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line)["kept"] for line in lines]
        assert found == [None if one != one else one for one in KEPT[kind]]
    elif ending == "csv":
        found = pl.read_csv("p.csv", infer_schema_length=0)["kept"].to_list()
        expected = {
            "numbers": ["1.0", "2.5"],
            "large numbers": [str(2**60 + 1), "0.5"],
            "numbers beyond 64 bits": [str(2**70), "1"],
            "objects": ['{"a": 1}', '{"b": [2]}'],
            "objects and text": ['{"a": 1}', "x"],
        }
        assert found == expected.get(kind, found)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "npz"])
def test_any_column_of_parquet_is_kept(shelf, ending):
    odd = {
        "date": [date(2020, 1, 1), None],
        "duration": [timedelta(1), None],
        "bytes": [b"\xff", None],
        "object": [{"a": 1}, None],
        "list": [["a", "b"], None],
    }
    pl.DataFrame({"text": ["opec oil", "nasdaq"], **odd}).write_parquet("odd.parquet")
    keep = [word for name in odd for word in ("--keep", name)]
    done = run("predict", "classifier", "odd.parquet", *keep, "-o", f"p.{ending}")
    assert done.code == 0, done.err
    if ending == "parquet":
        found = pl.read_parquet("p.parquet")
        assert found["date"].to_list() == odd["date"]
        assert found["list"].to_list() == odd["list"]
        assert found["object"].to_list() == ['{"a": 1}', None]


def test_a_kept_column_never_takes_the_place_of_another(shelf):
    (shelf / "odd.csv").write_text("text,id,id_,prediction\nopec,a,b,c\n")
    keep = [word for name in ("id", "id_", "prediction") for word in ("--keep", name)]
    [row] = run("predict", "classifier", "odd.csv", *keep, "--json").rows
    assert [row[name] for name in ("id", "id__", "id_", "prediction_")] == [0, "a", "b", "c"]


@pytest.mark.parametrize(
    ("platform", "chosen", "expected"),
    [
        ("win32", None, "naïve 数据".encode()),
        ("win32", "cp1252", b"na\xefve \\u6570\\u636e"),
        ("linux", None, b"na\xefve \\u6570\\u636e"),
    ],
)
def test_pipes_get_utf_8_on_windows(platform, chosen, expected, monkeypatch):
    """Python would take the code page; commands read UTF-8."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    if chosen:
        monkeypatch.setenv("PYTHONIOENCODING", chosen)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    app._choose_encoding(stream)
    stream.write("naïve 数据")
    stream.flush()
    assert stream.buffer.getvalue() == expected
