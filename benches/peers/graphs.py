"""Searches of graphs, by the programs of examples/finch for one step; beside SuiteSparse:GraphBLAS."""

import graphblas
import numpy as np
from graphblas import Vector, binary, semiring

import inputs
from common import Failed, Peer, Program

EDGES, LENGTHS = "Dense(SparseList(Pattern()))", "Dense(SparseList(Element(Inf)))"
# What the vertices of a frontier are, as they are walked and as they are looked up.
LISTED, ASKED = "SparseList(Pattern())", "SparseByteMap(Pattern())"
# Longer searches are left out: a step is a command of its own.
STEPS = 400


def measure(group):
    graphblas.ss.config["nthreads"] = 1
    n = group.size(100_000)
    graphs = {
        "power law": inputs.power_law(1, n, 10 * n),
        "uniform": inputs.uniform(2, n, 10 * n),
    }
    for name, a in graphs.items():
        searches(group, name, a + a.T)
    for name, a in group.real(at_least=10_000):
        searches(group, name, abs(a) + abs(a).T)


def searches(group, name, a):
    a = a.tocsr()
    a.setdiag(0)
    a.eliminate_zeros()
    a.sort_indices()
    start = int(np.argmax(np.diff(a.indptr)))
    breadth_first(group, name, a, start)
    shortest(group, name, a, start)


class Steps:
    """The steps of a search: what each is given is kept, so that the times of all are taken again and again."""

    def __init__(self, group, stem):
        self.group, self.stem, self.programs = group, stem, []

    def step(self, name, tensors, arrays, formats, results):
        number = len(self.programs)
        if number == STEPS:
            raise Failed(f"more than {STEPS} steps")
        places = dict(tensors)
        for tensor, (array, layout) in arrays.items():
            places[tensor] = f"{self.group.file(f'{self.stem}-{number}-{tensor}', array)}:{layout}"
        self.programs.append(Program(name, places, formats))
        return self.group.siskin.results(self.programs[-1], results)

    def times(self):
        each = [self.group.siskin.times(program) for program in self.programs]
        return [sum(runs) for runs in zip(*each)]

    def files_removed(self):
        for path in self.group.folder.glob(f"{self.stem}-*"):
            path.unlink()


def breadth_first(group, name, a, start):
    """Each vertex gets a parent that is one step nearer; pushed, or pulled where most edges would be pushed."""
    n, stem = a.shape[0], name.replace(' ', '-')
    truth = a.astype(bool)
    truth.data[:] = True
    matrix, degrees = graphblas.io.from_scipy_sparse(truth), np.diff(a.indptr)
    place = f"{group.file(f'{stem}-bool', truth)}:{EDGES}"

    def search(steps, pulls):
        parents, seen, frontier = np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, bool)
        parents[start], seen[start], frontier[start] = start + 1, True, True
        depths = np.full(n, -1, np.int64)
        depth = 0
        while frontier.any():
            depths[frontier] = depth
            pull = pulls and degrees[frontier].sum() > degrees[~seen].sum() / 4
            given = {"F": (frontier, ASKED if pull else LISTED), "V": (seen, "dense"), "P": (parents, "dense")}
            step = "bfs_pull" if pull else "bfs_push"
            out = steps.step(step, {"AT" if pull else "A": place}, given, {}, ["_F", "P"])
            frontier, parents = out["_F"], out["P"]
            seen, depth = seen | frontier, depth + 1
        reached = depths >= 0
        # Parents may differ; each has to be a neighbour that is one step nearer.
        inner = np.flatnonzero(reached & (depths > 0))
        above = parents[inner] - 1
        nearer = (depths[above] == depths[inner] - 1).all()
        joined = np.asarray(a[inner, above]).ravel() != 0
        if not (nearer and joined.all()):
            raise Failed("a parent is no neighbour, or not nearer")
        return {"depths": depths}

    def theirs(pulls=True):
        parents, frontier = Vector("INT64", n), Vector("INT64", n)
        parents[start] = frontier[start] = start
        while True:
            if pulls:
                frontier(~parents.S, replace=True) << semiring.any_secondi(matrix.T @ frontier)
            else:
                frontier(~parents.S, replace=True) << semiring.any_secondi(frontier @ matrix)
            if not frontier.nvals:
                return parents
            parents(frontier.S) << frontier

    def depths(parents):
        where, above = parents.to_coo()
        out, tree = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        tree[where] = above
        out[start] = 0
        while True:
            new = (out == -1) & (tree >= 0)
            new[new] = out[tree[new]] >= 0
            if not new.any():
                return {"depths": out}
            out[new] = out[tree[new]] + 1

    # By the rows of the matrix, and by the columns of its transpose.
    peers = [Peer("GraphBLAS", lambda: theirs(False), 1.2, depths), Peer("GraphBLAS, A'", theirs, 1.2, depths)]
    for pulls in (False, True):
        steps = Steps(group, f"bfs-{stem}-{'pull' if pulls else 'push'}")
        what = Program("bfs_pull, bfs_push" if pulls else "bfs_push", {"A": place})
        group.race(f"BFS, {'push and pull' if pulls else 'push'}, {name}", what, lambda: search(steps, pulls),
                   steps.times, peers, -1)
        steps.files_removed()


def shortest(group, name, a, start):
    """Distances from one vertex: those that became less in the step before relax their edges."""
    n, stem = a.shape[0], name.replace(' ', '-')
    # The symmetric lengths of roads.
    matrix = graphblas.io.from_scipy_sparse(a)
    place = f"{group.file(f'{stem}-f64', a)}:{LENGTHS}"
    steps = Steps(group, f"far-{stem}")

    def search():
        distances, frontier = np.full(n, np.inf), np.zeros(n, bool)
        distances[start], frontier[start] = 0.0, True
        while frontier.any():
            given = {"_F": (frontier, LISTED), "_D": (distances, "dense"), "D": (distances, "dense")}
            out = steps.step("bellman_ford", {"A": place}, given, {}, ["D", "F"])
            distances, frontier = out["D"], out["F"]
        return {"distances": distances}

    def theirs():
        distances = Vector("FP64", n)
        distances[start] = 0.0
        frontier = distances.dup()
        while True:
            relaxed = semiring.min_plus(frontier @ matrix).new()
            # Those that are new or less.
            less = binary.lt(relaxed & distances).new()
            frontier = Vector("FP64", n)
            frontier(~distances.S) << relaxed
            frontier(less.V) << relaxed
            if not frontier.nvals:
                return distances
            distances(binary.min) << frontier

    def all_edges():
        """Every edge in every step, of distances that are all there."""
        distances = Vector.from_dense(np.full(n, np.inf))
        distances[start] = 0.0
        while True:
            nearer = distances.dup()
            nearer(binary.min) << semiring.min_plus(distances @ matrix)
            if nearer.isequal(distances):
                return distances
            distances = nearer

    def dense(distances):
        out = np.full(n, np.inf)
        where, far = distances.to_coo()
        out[where] = far
        return {"distances": out}

    group.race(f"Bellman-Ford, {name}", Program("bellman_ford", {"A": place}), search, steps.times,
               [Peer("GraphBLAS", theirs, 4, dense), Peer("GraphBLAS, all edges", all_edges, 4, dense)], np.inf)
    steps.files_removed()
