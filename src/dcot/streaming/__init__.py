"""Fitting from passes over documents that are never held: see ``fitting`` for the way through."""
