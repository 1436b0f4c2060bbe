"""One page a property of `edgewise check`, made from its file and from what is reported of its broken example."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "properties"
MADE = "<!-- made by scripts/docs from src/edgewise/checks/properties -->"


def pages() -> dict[Path, str]:
    """Return each page's text by its path."""
    from edgewise.checks import PROPERTIES

    return {FOLDER / f"{one.name}.md": page(one) for one in PROPERTIES} | {FOLDER / "README.md": contents()}


def contents() -> str:
    """Return the page that leads to all others."""
    from edgewise.checks import PROPERTIES

    rows = [f"| [{one.name}]({one.name}.md) | {one.says} | {', '.join(one.kinds)} |" for one in PROPERTIES]
    head = "| property | what holds where it holds | kinds |\n|---|---|---|\n"
    return f"{MADE}\n# The properties that `edgewise check` looks at\n\n{head}" + "\n".join(rows) + "\n"


def page(one) -> str:
    """Return the page of one property."""
    kinds = "\n".join(f"| {kind} | {phrase} |" for kind, phrase in one.kinds.items())
    links = ", ".join(f"[{name}](https://github.com/{name.replace('#', '/issues/')})" for name in one.references)
    parts = [
        MADE,
        f"# {one.name}",
        one.says,
        f"**Why.** {one.why}",
        f"**What it assumes.** {one.assumes}",
        f"| kind | what is wrong |\n|---|---|\n{kinds}",
        f"**Seen in** {links}",
        "## Broken, and caught",
        f"```python\n{example(one)}\n```",
        "What is reported of it:",
        f"```text\n{reported(one)}\n```",
        f"`--explain {one.name}` prints the beginning of this page; `--only {one.name}` looks at nothing else.",
    ]
    return "\n\n".join(parts) + "\n"


def example(one) -> str:
    """Return the code of the example that is broken."""
    from edgewise.checks.explain import source

    return source(one.broken)


def reported(one) -> str:
    """Return the findings of the broken example, without what differs from run to run."""
    import torch

    from edgewise.checks import check, of_property

    torch.manual_seed(0)
    made = one.broken()
    return of_property(check(made.target, **made.declared), one.name)
