"""Threads, memory, progress and optional imports."""
