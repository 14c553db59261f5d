"""What comes out of a run: JSON and CSV of every cell, figures, and one page that has it all."""
