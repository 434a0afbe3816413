"""Writes index.html, every figure with its claims and what was not drawn and why, and claims.md, what does not hold."""

import html

import figures
import measure
import plots

HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>SkyRank: the papers' figures</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
img { max-width: 100%; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top; }
code { font-size: .9em; }
.holds { color: #1d7a3e; font-weight: 600; } .fails { color: #b3261e; font-weight: 600; } .open { color: #777; }
.note { color: #555; font-size: .92em; }
</style>
"""
VERDICTS = {True: ("holds", "holds"), False: ("does not hold", "fails"), None: ("not enough data", "open")}


def text(value):
    return html.escape(str(value))


def table(head, rows):
    """Returns a table; cells are HTML already."""
    lines = ["<table>", "<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def bullets(items):
    return "<ul class=note>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>" if items else ""


def stand_ins(figure, verdict, device):
    """Returns in words which series of a claim have another algorithm than the paper's."""
    named = verdict.claim.rule.names if verdict.claim.rule else ()
    return ", ".join(f"{it.algorithm_on(device)} for {it.label}" for it in figure.series
                     if it.id in named and it.algorithm_on(device) not in (it.algorithm, None))


def verdict_cell(verdict, standing_in):
    if verdict.claim.rule is None:
        return "<span class=open>not checked</span>"
    words, style = VERDICTS[verdict.holds]
    with_them = f"<br><span class=note>with {text(standing_in)}</span>" if standing_in and verdict.holds is not None else ""
    return f"<span class={style}>{words}</span>{with_them}"


def why_not(verdict, device):
    """Returns why a claim does not hold, or an empty text; the reasons in the files are those of GPUs."""
    return (verdict.claim.why_not or "") if verdict.holds is False and device == "cuda" else ""


def evidence_cell(verdict, device):
    reason = why_not(verdict, device)
    return text(verdict.evidence) + (f"<br><span class=note>{text(reason)}</span>" if reason else "")


def claims_table(figure, verdicts, device):
    if not verdicts:
        return ""
    return table(["claim of the paper", "rule", "here", "evidence"],
                 [[text(it.claim.text), f"<code>{text(it.claim.rule.text)}</code>" if it.claim.rule else "",
                   verdict_cell(it, stand_ins(figure, it, device)), evidence_cell(it, device)] for it in verdicts])


def published_table(figure, points):
    """Returns the paper's own numbers beside ours at the same place, if we have one."""
    rows = []
    for it in figure.published:
        same = [p for p in points if p.series == it.series and p.place["sweep"] == it.sweep and p.x == it.x
                and it.facet in (None, p.place.get(figure.facet))]
        ours = f"{same[0].y:.4g} (n = {same[0].variables['n']:,})" if same else ""
        sweep = next(sweep for sweep in figure.sweeps if sweep.name == it.sweep)
        rows.append([text(figure.series_of(it.series).label), f"{plots.WORDS.get(sweep.x, sweep.x)} = {it.x:,}",
                     text(measure.UNITS[sweep.y]), f"{it.y:.4g}", ours, text(it.source)])
    return table(["series", "at", "measure", f"paper ({text(figure.machine)})", "here", "source"], rows) if rows else ""


def section(outcome, device):
    """Returns the part of one drawn figure."""
    figure, name = outcome.figure, plots.name_of(outcome.figure)
    missing = [f"{series.label}: not measured, needs {need}" for series in figure.series for need in series.needs]
    missing += [f"{figure.series_of(id).label}: {reason}" for id, reasons in outcome.notes.items() for reason in reasons]
    return "\n".join([
        f"<h3 id={name}>{text(figure.figure)}: {text(figure.title)}</h3>",
        f"<p class=note>Section {text(figure.section)}; the paper measured on {text(figure.machine)}. "
        f"<a href={name}.csv>CSV</a>, <a href={name}.png>PNG</a></p>",
        f"<p><img src={name}.svg alt='{text(figure.title)}'></p>",
        claims_table(figure, outcome.verdicts, device), published_table(figure, outcome.points), bullets([*figure.caveats, *missing])])


def not_drawn_table(not_drawn):
    return table(["figure", "shows", "needs"], [
        [text(it.id), text(it.title), "; ".join(text(reason) for reason in reasons)] for it, reasons in not_drawn])


def summary(outcomes, device):
    """Returns how many claims hold, and a table of those that do not; apart, as they say less, those with stand-ins."""
    verdicts = [(outcome.figure, it) for outcome in outcomes for it in outcome.verdicts]
    lines = [f"<p>{len(outcomes)} figures with {len(verdicts)} claims.</p>"]
    for replaced, words in ((False, "the papers' algorithms"), (True, "stand-ins of the CPU")):
        some = [(figure, it) for figure, it in verdicts if bool(stand_ins(figure, it, device)) == replaced]
        counts = [sum(it.holds is kind for _, it in some) for kind in (True, False, None)]
        if some:
            lines.append(f"<h2>Claims checked with {words}</h2><p>{counts[0]} hold here, {counts[1]} do not, "
                         f"{counts[2]} lack data.</p>")
        if counts[1]:
            lines.append(table(["does not hold", "claim", "evidence"], [
                [f"<a href=#{plots.name_of(figure)}>{text(figure.id)}</a>", text(it.claim.text), evidence_cell(it, device)]
                for figure, it in some if it.holds is False]))
    return "\n".join(lines)


def in_markdown(outcomes, device):
    """Returns how many claims hold, and a table of those that do not, for pages such as the gallery's."""
    lines = ["| paper | hold | do not | lack data |", "|---|---|---|---|"]
    for paper in dict.fromkeys(it.figure.paper for it in outcomes):
        kinds = [it.holds for outcome in outcomes if outcome.figure.paper == paper for it in outcome.verdicts]
        lines.append(f"| {paper} | {kinds.count(True)} | {kinds.count(False)} | {kinds.count(None)} |")
    lines += ["", "| figure | claim that does not hold | here | why |", "|---|---|---|---|"]
    for outcome in outcomes:
        for it in outcome.verdicts:
            if it.holds is False:
                cells = (outcome.figure.id, it.claim.text, it.evidence, why_not(it, device))
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def write(folder, outcomes, not_drawn, about):
    """Writes index.html and claims.md to a folder.

    `outcomes`: the drawn figures; `not_drawn`: the others, each with its reasons; `about`: machine, commit, scale, device
    and threads.
    """
    parts = [HEAD, "<h1>The papers' figures, measured with SkyRank</h1>",
             table(about.keys(), [[text(value) for value in about.values()]])]
    if about["scale"] != "paper":
        parts.append("<p class=note>The cells are smaller than the papers'. A claim about large data may fail here for that "
                     "reason alone.</p>")
    if about["device"] == "cpu":
        parts.append("<p class=note>Without a GPU: where a paper has a GPU algorithm, its counterpart on the CPU stands in, so "
                     "that a claim that fails with it says nothing against the paper. The legends name the algorithm that was "
                     "measured.</p>")
    parts.append(summary(outcomes, about["device"]))
    for paper, title in figures.PAPERS.items():
        mine = [it for it in outcomes if it.figure.paper == paper]
        others = [it for it in not_drawn if it[0].paper == paper]
        if mine or others:
            parts.append(f"<h2>{text(title)}</h2>")
        parts += [section(it, about["device"]) for it in mine]
        if others:
            parts += ["<h3>Not drawn</h3>", not_drawn_table(others)]
    (folder / "index.html").write_text("\n".join([*parts, "</html>", ""]), encoding="utf-8")
    (folder / "claims.md").write_text(in_markdown(outcomes, about["device"]), encoding="utf-8")
