"""What is collected: without the extra ``workflow``, the library's tests alone."""

from importlib.util import find_spec

of_the_workflow = ["workflow/*", "datasets/test_infer.py", "kills.py", "slurm.py"]
collect_ignore_glob = [] if find_spec("hydra") else of_the_workflow
