"""Five decoders of transformers 5.17.0 that read the future, found again; writes bench/regression.json.

huggingface/transformers#48745 tells of four of them, and #48748 of the fifth, Doge. Each row is
`edgewise check --tiny TYPE --json` in an environment that holds that release, named by --python; the same types are
checked with the release of this environment beside it. BERT and GPT-2, which were right all along, must come out clean
in both.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from record import write

LEAKING = ("roformer:causal", "big_bird:causal", "rembert:causal", "megatron-bert:causal", "doge")
CLEAN = ("bert:causal", "gpt2")
COLUMNS = ["transformers", "type", "verdict", "sites at fault", "routes at fault", "routes without it", "likely cause"]
VERSION = "import transformers; print(transformers.__version__)"


def answer(python: str, *arguments: str) -> str:
    """Return what an interpreter prints on standard output."""
    alone = {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, env=os.environ | alone, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{python} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def checked(python: str, name: str) -> dict[str, Any]:
    """Return the report of one tiny type."""
    return json.loads(answer(python, "-m", "edgewise", "check", "--tiny", name, "--json"))


def row(version: str, name: str, report: Mapping[str, Any]) -> list[str]:
    """Return a line of the table."""
    found = report["findings"]
    return [
        version,
        name,
        report["verdict"] if not found else ", ".join(f"{one['property']} {one['kind']}" for one in found),
        ", ".join(one["site"] or "?" for one in found),
        "; ".join(short(one["routes"]) for one in found),
        "; ".join(short(one["clean"]) for one in found),
        "; ".join(one["likely"] for one in found),
    ]


def short(routes: Sequence[str]) -> str:
    """Return routes in a few words: how many, and which implementations they take.

    Example:
        >>> short(["weights=not asked for · mask=none · batch=2 · eager", "weights=asked for · mask=none · batch=1"])
        '2: eager, default'
    """
    named = {part for one in routes for part in one.split(" · ")}
    kinds = [one for one in ("eager", "flex_attention") if one in named]
    plain = any(not {"eager", "flex_attention"} & set(one.split(" · ")) for one in routes)
    masks = sorted(one.removeprefix("mask=") for one in named if one.startswith("mask="))
    cached = ["cached"] * any("cached=" in one for one in routes)
    return f"{len(routes)}: " + ", ".join([*kinds, *["default"] * plain, *(f"mask {one}" for one in masks), *cached])


def as_told(name: str, found: Sequence[Mapping[str, Any]], *, fixed: bool) -> bool:
    """Return whether a type came out as the issues say: of the older release five leak, by eager and sdpa at least.

    They say nothing of flex attention: what is on its routes alone is left to docs/findings.md.
    """
    leaks = any(one["kind"] == "A1" and any("flex_attention" not in route for route in one["routes"]) for one in found)
    return leaks == (name in LEAKING and not fixed) and not (name in CLEAN and found)


def main() -> None:
    """Check every type with both releases, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter that has transformers 5.17.0 and edgewise")
    parser.add_argument("--only", action="append", metavar="TYPE", help="this type (may be given again)")
    asked = parser.parse_args()
    rows: list[list[str]] = []
    raw: dict[str, Any] = {}
    otherwise: list[str] = []
    for python in (asked.python, sys.executable):
        version = answer(python, "-c", VERSION).strip()
        for name in asked.only or (*LEAKING, *CLEAN):
            report = checked(python, name)
            rows.append(row(version, name, report))
            raw[f"{version} {name}"] = {
                key: report[key] for key in ("verdict", "findings", "warnings", "seconds", "passes")
            }
            if not as_told(name, report["findings"], fixed=python != asked.python):
                otherwise.append(f"{version} {name}")
            print(*rows[-1], sep=" | ", flush=True)
    notes = [
        "Every report is whole in `raw`, with the replay of each finding.",
        f"Otherwise than huggingface/transformers#48745 and #48748 say: {', '.join(otherwise) or 'none'}.",
    ]
    print(*notes[1:])
    table = {"title": "Decoders that read the future, by release", "columns": COLUMNS, "rows": rows}
    print("wrote", write(__file__, "A regression, found again", 1, [table], notes, raw).name)


if __name__ == "__main__":
    main()
