"""``python -m steinball`` is the command ``steinball``, except that Python loads the library before the command."""

import runpy

if __name__ == "__main__":
    runpy.run_module("steinball_command", run_name="__main__")
