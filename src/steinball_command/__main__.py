"""``python -m steinball_command`` is the command ``steinball``."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a random.py in it would take the place of Python's own
    from steinball_command import main

    main()
