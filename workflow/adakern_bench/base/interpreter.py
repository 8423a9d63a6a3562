"""The Python of a run: its path without blanks for jobs, and how it is interrupted."""

import signal
import sys
import tempfile
from pathlib import Path

#: Temporary folders, removed with the link in them when the process ends.
_FOLDERS = []


def path_without_blanks(executable, prefix):
    """Return a path to an environment's interpreter that a shell reads as one word.

    An environment below "My Projects" is reached through a link to it, so that the
    interpreter still finds its packages.
    """
    if " " not in executable:
        return executable
    folder = tempfile.TemporaryDirectory(prefix="adakern-python-")
    _FOLDERS.append(folder)
    link = Path(folder.name, "environment")
    link.symlink_to(prefix, target_is_directory=True)
    return str(link / Path(executable).relative_to(prefix))


def use_path_without_blanks():
    """Replace `sys.executable`, with which jobs are started, by such a path."""
    sys.executable = path_without_blanks(sys.executable, sys.prefix)


def interrupt(*_):
    """Let the first Ctrl-C end Snakemake's jobs, and ignore any further ones."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
