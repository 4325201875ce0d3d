"""``python -m steinball`` is the command ``steinball``."""

import sys

from steinball.cli import main

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a random.py in it would take the place of Python's own
    main()
