"""Estimators of one's own for the workflow: ``_target_: methods.mine.Mine``."""
