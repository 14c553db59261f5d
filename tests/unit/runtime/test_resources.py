"""Memory and cores, as a container sees them."""

from __future__ import annotations

import pytest

from dcot.runtime.resources import _GROUP_FILES, _group_cores, _group_memory


@pytest.mark.parametrize("names", _GROUP_FILES.values(), ids=["version 2", "version 1"])
@pytest.mark.parametrize(
    ("limit", "expected"),
    [("1000\n", 1000 - 900 + 600), ("max\n", None), ("", None)],
    ids=["limit", "none", "damaged"],
)
def test_files_in_the_cache_of_a_container_are_free(tmp_path, names, limit, expected):
    limit_file, used_file, cached = names
    (tmp_path / limit_file).write_text(limit)
    (tmp_path / used_file).write_text("900\n")
    (tmp_path / "memory.stat").write_text(f"anon 250\n{cached} 600\nactive_file 50\n")
    assert _group_memory(tmp_path, *names) == expected


def test_without_a_group(tmp_path):
    assert _group_memory(tmp_path, *next(iter(_GROUP_FILES.values()))) is None


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (["200000 100000\n"], 2),
        (["150000 100000\n"], 2),
        (["1000 100000\n"], 1),
        (["max 100000\n"], None),
        (["damaged"], None),
        ([], None),
        (["400000\n", "100000\n"], 4),  # version 1 of control groups
        (["-1\n", "100000\n"], None),
        (["100000\n", "0\n"], None),
    ],
)
def test_cores_of_a_container(tmp_path, contents, expected):
    files = [tmp_path / str(number) for number in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_text(content)
    assert _group_cores(*files or [tmp_path / "none"]) == expected
