"""Records of runs in MLflow."""
