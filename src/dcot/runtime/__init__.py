"""Threads, memory, progress, atomic writes, and optional imports."""
