from edgewise.ladder.code import Code, code

SOURCE = '''"""What the file is for.

More of it.
"""

import math  # for pi


class Circle:
    """Round."""

    def __init__(self, radius):  # a comment
        # another
        self.radius = radius  # "# not a comment"

    def area(self):
        """How large it is."""
        hash = "# no comment"
        return math.pi * self.radius**2


@print
def free():
    return 1
'''


def test_comments_docstrings_and_blank_lines_are_no_code() -> None:
    assert [line.text for line in code(SOURCE)] == [
        "import math",
        "class Circle:",
        "    def __init__(self, radius):",
        "        self.radius = radius",
        "    def area(self):",
        '        hash = "# no comment"',
        "        return math.pi * self.radius**2",
        "@print",
        "def free():",
        "    return 1",
    ]


def test_each_line_knows_the_place_that_it_stands_in() -> None:
    assert [(line.where, line.part) for line in code(SOURCE)] == [
        ("", "elsewhere"),
        ("Circle", "elsewhere"),
        ("Circle.__init__", "constructor"),
        ("Circle.__init__", "constructor"),
        ("Circle.area", "forward"),
        ("Circle.area", "forward"),
        ("Circle.area", "forward"),
        ("free", "forward"),
        ("free", "forward"),
        ("free", "forward"),
    ]


def test_a_docstring_that_shares_no_line_with_code_leaves_code_alone() -> None:
    assert code('def one():\n    """One."""\n    return 1\n') == [
        Code("def one():", "one", "forward"),
        Code("    return 1", "one", "forward"),
    ]
