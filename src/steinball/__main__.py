"""``python -m steinball`` is the command ``steinball``."""

from steinball.cli import main

if __name__ == "__main__":
    main()
