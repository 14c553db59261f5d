"""``DCoTClassifier``: few labels, many documents."""

from dcot.classifier.model import DCoTClassifier

__all__ = ["DCoTClassifier"]
