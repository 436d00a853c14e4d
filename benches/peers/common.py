"""What all groups share: statements that Siskin runs, calls of peers, their agreement, times and tables."""

import gc
import json
import os
import re
import resource
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Callable

import numpy as np
import scipy.io
import scipy.sparse

# Beyond this relative difference, results disagree.
TOLERANCE = 1e-9
# Larger results are not compared: reading them takes more memory than computing them.
COMPARED = 60_000_000
# Products of more multiplications are left out.
MULTIPLIED = 100_000_000
# A sum that cancels is as exact as its terms: differences below this share of the largest value are rounding.
ROUNDING = 1e-14

# What `run` says to the allocator is for peers.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}

WIDTHS = (40, 20, 10, 8, 8, 8, 7)

PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "finch"


class Failed(Exception):
    """A measurement that has no result; the message is shown in its row."""


@dataclass
class Statement:
    """A statement of index notation, or several, with the tensors it reads.

    tensors: name to FILE:LAYOUT. output: the layout of a sparse result; without one it is dense.
    options: further options of `siskin run`. temporaries: results of all statements but the last, dense, too.
    """

    text: str
    tensors: dict[str, str]
    output: str | None = None
    options: tuple[str, ...] = ()
    temporaries: tuple[str, ...] = ()

    def result(self):
        """The name of the last result."""
        return self.text.split(";")[-1].split("[")[0].strip()


@dataclass
class Program:
    """A file of `examples/finch`, with the tensors it reads.

    tensors: name to FILE:FORMAT. formats: of results and workspaces. options: further ones of `siskin run`.
    """

    name: str
    tensors: dict[str, str]
    formats: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    @property
    def text(self):
        """What a table of all that was measured says of it."""
        formats = {name: place.partition(":")[2] for name, place in self.tensors.items()} | self.formats
        return " ".join([f"{self.name}.finch", *(f"{name}={stated}" for name, stated in formats.items())])


@dataclass
class Peer:
    """A library's way to compute the same.

    call: what is timed. target: the ratio peer/siskin that is aimed at. result: what `call` returned, as an
    array, or a sparse array of SciPy or PyData; of several results by their names. times: of some calls, in
    milliseconds, if `call` is not itself what is timed.
    """

    name: str
    call: Callable[[], Any]
    target: float | None = None
    result: Callable[[Any], Any] = lambda returned: returned
    times: Callable[[], list[float]] | None = None

    def sample(self):
        return self.times() if self.times else milliseconds(self.call)


def first_line(failure):
    """The first line of an exception's text, or its name."""
    lines = str(failure).strip().splitlines()
    return lines[0] if lines else type(failure).__name__


class Siskin:
    """The command, as it is run for one group; times are in milliseconds."""

    def __init__(self, command, folder, limit, memory):
        self.command, self.folder, self.limit, self.memory = command, folder, limit, memory

    def run(self, statement):
        """One run in a new process: kernel time, file of the result, whether the kernel wrote it dense unasked."""
        result = self.folder / ("result.npz" if statement.output else "result.npy")
        output = f"{result}:{statement.output}" if statement.output else str(result)
        asked = ["-o", output]
        for name in statement.temporaries:
            asked += ["-o", f"{name}={self.folder / f'{name}.npy'}"]
        # Unasked, Siskin chooses.
        for name in [*statement.temporaries, *([] if statement.output else [statement.result()])]:
            asked += ["-f", f"{name}=dense"]
        said = self._json("run", statement, asked)
        steps = said.get("statements", [said])
        stored = steps[-1]["output"]["stored"]
        if stored > COMPARED:
            raise Failed(f"the result stores {stored} elements, too many to compare")
        layout = re.search(rf"^//! - {steps[-1]['output']['name']}: `(\S+)`", steps[-1]["kernel"], re.MULTILINE)
        dense = bool(statement.output and layout and layout[1] == "dense")
        return 1e3 * sum(step["seconds"]["kernel"] for step in steps), result, dense

    def write(self, statement, result):
        """One run in a new process that writes a dense result: a whole command."""
        self._json("run", statement, ["-o", str(result)])

    def warm(self, statement):
        """Kernel times of some runs in one more process, behind one that is not timed."""
        asked = ["-f", f"{statement.result()}={statement.output or 'dense'}", "--strategies", "auto", "--samples", "5"]
        said = self._json("bench", statement, asked)
        return [1e3 * seconds for seconds in said["rows"][0]["seconds"]]

    def results(self, program, names, sparse=False):
        """What a program computes, as arrays."""
        layout = "csr" if sparse else None
        files = {name: self.folder / f"result-{name}.{'npz' if sparse else 'npy'}" for name in names}
        places = [f"{name}={file}{':csr' if sparse else ''}" for name, file in files.items()]
        self.said(program, [word for place in places for word in ("-o", place)])
        return {name: self.read(file, layout) for name, file in files.items()}

    def times(self, program, repeat=5):
        """Times of some runs of a program's kernels, behind one that warms up; with what lies between kernels, and
        what brings results into the formats that are asked for."""
        said = self.said(program, ["--repeat", str(repeat)])
        steps = [step["seconds"] for step in said.get("statements", [said])]
        converted = sum(step["convert"] for step in steps) + said.get("locate", 0.0)
        return [1e3 * (converted + sum(runs)) for runs in zip(*(step["repeats"] for step in steps))]

    def said(self, program, asked):
        words = ["--program", str(PROGRAMS / f"{program.name}.finch")]
        for name, layout in program.formats.items():
            asked = [*asked, "-f", f"{name}={layout}"]
        return self._json("run", program, asked, words)

    def _json(self, command, statement, asked, text=None):
        words = [self.command, command, *(text or [statement.text]), "--json", *statement.options, *asked]
        for name, place in statement.tensors.items():
            words += ["-t", f"{name}={place}"]
        return json.loads(self._finished(words))

    def _finished(self, words):
        """What a command writes to standard output."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT,
                                       preexec_fn=self._bounded)
        except OSError as failure:
            raise Failed(str(failure)) from None
        try:
            said, complaints = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            # So that it removes what it was writing.
            process.terminate()
            process.communicate()
            raise Failed(f"more than {self.limit:g} s") from None
        if process.returncode != 0:
            lines = complaints.strip().splitlines() or [f"status {process.returncode}"]
            raise Failed(next((line for line in lines if line.startswith("error")), lines[0]))
        return said

    def _bounded(self):
        """Results that would fill the machine are refused instead of computed."""
        size = int(self.memory * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    def read(self, path, layout):
        """A result as an array, or as a sparse array of SciPy or PyData."""
        if layout is None:
            return np.load(path)
        with np.load(path) as arrays:
            scipys = "indptr" in arrays
        if scipys:
            return scipy.sparse.load_npz(path)
        import sparse

        listed = path.with_suffix(".coo.npz")
        self._finished([self.command, "convert", str(path), f"{listed}:coo"])
        return sparse.load_npz(listed)


def entries(array, fill):
    """Shape, linear positions in increasing order, and values of what differs from the fill."""
    if hasattr(array, "tocoo"):
        array = array.tocoo()
    if hasattr(array, "coords"):
        if hasattr(array, "fill_value") and array.fill_value != fill:
            raise Failed(f"the peer's result has the fill {array.fill_value}")
        places = np.ravel_multi_index(tuple(c.astype(np.int64) for c in array.coords), array.shape)
        values = array.data
    else:
        array = np.asarray(array)
        places, values = np.arange(array.size), array.ravel()
    kept = values != fill
    places, values = places[kept], values[kept]
    if places.size > 1 and not (places[1:] > places[:-1]).all():
        order = np.argsort(places)
        places, values = places[order], values[order]
    return array.shape, places, values


def difference(ours, theirs, fill):
    """What two results of `entries` disagree in, or nothing."""
    (shape, places, values), (shape2, places2, values2) = ours, theirs
    if tuple(shape) != tuple(shape2):
        return f"{tuple(shape)} and {tuple(shape2)} are the shapes"
    exact = values.dtype.kind in "biu" and values2.dtype.kind in "biu"
    if exact or fill != 0 or np.array_equal(places, places2):
        if not np.array_equal(places, places2):
            return f"{places.size} and {places2.size} elements differ from the fill"
        a, b = values, values2
    else:
        # What cancels may be stored on one side only.
        union = np.union1d(places, places2)
        a, b = np.zeros(union.size), np.zeros(union.size)
        a[np.searchsorted(union, places)] = values
        b[np.searchsorted(union, places2)] = values2
    if exact:
        wrong = int((a != b).sum())
    else:
        a, b = a.astype(np.float64), b.astype(np.float64)
        largest = max(np.abs(a).max(initial=0), np.abs(b).max(initial=0))
        allowed = np.maximum(TOLERANCE * np.maximum(np.abs(a), np.abs(b)), ROUNDING * largest)
        wrong = int((~((np.abs(a - b) <= allowed) | (a == b))).sum())
    return f"{wrong} of {a.size} values" if wrong else None


def milliseconds(call, calls=5, enough=200.0):
    """Times of some calls behind one that warms up; of less than `calls` where they take more than `enough` together.

    What a call returns is freed outside its time.
    """
    times = []
    gc.collect()
    gc.disable()
    try:
        warm = time.perf_counter()
        call()
        warm = 1e3 * (time.perf_counter() - warm)
        while not times or (len(times) < calls and warm + sum(times) < enough):
            start = time.perf_counter()
            returned = call()
            times.append(1e3 * (time.perf_counter() - start))
            del returned
    finally:
        gc.enable()
    return times


class Group:
    """A table: its rows, its inputs, and Siskin."""

    def __init__(self, name, options):
        self.name, self.options, self.rows = name, options, []
        self.folder = options.files / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.siskin = Siskin(options.siskin, self.folder, options.limit, options.memory)

    def size(self, whole):
        """A number of entries, a tenth of it with --quick."""
        return whole // 10 if self.options.quick else whole

    def file(self, name, array):
        """Writes an input: the file's path."""
        if isinstance(array, np.ndarray):
            path = self.folder / f"{name}.npy"
            np.save(path, array)
            return str(path)
        path = self.folder / f"{name}.npz"
        if scipy.sparse.issparse(array):
            scipy.sparse.save_npz(path, array, compressed=False)
        else:
            import sparse

            sparse.save_npz(path, array, compressed=False)
        return str(path)

    def real(self, at_least=0):
        """Real square matrices with at least so many entries, as csr of f64 by their names."""
        folder = self.options.data
        for path in sorted(folder.glob("*.mtx.gz")) if folder else []:
            try:
                matrix = scipy.sparse.csr_array(scipy.io.mmread(path), dtype=np.float64)
            except Exception as failure:
                self.note(f"failed: {path.name}: {first_line(failure)}")
                continue
            matrix.sum_duplicates()
            if matrix.shape[0] == matrix.shape[1] and matrix.nnz >= at_least:
                yield path.name.removesuffix(".mtx.gz"), matrix

    def too_large(self, measurement, multiplications):
        """Whether a product is left out, which is said: the result may be as large as the work."""
        if multiplications > MULTIPLIED:
            self.note(f"{measurement}: left out, {multiplications} multiplications")
        return multiplications > MULTIPLIED

    def measure(self, measurement, statement, peers, fill=0):
        """Checks and times a statement beside its peers; each gives a row.

        fill: the value of the result's elements that are not stored.
        """
        ours = failure = None
        dense = False
        try:
            _, path, dense = self.siskin.run(statement)
            ours = entries(self.siskin.read(path, statement.output), fill)
        except Failed as refused:
            failure = first_line(refused)
        failures = [failure] * len(peers)
        working = []
        for k, peer in enumerate(peers):
            try:
                theirs = entries(peer.result(peer.call()), fill)
                working.append(k)
                wrong = ours and difference(ours, theirs, fill)
                if wrong:
                    failures[k] = f"the results differ: {wrong}"
                del theirs
            except Exception as refused:
                failures[k] = f"{peer.name}: {first_line(refused)}"
        del ours
        # Several statements, and conversions behind a kernel, are not repeated within one process.
        repeats = not statement.temporaries and not dense
        warm, cold, samples = [], [], [[] for _ in peers]
        start = time.perf_counter()
        for done in range(self.options.samples):
            if done >= 3 and time.perf_counter() - start > self.options.limit:
                break
            if failure is None:
                try:
                    if statement.output or not repeats:
                        cold.append(self.siskin.run(statement)[0])
                    if repeats:
                        warm += self.siskin.warm(statement)
                except Failed as refused:
                    failure = first_line(refused)
                    failures = [f or failure for f in failures]
            for k in working:
                samples[k] += peers[k].sample()
        for result in self.folder.glob("result*"):
            result.unlink()
        for peer, theirs, failed in zip(peers, samples, failures):
            self.row(measurement, statement, peer, warm or cold, cold, theirs, failed, dense)

    def program(self, measurement, program, names, peers, fill=0, sparse=False, repeat=5):
        """Checks and times a program beside its peers, whose results are arrays by their names; `repeat` times in
        each process: the first few of short ones are slower."""
        def ours():
            return self.siskin.results(program, names, sparse)

        self.race(measurement, program, ours, lambda: self.siskin.times(program, repeat), peers, fill)

    def race(self, measurement, what, ours, times, peers, fill=0):
        """A row for each peer: `ours` computes what is compared, `times` gives the milliseconds of some runs."""
        results = failure = None
        try:
            results = {name: entries(array, fill) for name, array in ours().items()}
        except Failed as refused:
            failure = first_line(refused)
        failures = [failure] * len(peers)
        working = []
        for k, peer in enumerate(peers):
            try:
                theirs = peer.result(peer.call())
                working.append(k)
                for name in results or []:
                    wrong = difference(results[name], entries(theirs[name], fill), fill)
                    if wrong and not failures[k]:
                        failures[k] = f"the results differ: {wrong} of {name}"
            except Exception as refused:
                failures[k] = f"{peer.name}: {first_line(refused)}"
        mine, samples = [], [[] for _ in peers]
        start = time.perf_counter()
        for done in range(self.options.samples):
            if done >= 1 and time.perf_counter() - start > self.options.limit:
                break
            if failure is None:
                try:
                    mine += times()
                except Failed as refused:
                    failure = first_line(refused)
                    failures = [f or failure for f in failures]
            for k in working:
                samples[k] += peers[k].sample()
        for result in self.folder.glob("result*"):
            result.unlink()
        for peer, theirs, failed in zip(peers, samples, failures):
            self.row(measurement, what, peer, mine, [], theirs, failed, False)

    def row(self, measurement, statement, peer, ours, cold, theirs, failed, dense):
        """Keeps and prints one row; times in milliseconds."""
        ratio = median(theirs) / median(ours) if ours and theirs and not failed else None
        met = None if peer.target is None else bool(ratio is not None and ratio >= peer.target)
        self.rows.append({
            "group": self.name, "measurement": measurement, "peer": peer.name, "statement": statement.text,
            "siskin_ms": summary(ours), "cold_ms": summary(cold), "peer_ms": summary(theirs),
            "ratio": ratio, "target": peer.target, "met": met, "failed": failed, "dense_result": dense,
        })
        last = f"failed: {failed}" if failed else {None: "", True: "yes", False: "no"}[met]
        self.line(measurement, peer.name, shown(ours) + ("*" if dense else ""), shown(cold), shown(theirs),
                  shown([ratio] if ratio else []), "-" if peer.target is None else f"{peer.target:g}", last)

    def heading(self, title):
        self.note(f"{self.name}: {title}")
        self.line("measurement", "peer", "siskin ms", "cold ms", "peer ms", "ratio", "target", "met")

    def line(self, *cells):
        texts = [c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(cells, WIDTHS))]
        print("  ".join([*texts, cells[-1]]).rstrip(), flush=True)

    def note(self, text):
        print(text, flush=True)

    def footnotes(self):
        """What holds for the whole table; of several peers the fastest counts in each measurement."""
        ratios = {}
        for row in self.rows:
            if row["ratio"]:
                ratios[row["measurement"]] = min(row["ratio"], ratios.get(row["measurement"], row["ratio"]))
        if len(ratios) > 1:
            self.note(f"fastest peer / Siskin over {len(ratios)} measurements: "
                      f"geometric mean {geometric_mean(ratios.values()):.2f}, least {min(ratios.values()):.2f}")
        if any(row["dense_result"] for row in self.rows):
            self.note("* the kernel's own result was dense; its conversion is not in the time")
        self.note("")


def summary(samples):
    """Median, least and all of the times, in milliseconds."""
    return {"median": median(samples), "least": min(samples), "samples": samples} if samples else None


def shown(numbers):
    """A median with three digits that count, or a dash."""
    if not numbers:
        return "-"
    middle = median(numbers)
    return f"{middle:.0f}" if middle >= 100 else f"{middle:#.3g}"
