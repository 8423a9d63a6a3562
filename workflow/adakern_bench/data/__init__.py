"""Data sets: where their files come from, and the checked table."""
