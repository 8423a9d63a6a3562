"""The Python of a run: how it ends, and a path of one word by which jobs call it."""

import signal
import sys
import tempfile
from pathlib import Path

#: Removed, with the link in it, when the process ends.
_FOLDERS = []


def path_without_blanks(executable, prefix):
    """A path to the interpreter of an environment that a shell takes for one word.

    An environment below "My Projects" is reached by a link to its folder, so that the
    interpreter still finds its packages.
    """
    if " " not in executable:
        return executable
    folder = tempfile.TemporaryDirectory(prefix="adakern-python-")
    _FOLDERS.append(folder)
    link = Path(folder.name, "environment")
    link.symlink_to(prefix, target_is_directory=True)
    return str(link / Path(executable).relative_to(prefix))


def name_without_blanks():
    """Have jobs called by such a path from now on."""
    sys.executable = path_without_blanks(sys.executable, sys.prefix)


def interrupt(*_):
    """The first Ctrl-C has Snakemake end its jobs; others would cut that short."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
