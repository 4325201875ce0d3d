"""The command ``steinball``, beside the library and not in it: it can report a library that cannot be loaded."""

from steinball_command.guard import main as main
