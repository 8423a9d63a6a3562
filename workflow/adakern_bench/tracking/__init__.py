"""Logging of records to MLflow."""
