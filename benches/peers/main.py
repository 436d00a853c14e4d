"""Measures groups of kernels beside peers, one process for each group; `run` is the command."""

import argparse
import importlib
import json
import multiprocessing
import os
import platform
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

GROUPS = ["spmv", "spmspv", "elementwise", "windows", "semirings", "matrices", "reductions", "images", "tensors",
          "formats", "graphs", "morphology", "gustavson", "coiteration", "commands"]


def arguments():
    """The command line and what `run` has put into the environment."""
    root = Path(__file__).resolve().parents[2]
    real = root.parent / "shared" / "data"
    parser = argparse.ArgumentParser(prog="run", description="Measure Siskin beside other libraries, on one thread.")
    parser.add_argument("--only", metavar="GROUP", action="append", choices=GROUPS,
                        help=f"measure this group (may be repeated): {', '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true", help="inputs of a tenth of the size")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything that was measured")
    parser.add_argument("--data", metavar="DIR", type=Path, default=real if real.is_dir() else None,
                        help="real matrices, as .mtx.gz (default: ../shared/data beside the repository, if it exists)")
    parser.add_argument("--samples", metavar="N", type=int, default=7, help="repetitions (default: 7)")
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=60.0,
                        help="of one command or of the repetitions of one row (default: 60)")
    parser.add_argument("--memory", metavar="GIB", type=float, default=8.0,
                        help="address space that Siskin may use, half as much again for peers (default: 8)")
    options = parser.parse_args()
    if options.samples < 1 or min(options.limit, options.memory) <= 0:
        parser.error("--samples, --limit and --memory are positive")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data {options.data} is no folder")
    options.siskin = os.environ.get("SISKIN", str(root / "target/release/siskin"))
    options.files = Path(os.environ.get("PEERS_DATA", root / "target/peers-data"))
    return options


def measure(name, options):
    """All rows of one group; its table is printed while it is measured."""
    import common

    # A peer whose result would fill the machine fails instead.
    size = int(1.5 * options.memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    group = common.Group(name, options)
    module = importlib.import_module(name)
    group.heading(module.__doc__.splitlines()[0])
    try:
        module.measure(group)
    except Exception as failure:
        group.note(f"failed: the group ended early: {common.first_line(failure)}")
    group.footnotes()
    return group.rows


def in_its_own_process(name, options):
    """A peer that crashes ends its own group only; libraries with different OpenMP runtimes do not meet."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(measure, name, options).result()
        except BrokenProcessPool:
            print("failed: the process of this group has crashed\n", flush=True)
            return []


def about():
    """The processor and the versions of all peers, as a table of texts."""
    from importlib.metadata import version

    pinned = (Path(__file__).parent / "requirements.txt").read_text().splitlines()
    names = [line.split("==")[0] for line in pinned if "==" in line]
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"processor": processor, "python": platform.python_version()} | {n: version(n) for n in names}


def main():
    options = arguments()
    options.files.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.only or GROUPS:
        rows += in_its_own_process(name, options)
    judged = [row for row in rows if row["target"] is not None]
    print(f"{sum(row['met'] is True for row in judged)} of {len(judged)} targets met, "
          f"{sum(row['failed'] is not None for row in rows)} of {len(rows)} rows failed")
    if options.json:
        whole = {"about": about(), "quick": options.quick, "threads": 1, "rows": rows}
        options.json.write_text(json.dumps(whole, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
