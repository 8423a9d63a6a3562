"""Execution of jobs: splits, searches, isolated fits, and their records."""
