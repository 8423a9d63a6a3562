"""The members of the blend.

Each module of this package lists its members in ``MEMBERS``, and they are listed
nowhere else.
"""

from importlib import import_module
from pkgutil import iter_modules

from adakern.adaptive.members.base import Member


def members_by_name() -> dict[str, Member]:
    """Members of all modules by name, the most useful for their time first."""
    modules = [import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)]
    members = [member for m in modules for member in getattr(m, "MEMBERS", [])]
    return {m.name: m for m in sorted(members, key=lambda member: member.rank)}


REGISTRY = members_by_name()
