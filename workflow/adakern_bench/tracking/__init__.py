"""Records of solves as runs of MLflow."""
