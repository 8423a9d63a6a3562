"""The workflow's own Python."""

import sys


def _excepthook(kind, error, trace, before=sys.excepthook):
    """No traceback of an interrupt: it may meet a job that is still importing, before
    its log.
    """
    if not issubclass(kind, KeyboardInterrupt):
        before(kind, error, trace)


sys.excepthook = _excepthook
