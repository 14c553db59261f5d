"""What a result depends on besides its settings: versions, commit, hardware; no names, no paths."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from dcot._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "threadpoolctl")
RIVALS = ("sentence-transformers", "torch", "wordllama")  # where they are installed


@cache
def versions() -> dict[str, str]:
    """Of Python, dcot and the libraries that compute."""
    found = {"python": platform.python_version(), "dcot": __version__}
    for package in (*PACKAGES, *RIVALS):
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


@cache
def commit() -> str:
    """The commit of the running dcot, ``+`` if it was changed since; "" outside a checkout."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)  # not a repository that dcot is installed in
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(here.parent))
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def hardware() -> dict[str, str | int]:
    """Processor, cores and memory; no host name, user or path."""
    facts: dict[str, str | int] = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": _cores(),
    }
    if memory := _memory():
        facts["memory_gb"] = round(memory / 1e9)
    return facts


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown"
    match = re.search(r"model name\s*:\s*(.+)", text)
    return match[1].strip() if match else platform.processor() or "unknown"


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        return os.cpu_count() or 1


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0
