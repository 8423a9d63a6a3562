"""Utilities for arrays, memory, threads and files, independent of any method."""
