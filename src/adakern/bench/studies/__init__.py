"""Computations and figures of the experiments that are not solves."""
