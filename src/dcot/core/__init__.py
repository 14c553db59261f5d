"""The method: arrays in, values out. No scikit-learn, no files."""
