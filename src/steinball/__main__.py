"""``python -m steinball`` is the command ``steinball``, except that Python loads the library before the command."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a file in it would take the place of a module that is loaded later
    from steinball_command import main

    main()
