"""Shared mathematics of support vector machines."""
