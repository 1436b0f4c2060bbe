"""Finding out how a target is called: from the names of its arguments, and by trying.

Forms are found by what runs and gives numbers, never by what gives the right answer: that is what is checked later.
Every argument can be told by keyword instead, see `subject_of`.
"""

from edgewise.checks.infer.subject_of import subject_of

__all__ = ["subject_of"]
