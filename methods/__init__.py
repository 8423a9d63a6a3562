"""Custom estimators for the workflow: ``_target_: methods.mine.Mine``."""
