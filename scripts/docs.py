"""Writes what the docs say of the code from it: tree, glossary, help, ladder, benchmarks, zoo, properties.

A block stands between `<!-- NAME: made by scripts/docs -->` and `<!-- end -->`. With --check nothing is written and the
exit status is 1 where a block is out of date. Run it with the environment that scripts/setup makes.
"""

import argparse
import ast
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from property_pages import pages
from zoo_page import zoo

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "edgewise"
BLOCK = re.compile(r"(<!-- (\w+): made by scripts/docs -->\n).*?(<!-- end -->)", re.DOTALL)


def first_sentence(path: Path) -> str:
    """Return the first line of a module's docstring, without its full stop."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "?"
    return said.splitlines()[0].rstrip(".")


def tree() -> str:
    """Return every room and every file of the package, each with what its first line says of it."""
    rows = [f"src/edgewise/  {first_sentence(SOURCE / '__init__.py')}"]

    def walk(folder: Path, depth: int) -> None:
        files = sorted(p for p in folder.iterdir() if p.suffix == ".py" and not p.name.startswith("__init__"))
        rooms = sorted(p for p in folder.iterdir() if (p / "__init__.py").is_file())
        for path in files:
            rows.append(f"{'  ' * depth}{path.name}  {first_sentence(path)}")
        for room in rooms:
            rows.append(f"{'  ' * depth}{room.name}/  {first_sentence(room / '__init__.py')}")
            walk(room, depth + 1)

    walk(SOURCE, 1)
    return "```text\n" + "\n".join(rows) + "\n```\n"


def glossary() -> str:
    """Return the tables of axes, stages and aliases."""
    from edgewise.axes import ALIASES, AXES, STAGES

    def table(name: str, says: str, rows: dict[str, str]) -> str:
        return f"| {name} | {says} |\n|---|---|\n" + "".join(f"| `{key}` | {text} |\n" for key, text in rows.items())

    ours: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        ours.setdefault(name, []).append(f"`{alias}`")
    aliases = {name: ", ".join(found) for name, found in ours.items()}
    return "\n".join(
        [table("axis", "means", AXES), table("stage", "means", STAGES), table("ours", "also called", aliases)]
    )


def commands() -> str:
    """Return the help of the command line and of each command, at 80 columns."""
    import contextlib
    import io
    import os

    from edgewise.cli import main
    from edgewise.cli.main import COMMANDS

    os.environ["COLUMNS"] = "80"
    os.environ["NO_COLOR"] = "1"
    parts: list[str] = []
    for call in ([], *([command.name] for command in COMMANDS)):
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
            main([*call, "--help"])
        parts.append(f"## {' '.join(['edgewise', *call])}\n\n```text\n{told.getvalue().rstrip()}\n```\n")
    return "\n" + "\n".join(parts)


def ladder() -> str:
    """Return the table of rungs: what each follows, how many lines change, what it says."""
    from edgewise.ladder import RUNGS

    rows = ["| rung | follows | the idea |", "|---|---|---|"]
    rows += [f"| `{rung.name}` | {f'`{rung.follows}`' if rung.follows else '–'} | {rung.says} |" for rung in RUNGS]
    return "\n".join(rows) + "\n"


def benchmarks() -> str:
    """Return the tables of each benchmark, from the JSON that its script wrote."""
    parts: list[str] = []
    for path in sorted((ROOT / "bench").glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"## {held['title']}\n\n`python bench/{path.stem}.py`, {held['date']}. {held['machine']}\n")
        for table in held["tables"]:
            parts.append(f"**{table['title']}**\n")
            rows = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
            parts.append("\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows) + "\n")
        parts += [f"- {note}" for note in held["notes"]]
        parts.append("")
    return "\n" + "\n".join(parts)


MAKERS: dict[str, Callable[[], str]] = {
    "tree": tree,
    "glossary": glossary,
    "commands": commands,
    "ladder": ladder,
    "benchmarks": benchmarks,
    "zoo": zoo,
}


def main() -> int:
    """Write or check every block of every Markdown file, and return the exit status."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--check", action="store_true", help="write nothing; exit 1 where a block is out of date")
    check = asked.parse_args().check
    stale: list[str] = []
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]:
        held = path.read_text(encoding="utf-8")
        fresh = BLOCK.sub(lambda found: found[1] + MAKERS[found[2]]() + found[3], held)
        if fresh != held:
            stale.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_text(fresh, encoding="utf-8")
    for path, fresh in pages().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != fresh:
            stale.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(fresh, encoding="utf-8")
    if stale:
        print(("out of date, run scripts/docs: " if check else "written: ") + ", ".join(stale))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
