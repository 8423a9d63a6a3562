"""Python package of the benchmark workflow."""

import sys


def _excepthook(kind, error, trace, before=sys.excepthook):
    """Print no traceback for an interrupt, which may reach a job before its log is
    open.
    """
    if not issubclass(kind, KeyboardInterrupt):
        before(kind, error, trace)


sys.excepthook = _excepthook
