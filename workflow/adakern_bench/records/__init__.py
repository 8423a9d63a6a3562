"""How jobs run: isolation, code versions and records."""
