"""What a result was measured on: the machine and the versions of the packages."""

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

__all__ = ["machine", "package_versions"]

PACKAGES = ("adakern", "numpy", "scipy", "scikit-learn")


def package_versions():
    """Name -> version, of Python and the packages that compute."""
    installed = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version()} | installed


@cache
def machine():
    """System, processor and number of cores; nothing that names the computer."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor():
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
