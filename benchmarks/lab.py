"""Speed of bandwidth training against the plain loop and against autograd.

    python benchmarks/lab.py            # Parkinson, 350 support data: minutes
    python benchmarks/lab.py --quick    # 40 support data: does it run?
    python benchmarks/lab.py --against 78e569a    # only this: against that commit

Test R2 and seconds on 80 % of the rows of Parkinson's data (``--data`` names the file,
parkinsons_updrs.data), Laplacian profile. The reference, ``plain loop``, is algorithm 1
as one writes it in float64 NumPy with the gradient by hand: 11,500 Adam steps on
batches of 128 rows at the full number of support data, no growth. The autograd
reference is the same loop with PyTorch and its (batch, S, d) tensor. Each loop has the
threads that make it fastest: one for the plain loop, as many as there are for PyTorch.
The loops are long and the load of a machine changes, so they are timed by stretches of
steps between the fits, and their total is the mean of a step times 11,500.

``--against`` fits with the defaults of now and of a commit in turns, alone and beside a
process that keeps one processor busy, each time on another random split: a single row
that one of them predicts badly can decide on the R2 of a split.
"""

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import scipy.linalg

from adakern._utils.threads import one_thread
from adakern.lab import LABRBFRegressor

STEPS, BATCH, ALPHA, RATE = 11_500, 128, 1e-3, 1e-2
TARGET_R2 = 0.9990


def load(path, seed=0):
    """Features in [-1, 1] and total_UPDRS, split 80/20 at random."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = np.delete(rows, [4, 5], axis=1), rows[:, 5]
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [len(y) // 5])
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = 2 * (X - low) / (high - low) - 1
    return X[train], y[train], X[test], y[test]


class PlainLoop:
    """Adam in float64 NumPy; the gradient by matrix products, written out."""

    def __init__(self, X, y, n_support):
        self.X, self.y = X, (y - y.mean()) / y.std()
        ranks = np.linspace(0, len(y) - 1, n_support).round().astype(int)
        self.support = np.argsort(y, kind="stable")[ranks]
        self.rng = np.random.default_rng(0)
        d = X.shape[1]
        self.theta = np.full((n_support, d), np.sqrt(30 / d))
        self.mean, self.square = np.zeros((2, n_support, d))
        self.count, self.seconds = 0, 0.0

    def kernel(self, T, W):
        X_s = self.X[self.support]
        D = (T * T) @ W.T - 2 * T @ (W * X_s).T + (W * X_s * X_s).sum(axis=1)
        R = np.sqrt(np.maximum(D, 0))
        return np.exp(-R), R

    def gradient(self):
        rows = self.rng.integers(0, len(self.y), BATCH)
        T, X_s, y_s = self.X[rows], self.X[self.support], self.y[self.support]
        W = self.theta**2
        K_s, R_s = self.kernel(X_s, W)
        np.fill_diagonal(K_s, 1.0)
        np.fill_diagonal(R_s, 0.0)
        lu = scipy.linalg.lu_factor(K_s + ALPHA * np.eye(len(K_s)))
        a = scipy.linalg.lu_solve(lu, y_s - y_s.mean())
        K, R = self.kernel(T, W)
        r = 2 * (K @ a + y_s.mean() - self.y[rows]) / BATCH
        u = scipy.linalg.lu_solve(lu, K.T @ r, trans=1)
        P = np.vstack([np.outer(r, a), -np.outer(u, a)])
        K, R = np.vstack([K, K_s]), np.vstack([R, R_s])
        P *= np.where(R > 0, -K / (2 * np.where(R > 0, R, 1)), 0)
        T = np.vstack([T, X_s])
        G = P.T @ (T * T) - 2 * X_s * (P.T @ T)
        G += X_s * X_s * P.sum(axis=0)[:, None]
        return 2 * self.theta * G

    def run(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            g = self.gradient()
            g *= min(1.0, 10 / np.linalg.norm(g))
            self.count += 1
            self.mean = 0.9 * self.mean + 0.1 * g
            self.square = 0.999 * self.square + 0.001 * g * g
            m = self.mean / (1 - 0.9**self.count)
            v = self.square / (1 - 0.999**self.count)
            self.theta -= RATE * m / (np.sqrt(v) + 1e-8)
        self.seconds += time.perf_counter() - start

    def score(self, X, y, y_train):
        K_s, _ = self.kernel(self.X[self.support], self.theta**2)
        np.fill_diagonal(K_s, 1.0)
        y_s = self.y[self.support]
        a = np.linalg.solve(K_s + ALPHA * np.eye(len(K_s)), y_s - y_s.mean())
        f = self.kernel(X, self.theta**2)[0] @ a + y_s.mean()
        f = f * y_train.std() + y_train.mean()
        return 1 - ((y - f) ** 2).sum() / ((y - y.mean()) ** 2).sum()


class AutogradLoop:
    """The same steps by PyTorch's autograd, with the (batch, S, d) tensor."""

    def __init__(self, X, y, n_support):
        import torch

        self.torch = torch
        plain = PlainLoop(X, y, n_support)
        self.rng = plain.rng
        self.X, self.y = torch.tensor(plain.X), torch.tensor(plain.y)
        self.support = torch.tensor(plain.support)
        self.theta = torch.tensor(plain.theta, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.theta], lr=RATE)
        self.count, self.seconds = 0, 0.0

    def kernel(self, T):
        differences = T[:, None, :] - self.X[self.support][None]
        D = ((self.theta[None] * differences) ** 2).sum(dim=2)
        return self.torch.exp(-self.torch.sqrt(D + 1e-16))

    def run(self, steps):
        torch = self.torch
        start = time.perf_counter()
        for _ in range(steps):
            rows = torch.tensor(self.rng.integers(0, len(self.y), BATCH))
            y_s = self.y[self.support]
            K_s = self.kernel(self.X[self.support])
            ridge = ALPHA * torch.eye(len(y_s), dtype=K_s.dtype)
            a = torch.linalg.solve(K_s + ridge, y_s - y_s.mean())
            f = self.kernel(self.X[rows]) @ a + y_s.mean()
            self.optimizer.zero_grad()
            ((f - self.y[rows]) ** 2).mean().backward()
            torch.nn.utils.clip_grad_norm_([self.theta], 10.0)
            self.optimizer.step()
            self.count += 1
        self.seconds += time.perf_counter() - start


class Version:
    """Fits by the library of one folder, each in a process of its own.

    With as many threads as the libraries take by themselves: the environment's limits
    are taken away.
    """

    FIT = """
import sys, time
import numpy as np
from adakern.lab import LABRBFRegressor
file, n_support, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X, y, X_test, y_test = (array for _, array in sorted(np.load(file).items()))
model = LABRBFRegressor("laplacian", max_support=n_support, random_state=seed)
LABRBFRegressor("laplacian", max_support=20, max_iter=5, growth_iter=1).fit(X, y)
wall, cpu = time.perf_counter(), time.process_time()
model.fit(X, y)
print(time.perf_counter() - wall, time.process_time() - cpu)
print(model.score(X_test, y_test))
"""

    def __init__(self, name, source):
        self.name, self.source = name, source
        self.alone, self.busy = [], []

    def fit(self, data, n_support, seed, busy=False):
        """Seconds of the wall and of the processor, and test R2."""
        kept = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        environment = kept | {"PYTHONPATH": str(self.source)}
        command = [sys.executable, "-W", "ignore", "-c", self.FIT]
        command += [str(data), str(n_support), str(seed)]
        spinning = [sys.executable, "-c", "while True: pass"]
        other = subprocess.Popen(spinning) if busy else None
        try:
            answer = subprocess.check_output(command, env=environment, text=True)
        finally:
            if other is not None:
                other.kill()
                other.wait()
        (self.busy if busy else self.alone).append([float(v) for v in answer.split()])


def compare_versions(path, n_support, splits, commit):
    """Paired: now and at the commit in turns, alone and beside a busy process."""
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", commit, "src"], cwd=root, check=True, capture_output=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        versions = [
            Version(commit, Path(folder) / "src"),
            Version("now", root / "src"),
        ]
        data = Path(folder) / "data.npz"
        for seed in range(splits):
            np.savez(data, **dict(zip("abcd", load(path, seed), strict=True)))
            for version in versions:
                for busy in (False, True):
                    version.fit(data, n_support, seed, busy)
    print(f"{'':12}{'seconds':>9}{'processor':>11}{'beside busy':>13}{'test R2':>10}")
    for version in versions:
        wall, cpu, score = np.mean(version.alone, axis=0)
        busy = np.mean(version.busy, axis=0)[0]
        print(f"{version.name:12}{wall:9.1f}{cpu:11.1f}{busy:13.1f}{score:10.5f}")
    (before, cpu_before, score_before), (now, cpu_now, score_now) = (
        np.mean(version.alone, axis=0) for version in versions
    )
    ratio = now / before
    print(
        f"of the time at {commit} {ratio:.2f} (of the processor's "
        f"{cpu_now / cpu_before:.2f}), target <= 0.50: "
        f"{verdict(ratio, 0.5, larger_is_better=False)}; R2 not lower: "
        f"{verdict(score_now, score_before)}"
    )
    slower = np.mean(versions[1].busy, axis=0)[0] / now
    print(
        f"beside a busy process {slower:.1f} times as long as alone, target <= 3: "
        f"{verdict(slower, 3, larger_is_better=False)} (at {commit} "
        f"{np.mean(versions[0].busy, axis=0)[0] / before:.1f} times)"
    )


def verdict(value, target, larger_is_better=True):
    met = value >= target if larger_is_better else value <= target
    return "ok" if met else "MISSED"


def peak_memory(X, y, n_support):
    """Peak bytes above the data of a few iterations."""
    tracemalloc.start()
    LABRBFRegressor(
        "laplacian", max_support=n_support, growth_iter=2, max_iter=5, random_state=0
    ).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="40 support data")
    parser.add_argument(
        "--data", default="../shared/data/parkinsons/parkinsons_updrs.data"
    )
    parser.add_argument("--fits", type=int, default=3, help="seeds of the fast solver")
    parser.add_argument("--splits", type=int, default=10, help="of --against")
    parser.add_argument("--against", metavar="COMMIT", help="compare with a commit")
    arguments = parser.parse_args()
    n_support = 40 if arguments.quick else 350
    if arguments.against:
        compare_versions(arguments.data, n_support, arguments.splits, arguments.against)
        return
    X, y, X_test, y_test = load(arguments.data)
    settings = {"max_iter": 100, "growth_iter": 20} if arguments.quick else {}
    plain, autograd = PlainLoop(X, y, n_support), AutogradLoop(X, y, n_support)
    stretch = (100 if arguments.quick else STEPS) // arguments.fits
    seconds, scores = [], []
    for seed in range(arguments.fits):
        with one_thread("blas"):
            plain.run(stretch)
        start = time.perf_counter()
        model = LABRBFRegressor(
            "laplacian", max_support=n_support, random_state=seed, **settings
        ).fit(X, y)
        seconds.append(time.perf_counter() - start)
        scores.append(model.score(X_test, y_test))
        autograd.run(20)

    fast = np.mean(seconds)
    plain_total = plain.seconds / plain.count * STEPS
    autograd_total = autograd.seconds / autograd.count * STEPS
    print(f"rows {len(y)}, features {X.shape[1]}, support data {n_support}")
    print(f"{'':28}{'seconds':>9}{'ratio':>8}{'test R2':>10}  target")
    score = plain.score(X_test, y_test, y)
    print(
        f"{f'plain loop, {plain.count} steps run':28}{plain_total:9.1f}{1:8.2f}"
        f"{score:10.5f}  reference"
    )
    print(
        f"{f'autograd, {autograd.count} steps run':28}{autograd_total:9.1f}"
        f"{autograd_total / plain_total:8.2f}"
    )
    print(
        f"{'LABRBFRegressor':28}{fast:9.1f}{fast / plain_total:8.2f}"
        f"{np.mean(scores):10.5f}"
    )
    if arguments.quick:
        return
    print(
        f"lowest R2 of {arguments.fits} fits {min(scores):.5f}, target "
        f">= {TARGET_R2}: {verdict(min(scores), TARGET_R2)}"
    )
    print(
        f"of the plain loop's time {fast / plain_total:.2f}, target <= 0.50: "
        f"{verdict(fast / plain_total, 0.5, larger_is_better=False)}"
    )
    print(
        f"faster than autograd {autograd_total / fast:.1f} times, target >= 20: "
        f"{verdict(autograd_total / fast, 20)}"
    )
    few, many = (peak_memory(np.tile(X, (k, 1)), np.tile(y, k), 350) for k in (1, 4))
    print(
        f"peak memory, MiB: {few / 2**20:.0f} with {len(y)} rows, "
        f"{many / 2**20:.0f} with {4 * len(y)}; the data themselves (X, X*X in "
        f"float32 and a float64 copy) grow by {3 * 16 * X.size / 2**20:.0f}"
    )


if __name__ == "__main__":
    main()
