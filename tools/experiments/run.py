#!/usr/bin/env python3
"""Measures and draws the figures and tables of the papers that SkyRank implements.

Every figure is a YAML file below figures/. `skyrank bench` measures its cells; DIR gets a picture (SVG, PNG) and a CSV
file a figure, and index.html with all of them, the papers' claims, and whether they hold here. An interrupted run goes on
where it was: DIR/cells.csv has all finished cells.

Another machine can measure: --grids writes what is to be measured, measure.sh measures it there, --take draws the results.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import time

import claims
import figures
import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("build/release/skyrank", "build/host/skyrank")


class UsageError(Exception):
    """The command line asks for what cannot be; the message says what would be right."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A figure that was measured."""
    figure: figures.Figure
    points: list
    verdicts: list
    notes: dict  # series to reasons why some cells have no time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", nargs="+", metavar="ID", default=[], help="only these figures, such as skyalign/6")
    parser.add_argument("--paper", choices=figures.PAPERS, help="only the figures of one paper")
    parser.add_argument("--scale", choices=figures.SCALES, default="quick",
                        help="quick: minutes on two cores; gpu: minutes on a GPU; machine: hours; paper: the papers' sizes "
                             "(default: quick)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                        help="cuda: the GPU algorithms, and those of the CPU that the papers compare with (default: cpu)")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="where the results go; finished cells are kept")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the CPU's algorithms (default: all cores)")
    parser.add_argument("--grids", type=pathlib.Path, metavar="FOLDER",
                        help="measure nothing; write the grids of what is missing, for measure.sh on another machine")
    parser.add_argument("--take", type=pathlib.Path, metavar="FOLDER",
                        help="measure nothing; take over what measure.sh wrote, and draw what there is")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER",
                        help="measure nothing; write the cells that figures need, for --take from another folder")
    parser.add_argument("--skyrank", metavar="PROGRAM", help=f"the program (default: the first of {', '.join(PROGRAMS)})")
    parser.add_argument("--list", action="store_true", help="list the figures and what those not drawn need")
    return parser.parse_args()


def chosen(all_figures, ids, paper):
    """Returns the figures that the command line names."""
    known = [it.id for it in all_figures]
    for id in ids:
        if id not in known:
            raise UsageError(f"--figure: there is no figure '{id}'; there are {', '.join(known)}")
    return [it for it in all_figures if (not ids or it.id in ids) and (not paper or it.paper == paper)]


def list_figures(all_figures, device):
    for figure in all_figures:
        reasons = figure.reasons_not_drawn(device)
        print(f"{figure.id:<18} {figure.title}" + "".join(f"\n{'':<18}   needs {reason}" for reason in reasons))


def program_of(name):
    if name:
        return measure.Program(name)
    for path in PROGRAMS:
        if (ROOT / path).exists():
            return measure.Program(ROOT / path)
    raise UsageError(f"there is none of {', '.join(PROGRAMS)}; build one, or name the program with --skyrank")


def claim_folder(folder, settings):
    """Makes the folder, or checks that what it holds was measured with the same settings."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "run.json"
    if file.exists():
        before = json.loads(file.read_text(encoding="utf-8"))
        for key, value in settings.items():
            if before.get(key) != value:
                raise UsageError(f"{folder}: holds results with {key} {before.get(key)}, not {value}; choose another --out")
    file.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def check_registry(all_figures, registry, device):
    """Checks the algorithms of all figures, but not those of GPUs in a program without them."""
    if any(name.startswith("cuda-") for name in registry):
        for figure in all_figures:
            figures.check_algorithms(figure, registry)
    elif device == "cuda":
        raise UsageError("--device cuda: this skyrank was built without GPU algorithms (see skyrank --version)")


def measure_figure(figure, place, program, options, store):
    """Measures, if there is a program, and draws one figure; `place` is its number and how many there are."""
    import plots  # needs matplotlib, which --list and --help do not

    head, start = f"[{place[0]}/{place[1]}] {figure.id}", time.monotonic()
    print(f"{head}: {figure.title}", flush=True)
    tasks = measure.tasks_of(figure, options.scale, options.device, options.threads)

    def progress(done, cells, title):
        print(f"{head}: cell {done} of {cells}, {time.monotonic() - start:.0f} s: {title}", flush=True)

    if program is not None:
        measure.measure(program, tasks, options.scale, store, progress)
    points = measure.points_of(figure, options.scale, options.device, store, options.threads)
    if points:
        plots.draw(figure, options.scale, options.device, points, options.out)
        write_points(options.out / f"{plots.name_of(figure)}.csv", points)
    verdicts = [claims.check(claim, points) for claim in figure.claims]
    for verdict in verdicts:
        print(f"  {'ok ' if verdict.holds else '-- ' if verdict.holds is None else 'NO '} {verdict.claim.text}: "
              f"{verdict.evidence}", flush=True)
    return Outcome(figure, points, verdicts, measure.not_measured(figure, options.scale, options.device, store,
                                                                   options.threads))


def write_grids(drawable, options, store):
    """Writes a grid for the cells of each figure that no other has: the GPU's first, then the CPU's."""
    options.grids.mkdir(parents=True, exist_ok=True)
    planned, written = set(), 0
    for part, on_gpu in ((1, True), (2, False)):
        for figure in drawable:
            tasks = [task for task in measure.missing(
                         measure.tasks_of(figure, options.scale, options.device, options.threads), store)
                     if task.algorithm.startswith("cuda-") == on_gpu
                     and task.cell.key(task.algorithm) not in planned]
            faults = measure.provide_data(tasks, options.grids / "data")
            for name, fault in faults.items():
                print(f"{figure.id}: {name} is left out: {fault}")
            tasks = [task for task in tasks if task.cell.distribution not in faults]
            if tasks:
                planned |= {task.cell.key(task.algorithm) for task in tasks}
                written += 1
                name = f"{part}-{written:02}-{figure.id.replace('/', '-')}.yaml"
                (options.grids / name).write_text(measure.grid_of(tasks, options.scale), encoding="utf-8")
    print(f"{written} grids with {len(planned)} measurements: {options.grids}")


def take(folder, drawable, options, store):
    """Takes over the CSV files and the logs that measure.sh wrote."""
    rows = measure.take(folder, store)
    for figure in drawable:
        tasks = measure.tasks_of(figure, options.scale, options.device, options.threads)
        for file in folder.glob(f"*-{figure.id.replace('/', '-')}.done"):
            log = measure.reasons_in(folder, file.stem)
            measure.note_missing([it for it in tasks if it.algorithm in log.reasons], store, log.reasons)
    print(f"{rows} measurements taken from {folder}")


# What the figures need of a measurement, besides what it is of.
KEPT = (*measure.KEY, "device", "median_ms", "min_ms", "max_ms", "runs", "floor_ms", "h2d_ms", "predicted_ms", "bytes_read",
        "bytes_written", "dominance_tests", "mask_tests", "cell_tests", "extra_bytes", "stages", "correct", "note")


def keep(folder, selected, options, store, settings):
    """Writes PAPER.csv with the measurements of its figures, and run.json, to a folder. Stages are kept that a figure shows."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = set()
    staged = {task.cell.key(task.algorithm) for figure in selected
              for task in measure.tasks_of(figure, options.scale, options.device, options.threads)
              if task.sweep.y in figures.STAGE_MEASURES}
    for paper in dict.fromkeys(it.paper for it in selected):
        tasks = [task for figure in selected if figure.paper == paper
                 for task in measure.tasks_of(figure, options.scale, options.device, options.threads)]
        keys = dict.fromkeys(task.cell.key(task.algorithm) for task in tasks)
        rows = [store.rows[key] if key in staged else {**store.rows[key], "stages": ""}
                for key in keys if key in store and key not in kept]
        kept |= keys.keys()
        if rows:
            measure.write_csv(folder / f"{paper}.csv", KEPT, rows)
        print(f"{paper}: {len(rows)} measurements kept")
    machines = sorted({row["machine"] for row in store.rows.values() if row.get("machine")})
    (folder / "run.json").write_text(json.dumps({**settings, "machines": machines}, indent=1) + "\n", encoding="utf-8")


def write_points(file, points):
    """Writes the points of a figure: where each stands in it, its value, and the benchmark's row."""
    rows = [{"series": it.series, **it.place, "x_name": it.x_name, "x": it.x, "y": it.y, **it.row} for it in points]
    measure.write_csv(file, list(dict.fromkeys(name for row in rows for name in row)), rows)


def run(options):
    all_figures = figures.load_all()
    selected = chosen(all_figures, options.figure, options.paper)
    if options.list:
        list_figures(selected, options.device)
        return 0
    if options.out is None:
        raise UsageError("--out DIR is missing: the results need a folder")
    program, settings = settle(options, selected)
    store = measure.Store(options.out)
    drawable = [it for it in selected if not it.reasons_not_drawn(options.device)]
    if options.grids:
        write_grids(drawable, options, store)
        return 0
    if options.keep:
        keep(options.keep, drawable, options, store, settings)
        return 0
    if options.take:
        take(options.take, drawable, options, store)
    outcomes = [measure_figure(figure, (number, len(drawable)), program, options, store)
                for number, figure in enumerate(drawable, 1)]
    not_drawn = {it.id: it.reasons_not_drawn(options.device) for it in selected if it not in drawable}
    not_drawn |= {it.figure.id: reasons_in(it) for it in outcomes if not it.points}
    finish(options.out, [it for it in outcomes if it.points], [(it, not_drawn[it.id]) for it in selected if it.id in not_drawn],
           settings, store)
    return 1 if store.wrong() else 0


def settle(options, selected):
    """Returns the program, or None if nothing is to be measured here, and the settings of the folder."""
    if options.take or options.keep:
        files = [options.out / "run.json", *([options.take / "run.json"] if options.take else [])]
        file = next((it for it in files if it.exists()), None)
        if file is None:
            raise UsageError(f"{options.out} has no run.json; --grids with the same --out comes first")
        settings = json.loads(file.read_text(encoding="utf-8"))
        claim_folder(options.out, settings)
        options.scale, options.device, options.threads = (settings[key] for key in ("scale", "device", "threads"))
        return None, settings
    program = program_of(options.skyrank)
    if not options.grids:
        check_registry(selected, program.registry(), options.device)
    options.threads = options.threads or measure.cores()
    settings = {"scale": options.scale, "device": options.device, "commit": program.commit, "threads": options.threads}
    claim_folder(options.out, settings)
    return program, settings


def reasons_in(outcome):
    """Returns why a figure that was to be measured has no points."""
    return list(dict.fromkeys(reason for reasons in outcome.notes.values() for reason in reasons)) or ["a measurement"]


def finish(folder, outcomes, not_drawn, settings, store):
    """Writes the page, and says on the terminal what came out. `not_drawn`: figures with their reasons."""
    import page

    machines = {row["machine"] for row in store.rows.values() if row.get("machine")} or settings.get("machines", ())
    about = {key: value for key, value in settings.items() if key != "machines"}
    page.write(folder, outcomes, not_drawn, {"machine": "; ".join(machines) or "unknown", **about})
    for figure, reasons in not_drawn:
        print(f"not drawn: {figure.id}: {'; '.join(reasons)}")
    for key in store.wrong():
        print(f"WRONG ANSWER: {' '.join(key)}", file=sys.stderr)
    print(f"{len(outcomes)} figures drawn, {len(not_drawn)} not: {folder / 'index.html'}")


def main():
    try:
        return run(arguments())
    except (UsageError, figures.FigureError, measure.MeasureError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("experiments: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
