"""Threads, memory, progress, files that are written atomically, and optional imports."""
