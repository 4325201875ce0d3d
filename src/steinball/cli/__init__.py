"""What the command ``steinball`` does once the library is loaded; the way in is ``steinball_command``."""
