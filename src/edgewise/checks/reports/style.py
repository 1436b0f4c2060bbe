"""The look of a report in HTML: colours of its own in light and dark, and a layout that fits a phone."""

__all__ = ["STYLE"]

STYLE = """
.ew-check{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#fff;--box:#f6f8fa;
 --pass:#1a7f37;--fail:#b42318;--warn:#8a5a00;--skip:#57606a;--cell:#2f4b7c;
 font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem}
@media (prefers-color-scheme:dark){.ew-check{--ink:#e6edf3;--soft:#9198a1;--line:#30363d;--paper:#0d1117;--box:#161b22;
 --pass:#4ac26b;--fail:#ff8578;--warn:#e3b341;--skip:#9198a1;--cell:#8fb4f0}}
.ew-page{margin:0;background:#fff}
@media (prefers-color-scheme:dark){.ew-page{background:#0d1117}}
main.ew-check{margin:0 auto;padding:1rem}
.ew-check h1{font-size:1.3rem;margin:.2rem 0;overflow-wrap:anywhere}
.ew-check h2{font-size:1.05rem;margin:.2rem 0 .6rem}
.ew-check code,.ew-check pre{font-family:ui-monospace,monospace;font-size:.88em}
.ew-check pre{background:var(--box);color:var(--ink);border:1px solid var(--line);border-radius:6px;padding:.6rem;
 margin:.3rem 0;overflow-x:auto}
.ew-check small{color:var(--soft);display:block;font-weight:400;font-size:.85rem}
.ew-verdict{font-weight:700;font-size:1.1rem;margin:.4rem 0}
.ew-verdict.ew-pass,.ew-pass>b,.ew-pass>h2{color:var(--pass)}
.ew-verdict.ew-fail,.ew-fail>b,.ew-fail>h2{color:var(--fail)}
.ew-verdict.ew-warn,.ew-warn>b,.ew-warn>h2{color:var(--warn)}
.ew-skip>b{color:var(--skip)}
.ew-note{border-left:3px solid var(--warn);padding-left:.6rem;margin:.4rem 0}
.ew-graphs{display:flex;flex-wrap:wrap;gap:1rem 2rem;margin:.8rem 0}
.ew-graphs figure{margin:0;min-width:0}
.ew-check .ew-cells{border-collapse:collapse;margin:.3rem 0;width:auto}
.ew-check .ew-cells td{width:1rem;height:1rem;padding:0;border:1px solid var(--line);text-align:center;
 font:700 .7rem/1 system-ui;background:var(--paper)}
.ew-check .ew-cells td.on{background:var(--cell);color:var(--paper)}
.ew-check .ew-cells td.ew-differs{outline:2px solid var(--fail);outline-offset:-2px}
.ew-check .ew-cells td.off.ew-differs{color:var(--fail)}
.ew-finding{border:1px solid var(--line);border-left:4px solid var(--fail);border-radius:6px;padding:.7rem 1rem;
 margin:.8rem 0}
.ew-finding.ew-warn{border-left-color:var(--warn)}
.ew-check dl{display:grid;grid-template-columns:8rem minmax(0,1fr);gap:.3rem .8rem;margin:0 0 .6rem}
.ew-check dt{color:var(--soft)}
.ew-check dd{margin:0;overflow-wrap:anywhere}
.ew-check ul{padding-left:1.2rem;margin:.3rem 0}
.ew-check ul.ew-properties{list-style:none;padding:0}
.ew-properties li{border-top:1px solid var(--line);padding:.35rem 0;overflow-wrap:anywhere}
.ew-properties li>b{display:inline-block;width:4.5rem}
.ew-properties span{color:var(--soft)}
.ew-check summary{cursor:pointer;color:var(--soft)}
.ew-check footer{color:var(--soft);font-size:.8rem;margin-top:.8rem;overflow-wrap:anywhere}
@media (max-width:34rem){.ew-check dl{grid-template-columns:1fr;gap:0}.ew-check dd{margin-bottom:.5rem}}
"""
