"""The command line: one command a file, thin; each imports the room it calls when it runs, so that help is instant.

`main` is the entry. A user's mistake (any `EdgewiseError`) is one sentence on standard error and exit 2; a check that
fails is exit 1; Ctrl-C is exit 130.
"""

from edgewise.cli.main import main

__all__ = ["main"]
