"""Fixtures that several of these tests need."""

from __future__ import annotations

import contextlib
import signal

import pytest


@pytest.fixture
def no_room():
    """A real limit of the system: files cannot grow beyond so many bytes."""
    resource = pytest.importorskip("resource", reason="limits of POSIX")

    @contextlib.contextmanager
    def limited(size):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)

    return limited
