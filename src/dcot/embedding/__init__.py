"""Vectors to use in addition to dCoT, by the classifier and by the search index."""
