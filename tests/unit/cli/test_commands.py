"""What each command does and says."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.unit.cli.running import documents, run

import dcot
from dcot.bench.jobs import Failure
from dcot.bench.report.results import Results
from dcot.bench.report.tables import Table
from dcot.cli.evaluate import scores_of as evaluate

ROWS = documents()
LABELLED = ("--text", "body", "--label", "topic")


def test_fit_is_the_estimator(here):
    done = run("fit", "news.csv", "--text", "body", "--n-prototypes", 8, "-o", "m", "--json")
    texts = [text for _, _, text in ROWS]
    expected = dcot.DCoTVectorizer(n_prototypes=8).fit(texts)
    assert done.json["documents"] == len(texts)
    assert done.json["terms"] == len(expected.vocabulary_)
    assert done.json["prototypes"] == 8
    assert done.json["features"] == 16
    np.testing.assert_array_equal(dcot.load("m").transform(texts), expected.transform(texts))


def test_what_fit_says(here):
    done = run("fit", "news.txt", "-o", "m")
    assert "Learned from 24 documents" in done.out
    assert "Saved to m" in done.out
    assert run("fit", "news.txt", "-o", "m", "--quiet").out == ""


def test_threads_change_nothing(here, monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    monkeypatch.setenv("POLARS_MAX_THREADS", "2")
    for threads in (1, 2):
        assert run("fit", "news.txt", "-o", f"m{threads}", "--threads", threads).code == 0
    one, two = (dcot.load(f"m{threads}").transform(["opec oil"]) for threads in (1, 2))
    # BLAS rounds differently with other threads, and the scale of a layer is a difference
    np.testing.assert_allclose(one, two, atol=2e-5)
    assert run("fit", "news.txt", "-o", "m", "--threads", 0).code == 2


def test_train_tells_how_good_it_is(here):
    done = run("train", "news.csv", *LABELLED, "--n-prototypes", 8, "--test", "test.csv", "-o", "m")
    assert done.code == 0, done.err
    learned = "from 24 documents, and 2 classes from 16 labelled"
    for words in (learned, "TF-IDF", "macro-F1", "On test.csv"):
        assert words in " ".join(done.out.split())
    assert done.err.startswith("Note: 16 of these documents were trained on")


def test_train_for_machines(here):
    source = ("news.csv", *LABELLED, "--n-prototypes", 8)
    found = run("train", *source, "--test", "test.csv", "-o", "m", "--json").json
    model = dcot.load("m")
    assert (found["documents"], found["labelled"]) == (24, 16)
    assert found["classes"] == ["oil", "stocks"]
    assert found["estimate"]["dcot"]["accuracy"] == model.estimate_.dcot.accuracy
    assert found["test"]["documents"] == 16
    again = run("train", *source, "-o", "m2", "--json").json
    assert again["estimate"] == found["estimate"]


def test_more_unlabelled_documents(here):
    more = ("--unlabelled", "queries.txt", "--unlabelled", "news.txt")
    found = run("train", "news.csv", *LABELLED, *more, "-o", "m", "--json").json
    assert found["documents"] == 24 + 2 + 24
    assert found["labelled"] == 16


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("text,topic\noil,\ngas,\n", ["--label", "topic"], ["no document has a label", "'topic'"]),
        ("text,topic\noil,x\ngas,x\n", ["--label", "topic"], ["only one class"]),
        (
            "text,topic,n\noil,x,1\ngas,y,2\n",
            [],
            ["name the column with the labels with --label", "other columns are 'topic', 'n'"],
        ),
        ("text\noil\ngas\n", [], ["use a table and name the column", "--label"]),
    ],
)
def test_labels_that_do_not_suffice(here, content, options, words):
    (here / "a.csv").write_text(content)
    done = run("train", "a.csv", *options, "--text", "text", "-o", "m")
    assert (done.code, done.out) == (1, "")
    for word in words:
        assert word in done.err
    assert "unlabelled_label" not in done.err  # no number is a label here


def test_a_folder_without_folders_has_no_labels(here):
    Path("flat").mkdir()
    for name in "ab":
        Path(f"flat/{name}.txt").write_text("opec oil")
    done = run("train", "flat", "-o", "m")
    assert done.code == 1
    assert "put the files of each class in a folder of its name" in done.err


def test_several_labels_a_document(here):
    rows = [("opec oil", "oil,energy"), ("nasdaq stocks", "stocks"), ("crude oil", "oil,energy")]
    rows += [("shares", "stocks"), ("opec", "oil"), ("nasdaq", "stocks")]
    lines = [json.dumps({"text": text, "topics": topics}) for text, topics in rows]
    (here / "many.jsonl").write_text("\n".join(lines))
    labels = ("--label", "topics", "--label-separator", ",")
    done = run("train", "many.jsonl", *labels, "-o", "m", "--json")
    assert done.json["classes"] == ["energy", "oil", "stocks"]
    found = run("predict", "m", "many.jsonl", "--json").rows
    assert found[1]["prediction"] == ["stocks"]
    assert all(isinstance(row["prediction"], list) for row in found)
    scores = run("evaluate", "m", "many.jsonl", *labels, "--json").json
    assert 0 < scores["macro_f1"] <= 1
    for ending in ("csv", "parquet", "npz", "jsonl"):
        assert run("predict", "m", "many.jsonl", "-o", f"p.{ending}", "--top", 2).code == 0
    assert (here / "p.csv").read_text().splitlines()[2].split(",")[1] == "stocks"


def test_folders_are_classes(here):
    for label, texts in (("oil", ["opec oil", "crude"]), ("stocks", ["nasdaq", "shares"])):
        (here / "news" / label).mkdir(parents=True)
        for number, text in enumerate(texts):
            (here / "news" / label / f"{number}.txt").write_text(text)
    assert run("train", "news", "-o", "m", "--json").json["classes"] == ["oil", "stocks"]
    assert run("evaluate", "m", "news", "--json").json["documents"] == 4
    assert run("predict", "m", "news", "--json").rows[0]["id"] == "oil/0.txt"


# -- evaluating --------------------------------------------------------------------------------


def sets(labels):
    return [frozenset(label.split()) for label in labels]


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

    generator = np.random.default_rng(0)
    truth = generator.choice(["a", "b", "c", "new"], 200)
    predicted = generator.choice(["a", "b", "c"], 200)
    found = evaluate(sets(truth), sets(predicted), ["a", "b", "c"])
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, predicted))
    assert found["macro_f1"] == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert found["micro_f1"] == pytest.approx(f1_score(truth, predicted, average="micro"))
    names = ["a", "b", "c", "new"]
    table = precision_recall_fscore_support(truth, predicted, labels=names, zero_division=0)
    for name, *values in zip(names, *table, strict=True):
        score = next(score for score in found["classes"] if score["label"] == name)
        assert (score["precision"], score["recall"], score["f1"]) == pytest.approx(values[:3])
        assert score["documents"] == values[3]
    assert found["unseen_labels"] == {"new": int((truth == "new").sum())}
    true, wrong, count = found["confusions"][0].values()
    assert count == sum(a == true and b == wrong for a, b in zip(truth, predicted, strict=True))
    assert sum(pair["documents"] for pair in found["confusions"]) == round(
        200 * (1 - found["accuracy"])
    )
    low, high = found["accuracy_interval"]
    assert low < found["accuracy"] < high


def test_several_labels_are_scored_as_scikit_learn_does():
    from sklearn.metrics import f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    generator = np.random.default_rng(0)
    truth, predicted = (
        [frozenset(generator.choice(list("abc"), size)) for size in generator.integers(1, 3, 50)]
        for _ in range(2)
    )
    found = evaluate(truth, predicted, list("abc"))
    binary = MultiLabelBinarizer(classes=list("abc")).fit(truth)
    for average, score in (("macro", found["macro_f1"]), ("micro", found["micro_f1"])):
        expected = f1_score(binary.transform(truth), binary.transform(predicted), average=average)
        assert score == pytest.approx(expected)


def test_a_class_that_is_predicted_but_does_not_occur():
    found = evaluate(sets("aab"), sets("abc"), ["a", "b", "c"])
    assert found["macro_f1"] == pytest.approx(
        (2 / 3 + 0) / 2
    )  # c is not among the documents' classes
    assert [score["label"] for score in found["classes"]] == ["a", "b", "c"]


def test_evaluate(shelf):
    done = run("evaluate", "classifier", "test.csv", *LABELLED)
    assert "16 labelled documents." in done.out
    assert "Accuracy" in done.out
    found = run("evaluate", "classifier", "news.csv", *LABELLED, "--json").json
    assert (found["documents"], found["unlabelled"]) == (16, 8)
    texts, labels = zip(*[(text, label) for _, label, text in ROWS if label], strict=True)
    assert found["accuracy"] == dcot.load("classifier").score(list(texts), np.array(labels))


def test_evaluating_on_training_documents_is_noted(shelf):
    """No word is in two documents, so the model knows these by heart, and nothing else."""
    rows = [f"w{n} v{n} u{n},{'ab'[n % 2]}" for n in range(60)]
    (shelf / "a.csv").write_text("\n".join(["text,topic", *rows]))
    assert run("train", "a.csv", "--label", "topic", "-o", "m").code == 0
    done = run("evaluate", "m", "a.csv", "--label", "topic")
    assert "If it was trained on some of these documents" in done.err
    assert "If it was" not in run("evaluate", "classifier", "test.csv", *LABELLED).err
    assert "If it was" not in run("evaluate", "m", "a.csv", "--label", "topic", "-q").err


def test_empty_documents_are_noted(shelf):
    with (shelf / "news.csv").open("a") as file:
        file.write("7,,\n8,,  \n")
    done = run("train", "news.csv", *LABELLED, "-o", "m")
    assert "Note: 2 documents of 26 are empty." in done.err


def test_documents_without_a_known_word_are_noted(here):
    rows = [f"{'opec oil' if n % 2 else 'stocks'},{'ab'[n % 2]}" for n in range(16)]
    (here / "a.csv").write_text("\n".join(["text,topic", *rows, "zebra,", "gnu,", "yak,"]))
    done = run("train", "a.csv", "--label", "topic", "-o", "m", "--min-df", "2")
    assert "Note: 3 of 19 documents have no word that the model knows" in done.err
    done = run("train", "a.csv", "--label", "topic", "-o", "m", "--min-df", "1")
    assert "no word that the model knows" not in done.err


def test_labels_that_the_model_never_saw(shelf):
    (shelf / "a.csv").write_text("text,topic\nopec oil,oil\nopec oil,[red]gas\n")
    done = run("evaluate", "classifier", "a.csv", "--label", "topic", "--text", "text")
    assert "1 of them have labels that the model has never seen ([red]gas)" in done.out
    assert "Accuracy 50.0 %" in done.out
    (shelf / "a.csv").write_text("text,topic\nopec oil,\n")
    done = run("evaluate", "classifier", "a.csv", "--label", "topic", "--text", "text")
    assert done.code == 1
    assert "no document has a label" in done.err


# -- predicting --------------------------------------------------------------------------------


def test_predictions_in_a_pipe(shelf):
    done = run("predict", "classifier", "new.csv", "--text", "body", "--id", "number")
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert lines[0] == ["id", "prediction", "probability", "known_words"]
    assert [line[0] for line in lines[1:]] == [str(number) for number, _, _ in ROWS[:5]]
    assert {line[1] for line in lines[1:]} <= {"oil", "stocks"}


def test_a_text_without_known_words(shelf):
    done = run("predict", "classifier", "-", "--json", stdin="zzz\n\n")
    assert done.code == 0
    first, second = done.rows
    assert first["probability"] == second["probability"]
    assert not first["known_words"]
    assert not second["known_words"]
    assert "2 of 2 documents have no word that the model knows" in done.err
    done = run("predict", "classifier", "-", "--json", "--unknown", "?", stdin="zzz\nopec\n")
    assert [row["prediction"] == "?" for row in done.rows] == [True, False]
    assert [row["known_words"] for row in done.rows] == [False, True]
    assert "1 of 2 documents" in done.err
    Path("strange.csv").write_text("topic,body\noil,zzz\noil,opec\nstocks,nasdaq\n,\n,qqq\n")
    found = run("evaluate", "classifier", "strange.csv", *LABELLED, "--json").json
    assert (found["documents"], found["without_known_words"]) == (3, 1)
    shown = run("evaluate", "classifier", "strange.csv", *LABELLED).out
    assert "1 of them have no word that the model knows" in shown
    done = run("suggest", "classifier", "strange.csv", *LABELLED)
    assert "2 of 2 documents have no word that the model knows" in done.err


def test_word_vectors_are_in_the_model(here):
    train = ["train", "news.csv", "--text", "body", "--label", "topic", "-o", "m", "--json"]
    done = run(*train, "--embedding", "vectors.txt")
    assert done.code == 0, done.err
    assert done.json["setting"]["embedding"] > 0
    Path("vectors.txt").unlink()
    test = ["test.csv", "--text", "body", "--label", "topic", "--json"]
    assert run("evaluate", "m", *test).json["accuracy"] > 0.9
    words = run("explain", "m", "opec oil exports", "--json").json["words"]
    assert {word["word"] for word in words if word["vector"]} == {"opec", "oil"}
    assert "its vector" in run("explain", "m", "opec oil exports").out
    assert "word vectors of 4 of" in run("info", "m").out
    missing = run(*train, "--embedding", "vectors.txt")
    assert missing.code == 1
    assert "neither a file" in missing.err


def test_uncertain_documents_are_left_out(shelf):
    options = ["new.csv", "--text", "body", "--json"]
    certain = run("predict", "classifier", *options).rows
    model = dcot.load("classifier")
    least = model._answer_from(0.8)
    found = run("predict", "classifier", *options, "--abstain", "0.8").rows
    for row, other in zip(found, certain, strict=True):
        expected = other["prediction"] if other["probability"] >= least else ""
        assert row["prediction"] == expected
    assert run("predict", "classifier", *options, "--abstain", "90").code == 1
    found = run(
        "predict", "classifier", "-", "--json", "--abstain", "0.01", stdin="zzz\nopec\n"
    ).rows
    assert [row["prediction"] == "" for row in found] == [True, False]


def test_models_of_the_wrong_kind(shelf):
    done = run("predict", "model", "news.txt")
    assert (
        "holds a DCoTVectorizer, but a DCoTClassifier is needed: make one with dcot train"
        in done.err
    )
    done = run("transform", "index", "news.txt", "-o", "f.npy")
    assert "make one with dcot fit" in done.err
    for command in (["info", "nowhere"], ["predict", "nowhere", "news.txt"]):
        done = run(*command)
        assert (done.code, done.out) == (1, "")
        assert "there is no model folder at nowhere" in done.err


def test_a_classifier_of_matrices(here):
    model = dcot.DCoTClassifier().fit(np.eye(6), [0, 1, 0, 1, 0, 1])
    model.save("matrix")
    for command in (["predict"], ["transform", "-o", "f.npy"]):
        done = run(command[0], "matrix", "news.txt", *command[1:])
        assert done.code == 1
        assert "trained on a matrix" in done.err


def test_columns_of_the_input_beside_predictions(shelf):
    done = run(
        "predict", "classifier", "new.csv", "--text", "body", "--keep", "topic", "--keep", "body",
        "-o", "p.csv",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = pl.read_csv("p.csv", infer_schema=False)
    assert found.columns == ["id", "topic", "body", "prediction", "probability", "known_words"]
    assert found["topic"].fill_null("").to_list() == [label for _, label, _ in ROWS[:5]]
    (shelf / "a.csv").write_text("text,prediction\nopec,mine\n")
    done = run("predict", "classifier", "a.csv", "--text", "text", "--keep", "prediction")
    assert done.out.splitlines()[0].split("\t") == [
        "id",
        "prediction_",
        "prediction",
        "probability",
        "known_words",
    ]


def test_values_of_the_input_are_shown_as_they_are(shelf):
    rows = [{"n": 20210001, "year": 1987, "ok": True, "gone": None, "body": "opec"}]
    rows += [{"n": 20210002, "year": 1988, "ok": False, "gone": None, "body": "zzz"}]
    (shelf / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    kept = [part for name in ("year", "ok", "gone") for part in ("--keep", name)]
    command = ["predict", "classifier", "a.jsonl", "--text", "body", "--id", "n", *kept]
    shown = run(*command, watched=True).out
    for text in ("20210001", "20210002", "1987", "1988", "true", "false"):
        assert text in shown
    assert "None" not in shown
    lines = [line.split("\t") for line in run(*command).out.splitlines()]
    assert lines[1][:4] == ["20210001", "1987", "true", ""]
    assert [line[-1] for line in lines] == ["known_words", "true", "false"]
    (shelf / "b.jsonl").write_text('{"n": 1, "a\\tb": 2, "body": "opec"}\n')
    lines = run(*command[:2], "b.jsonl", *command[3:7], "--keep", "a\tb").out.splitlines()
    assert [line.count("\t") for line in lines] == [4, 4]


def test_numbers_that_identify_suggestions_are_shown(shelf):
    done = run("suggest", "classifier", "news.jsonl", *LABELLED, "--id", "number", watched=True)
    assert " 1002 " in done.out


def test_suggestions_are_those_of_the_classifier(shelf):
    found = run("suggest", "classifier", "news.csv", *LABELLED, "--id", "number", "-k", 3, "--json")
    model = dcot.load("classifier")
    labelled = [(text, label) for _, label, text in ROWS if label]
    model.refit(*(list(part) for part in zip(*labelled, strict=True)))
    pool = [(number, text) for number, label, text in ROWS if not label]
    expected = model.suggest([text for _, text in pool], 3)
    assert [row["id"] for row in found.rows] == [str(pool[one][0]) for one in expected]
    assert [row["text"] for row in found.rows] == [pool[one][1] for one in expected]
    many = run("suggest", "classifier", "news.csv", *LABELLED, "-k", 1000, "--json").rows
    assert len(many) == len(pool)
    done = run("suggest", "classifier", "test.csv", *LABELLED)
    assert (done.code, done.out) == (1, "")
    assert "every document has a label" in done.err


def test_refit_learns_from_other_labels(shelf):
    swapped = {"oil": "stocks", "stocks": "oil", "": ""}
    lines = [json.dumps({"text": text, "topic": swapped[label]}) for _, label, text in ROWS]
    (shelf / "swapped.jsonl").write_text("\n".join(lines))
    done = run("refit", "classifier", "swapped.jsonl", "--label", "topic", "-o", "m", "--json")
    assert done.code == 0, done.err
    assert done.json["labelled"] == 16
    before, after = (
        [row["prediction"] for row in run("predict", name, "news.txt", "--json").rows]
        for name in ("classifier", "m")
    )
    assert after == [swapped[one] for one in before]
    source = ("news.csv", *LABELLED)
    assert "Saved to classifier" in run("refit", "classifier", *source, "-o", "classifier").out


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["oil", "gas", "NA", "NA"], "2 documents have the label 'NA'"),
        (["a", "b", "c", "d"], "4 labelled documents have 4 different labels"),
        (["a", "a", "b", "b", "b", "c"], "of 3 classes, 1 class has a single labelled"),
        (["a", "a", "b", "b", "#N/A", "#N/A"], "add --unlabelled-label '#N/A'"),
        (["Oil", "oil", " OIL", "a", "a", "a"], "' OIL' (1) and 'Oil' (1) and 'oil' (1) differ"),
        (["new york", "new  york", "a", "a"], "'new  york' (1) and 'new york' (1) differ"),
    ],
)
def test_labels_that_may_be_a_mistake(here, labels, words):
    texts = ["opec oil", "crude oil", "nasdaq stocks", "shares", "opec", "nasdaq"]
    rows = [f"{text},{label}" for text, label in zip(texts, labels, strict=False)]
    (here / "a.csv").write_text("\n".join(["text,topic", *rows]))
    done = run("train", "a.csv", "--text", "text", "--label", "topic", "-o", "m")
    assert done.code == 0, done.err
    assert words in done.err
    assert run("train", "a.csv", "--text", "text", "--label", "topic", "-o", "m", "-q").err == ""


def test_several_values_can_mark_unlabelled_rows(here):
    labels = ["oil", "oil", "gas", "gas", "?", "unknown"]
    rows = [f"word{i} opec,{label}" for i, label in enumerate(labels)]
    (here / "a.csv").write_text("\n".join(["text,topic", *rows]))
    marks = ("--unlabelled-label", "?", "--unlabelled-label", "unknown")
    found = run("train", "a.csv", "--label", "topic", *marks, "-o", "m", "--json").json
    assert (found["labelled"], found["classes"]) == (4, ["gas", "oil"])


# -- the rest ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["model", "classifier"])
def test_info(shelf, kind):
    found = run("info", kind, "--json").json
    assert found["kind"] == type(dcot.load(kind)).__name__
    assert found["bytes"] == sum(found["files"].values())
    assert all((shelf / kind / name).stat().st_size == n for name, n in found["files"].items())
    text = run("info", kind).out
    for words in (found["kind"], "documents learned from", "prototypes", "24", "size"):
        assert words in text


def test_info_of_a_damaged_model(shelf):
    arrays = next((shelf / "model").glob("arrays-*"))
    content = bytearray(arrays.read_bytes())
    content[-1] ^= 1
    arrays.write_bytes(content)
    done = run("info", "model")
    assert (done.code, done.out) == (1, "")
    assert "checksum" in done.err


def test_demo(here):
    """The whole demo, with one draw of labels."""
    words = ("--word", "mortgage", "--word", "nosuch")
    done = run("demo", "--draws", 1, *words, "-o", "demo.png", "--json")
    assert done.code == 0, done.err
    assert list(done.json["accuracy"]) == ["bag of words", "TF-IDF", "LSI", "dCoT"]
    assert all(0.3 < one < 1 for one in done.json["accuracy"].values())
    assert list(done.json["words"]) == ["(empty)", "mortgage"]
    assert "Not in the corpus: nosuch" in done.err
    assert (here / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert run("demo", "-o", "demo.txt").code == 1


def test_a_test_file_without_labels_is_refused_before_training(here):
    Path("bare.csv").write_text("body,topic\nopec oil,\n")
    done = run("train", "news.csv", *LABELLED, "--test", "bare.csv", "-o", "m")
    assert done.code == 1
    assert "no document has a label" in done.err
    assert not Path("m").exists()


def test_one_is_no_plural(shelf):
    done = run("search", "index", "opec", "-k", 1, "-o", "hits.csv")
    assert done.out == "Wrote 1 hit of 1 query to hits.csv.\n"
    (shelf / "one.txt").write_text("opec oil\n")
    done = run("predict", "classifier", "one.txt", "-o", "p.csv")
    assert done.out == "Wrote predictions for 1 document to p.csv.\n"
    assert "(1 more word)" in run("explain", "classifier", "opec oil", "-k", 1).out


def test_a_wrong_choice_is_named_once(here):
    done = run("fit", "news.txt", "--features", "foo", "-o", "m")
    assert "'--features': 'foo' is not one of 'layers'" in done.err
    done = run("train", "news.csv", *LABELLED, "--features", "foo", "-o", "m")
    assert "Error: grid['features']: features must be some of" in done.err


def test_metadata_is_shown_as_json_has_it(here):
    (here / "a.jsonl").write_text('{"text": "opec oil", "new": true, "tags": ["x", "y"]}\n')
    kept = ("--metadata", "new", "--metadata", "tags")
    assert run("index", "new", "a.jsonl", *kept, "-o", "i").code == 0
    assert 'new: true, tags: ["x", "y"] · opec oil' in run("search", "i", "oil").out


# -- the experiments ---------------------------------------------------------------------------


def test_quiet_experiments_show_their_results(here, monkeypatch):
    table = Table("Accuracy (%)", ["labels", "10"], [["dCoT", "80.0"]], set())
    monkeypatch.setattr("dcot.bench.paper.dry_run", lambda *_, **__: table)
    monkeypatch.setattr("dcot.bench.defaults.run", lambda *_, **__: [table])
    for command in (["paper", "--dry-run"], ["defaults"]):
        shown = run("bench", *command)
        assert "dCoT" in shown.out
        assert run("bench", *command, "--quiet").out == shown.out
        found = run("bench", *command, "--json").json
        assert found == {"Accuracy (%)": [["labels", "10"], ["dCoT", "80.0"]]}


def test_a_failed_experiment_is_an_error_even_if_quiet(here, monkeypatch):
    results = Results("quick", (), [], 1, notes=["a table"])
    failures = [Failure("time, LDA", 3, "out of memory")]
    done = SimpleNamespace(results=results, failures=failures, report=Path("report.html"))
    monkeypatch.setattr("dcot.bench.paper.run", lambda *_, **__: done)
    found = run("bench", "paper", "--quiet")
    assert found.code == 1
    assert found.err == "Error: failed: time, LDA: out of memory\n"
