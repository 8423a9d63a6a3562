"""Execution of jobs: isolation, code versions and records."""
