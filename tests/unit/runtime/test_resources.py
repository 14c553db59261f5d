"""Memory that is free, as a container sees it."""

from __future__ import annotations

import pytest

from dcot.runtime.resources import _group_memory


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("1000\n", 1000 - 900 + 600), ("max\n", None), ("", None)],
    ids=["limit", "none", "damaged"],
)
def test_files_in_the_cache_of_a_container_are_free(tmp_path, limit, expected):
    (tmp_path / "memory.max").write_text(limit)
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 250\ninactive_file 600\nactive_file 50\n")
    assert _group_memory(tmp_path) == expected


def test_without_a_group(tmp_path):
    assert _group_memory(tmp_path) is None
