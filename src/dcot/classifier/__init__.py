"""``DCoTClassifier``: classify documents with few labels."""

from dcot.classifier.model import DCoTClassifier

__all__ = ["DCoTClassifier"]
