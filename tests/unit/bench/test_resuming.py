"""A run can be stopped at any time: what is finished stays, what is not is done once."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from dcot import DcotError
from dcot.bench import jobs as job_module
from dcot.bench import store as environment
from dcot.bench.experiments.accuracy import candidates_of, jobs
from dcot.bench.jobs import Context, Job, Runner
from dcot.bench.profiles import PROFILES
from dcot.bench.protocol import SEED
from dcot.bench.store import Store
from dcot.bench.systems import SYSTEMS, Classifier, StaticEmbeddings
from dcot.bench.systems.dcot import name_with

KEY = {"experiment": "accuracy", "corpus": "made", "system": "LSI", "draw": 0}

SCRIPT = """
import sys
sys.path[:0] = {paths!r}
from dataclasses import replace
from pathlib import Path
from conftest import make_corpus
from dcot.bench.experiments import WORK
from dcot.bench.experiments.accuracy import jobs
from dcot.bench.jobs import Context, Runner
from dcot.bench.profiles import PROFILES
from dcot.bench.store import Store
from dcot.bench.tasks import task_of

profile = replace(
    PROFILES["quick"],
    sample=None,
    few_labels={{"made": ("bag of words", "LSI")}},
    svm_systems=("bag of words", "LSI"),
    budgets=(10, 20),
)
if __name__ == "__main__":
    folder = Path({folder!r})
    context = Context(profile, folder / "features", given={{"made": task_of(make_corpus())}})
    runner = Runner(context, Store(folder / "cells"), WORK, {workers})
    failures = runner.run(list(jobs(context, ["few-labels"])))
    sys.exit(len(failures))
"""


def start(folder, workers=1):
    here, source = Path(__file__).parent, Path(__file__).parents[3] / "src"
    folder.mkdir(exist_ok=True)
    script = folder / "script.py"  # a file, which worker processes can import
    paths = [str(here), str(source)]
    script.write_text(SCRIPT.format(paths=paths, folder=str(folder), workers=workers))
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, str(script)], env={**os.environ, **threads})


def run_job(keys, work, store):
    context = Context(PROFILES["quick"], store.folder / "features")
    return Runner(context, store, {"accuracy": work}).run([Job("accuracy", "made, LSI", keys)])


def results_in(folder):
    return {
        json.dumps(cell.key, sort_keys=True): cell.result
        for cell in Store(folder / "cells").cells()
    }


def test_a_killed_run_resumes_with_identical_results(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert start(whole).wait() == 0
    process = start(broken)
    deadline = time.monotonic() + 300
    while len(results_in(broken)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in broken.rglob("*.json")}
    assert 3 <= len(finished) < len(results_in(whole))
    assert start(broken).wait() == 0
    assert results_in(broken) == results_in(whole)
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())


def test_processes_give_the_results_of_one(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assert start(one).wait() == 0
    assert start(two, workers=2).wait() == 0
    assert results_in(one) == results_in(two)


def test_jobs_with_the_same_slow_features_take_turns(tmp_path, monkeypatch):
    running, together = [], []

    def work(context, job, keys):
        running.append(job.title)
        together.append(set(running))
        time.sleep(0.05)
        running.remove(job.title)
        yield keys[0], {"accuracy": 0.5}

    def threads(workers, context, start, arguments):
        return ThreadPoolExecutor(workers, initializer=start, initargs=arguments)

    monkeypatch.setattr(job_module, "ProcessPoolExecutor", threads)
    monkeypatch.setattr(job_module, "threadpool_limits", lambda limit: None)
    context = Context(PROFILES["quick"], tmp_path / "features")
    made = [("encoder", "e"), ("dCoT with encoder", "e"), ("TF-IDF", ""), ("LSI", "")]
    all_jobs = [
        Job("accuracy", title, [{**KEY, "system": title}], features=features, seconds=1 + rank)
        for rank, (title, features) in enumerate(reversed(made))
    ]
    store = Store(tmp_path / "cells")
    assert Runner(context, store, {"accuracy": work}, workers=2).run(all_jobs) == []
    assert len(together) == len(made)
    assert {"encoder", "dCoT with encoder"} not in together
    assert any(len(each) == 2 for each in together)


def test_an_encoder_and_dcot_with_it_need_the_same_features(context, task):
    encoder = StaticEmbeddings()
    both = {encoder.name: encoder, name_with(encoder.name): Classifier(encoder)}
    context = replace(context, extra=both, given={"made": task})
    features = {job.options["system"]: job.features for job in jobs(context, ["few-labels"])}
    assert features[encoder.name] == features[name_with(encoder.name)] != ""
    assert features["TF-IDF"] == features["dCoT"] == ""


def test_finished_cells_are_not_computed_again(tmp_path):
    asked = []

    def work(context, job, keys):
        for key in keys:
            asked.append(key["draw"])
            yield key, {"accuracy": 0.5}

    keys = [{**KEY, "draw": draw} for draw in range(4)]
    store = Store(tmp_path)
    store.put(keys[1], {"accuracy": 0.5}, seconds=1)
    run_job(keys, work, store)
    run_job(keys, work, store)
    assert asked == [0, 2, 3]


def test_a_failure_keeps_what_was_done_and_is_tried_again(tmp_path):
    broken = [True]

    def work(context, job, keys):
        for key in keys:
            if key["draw"] == 2 and broken[0]:
                raise ValueError("the matrix is singular")
            yield key, {"accuracy": 0.5}

    keys = [{**KEY, "draw": draw} for draw in range(4)]
    store = Store(tmp_path)
    (failure,) = run_job(keys, work, store)
    assert (failure.title, failure.cells) == ("made, LSI", 2)
    assert "singular" in failure.reason
    broken[0] = False
    assert run_job(keys, work, store) == []
    assert len(list(store.cells())) == 4


def test_features_of_slow_systems_are_learned_once(context, task, monkeypatch):
    system = SYSTEMS["LDA"]
    learned, wanted = task.documents(task.train, task.test)
    settings = system.settings("small")
    first = candidates_of(system, learned, wanted, settings, context.cache, "made")
    monkeypatch.setattr(type(system), "learn", lambda *_: pytest.fail("learned again"))
    again = candidates_of(system, learned, wanted, settings, context.cache, "made")
    for a, b in zip(first, again, strict=True):
        assert a.setting == b.setting
        assert (a.blocks[0].values == b.blocks[0].values).all()


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damaged_features_are_learned_again(context, task, damage):
    system = SYSTEMS["LDA"]
    learned, wanted = task.documents(task.train, task.test)
    settings = system.settings("small")[:1]
    first = candidates_of(system, learned, wanted, settings, context.cache, "made")
    (path,) = context.cache.glob("*.npz")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    again = candidates_of(system, learned, wanted, settings, context.cache, "made")
    assert (first[0].blocks[0].values == again[0].blocks[0].values).all()
    assert path.read_bytes() == whole


def test_another_grid_or_another_corpus_is_another_cell(context, profile, task):
    def keys(task):
        context.given["made"] = task
        planned = [job for job in jobs(context, ["few-labels"]) if "LSI" in job.title]
        return {json.dumps(key, sort_keys=True) for job in planned for key in job.keys}

    small = keys(task)
    assert small == keys(task)
    assert not small & keys(task.sample(100, 50))
    context.profile = replace(profile, size="full")
    assert len(keys(task)) == len(small)
    assert not small & keys(task)


def test_a_run_has_cells_of_one_commit(tmp_path, monkeypatch):
    """Cells of other code are not taken for those of this code."""
    store = Store(tmp_path)
    monkeypatch.setattr(environment, "commit", lambda: "aaa")
    store.put(KEY, {"accuracy": 0.5}, seconds=1)
    assert store.get(KEY).commit == "aaa"
    monkeypatch.setattr(environment, "commit", lambda: "bbb")
    assert store.get(KEY) is None


def test_cells_say_what_they_depend_on_and_nothing_private(tmp_path):
    store = Store(tmp_path)
    store.put(KEY, {"accuracy": 0.5}, seconds=1.25)
    text = store.path(KEY).read_text()
    cell = json.loads(text)
    assert cell["key"] == KEY
    assert {"python", "dcot", "numpy", "scikit-learn"} <= cell["versions"].keys()
    assert {"processor", "cores"} <= cell["hardware"].keys()
    run_job([{**KEY, "draw": 1}], lambda context, job, keys: ((k, {}) for k in keys), store)
    assert store.get({**KEY, "draw": 1}) is not None
    assert json.loads(store.path({**KEY, "draw": 1}).read_text())["seeds"]["draws"] == SEED
    private = [platform.node(), str(Path.home()), str(tmp_path), os.sep + "src"]
    assert not [word for word in private if len(word) > 1 and word in text]


def test_a_damaged_cell_is_named(tmp_path):
    store = Store(tmp_path)
    store.put(KEY, {"accuracy": 0.5}, seconds=1)
    store.path(KEY).write_text('{"key": ')
    with pytest.raises(DcotError, match="delete it"):
        store.get(KEY)


def test_what_a_crash_left_half_written_is_not_a_result(tmp_path):
    store = Store(tmp_path)
    path = store.path(KEY)
    path.parent.mkdir(parents=True)
    path.with_name(f".{path.name}.123").write_text('{"key": ')
    assert store.get(KEY) is None
    assert list(store.cells()) == []
