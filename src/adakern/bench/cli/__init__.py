"""The console command ``adakern``."""
