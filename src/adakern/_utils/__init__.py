"""Utilities for arrays, memory, threads and files that no method is specific to."""
