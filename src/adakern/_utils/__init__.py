"""Arrays, memory, threads and files: nothing of a method."""
