"""What is collected: without the extra ``workflow``, the library's tests alone."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("hydra") else ["workflow/*", "*stud*"]
