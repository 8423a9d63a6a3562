"""LAB RBF against a plain training loop and against PyTorch's autograd.

    python benchmarks/lab.py            # 4,700 rows, 350 support points; minutes
    python benchmarks/lab.py --quick    # 300 rows, only checks that it runs

The reference is a straightforward implementation of algorithm 1 of the paper in float64
NumPy, with the gradient derived by hand: 11,500 Adam steps on batches of 128 rows with
all support points from the start. If PyTorch is installed, another loop uses its
autograd. The profile is Laplacian; the rows are those of Parkinson's data if ``--data``
exists (parkinsons_updrs.data), else generated. Loops are timed in parts between the
fits, so that the load of the machine affects all alike; their total is the mean time of
a step times 11,500. R2 is computed on a random fifth of the rows.
"""

import importlib.util
from pathlib import Path

import numpy as np
import scipy.linalg
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

import timing
from adakern.lab import LABRBFRegressor

DATA = Path("data/raw/parkinsons/parkinsons_updrs.data")
STEPS, BATCH, ALPHA, RATE = 11_500, 128, 1e-3, 1e-2


def rows(file, n):
    """Features in [-1, 1] and standardised targets: training part, test part."""
    if file.exists():
        table = np.loadtxt(file, delimiter=",", skiprows=1)
        X, y = np.delete(table, [4, 5], axis=1), table[:, 5]
    else:
        X, y = make_friedman1(6 * n // 5, 19, noise=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [len(y) // 5])
    train = train[:n]
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = 2 * (X - low) / (high - low) - 1
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[test], y[test]


class PlainLoop:
    """Training by Adam in float64 NumPy, with the gradient by matrix products."""

    def __init__(self, X, y, n_support):
        self.X, self.y = X, y
        ranks = np.linspace(0, len(y) - 1, n_support).round().astype(int)
        chosen = np.argsort(y, kind="stable")[ranks]
        self.centres, self.targets = X[chosen], y[chosen]
        self.rng = np.random.default_rng(0)
        n_features = X.shape[1]
        self.theta = np.full((n_support, n_features), np.sqrt(30 / n_features))
        self.mean, self.square = np.zeros((2, *self.theta.shape))
        self.count, self.seconds = 0, 0.0

    def run(self, steps):
        """Run further steps of Adam."""
        _, seconds = timing.seconds(lambda: [self.step() for _ in range(steps)])
        self.seconds += seconds

    def step(self):
        g = self.gradient(self.rng.integers(0, len(self.y), BATCH))
        g *= min(1.0, 10 / np.linalg.norm(g))
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * g
        self.square = 0.999 * self.square + 0.001 * g * g
        m = self.mean / (1 - 0.9**self.count)
        v = self.square / (1 - 0.999**self.count)
        self.theta -= RATE * m / (np.sqrt(v) + 1e-8)

    def distances(self, T):
        """Distances of rows from the centres, in the metric of each centre."""
        W, C = self.theta**2, self.centres
        squared = (T * T) @ W.T - 2 * T @ (W * C).T + (W * C * C).sum(axis=1)
        return np.sqrt(np.maximum(squared, 0))

    def solve(self):
        """Distances between centres, and the factorised system of the coefficients."""
        R = self.distances(self.centres)
        np.fill_diagonal(R, 0.0)
        system = np.exp(-R) + ALPHA * np.eye(len(R))
        return R, scipy.linalg.lu_factor(system)

    def gradient(self, batch):
        """Gradient of the mean squared error of a batch with respect to bandwidths."""
        C, T = self.centres, self.X[batch]
        R_c, system = self.solve()
        a = scipy.linalg.lu_solve(system, self.targets - self.targets.mean())
        R = self.distances(T)
        K = np.exp(-R)
        r = 2 * (K @ a + self.targets.mean() - self.y[batch]) / BATCH
        u = scipy.linalg.lu_solve(system, K.T @ r, trans=1)
        R, T = np.vstack([R, R_c]), np.vstack([T, C])
        P = np.vstack([np.outer(r, a), -np.outer(u, a)])
        P *= np.where(R > 0, -np.exp(-R) / (2 * np.where(R > 0, R, 1)), 0)
        G = P.T @ (T * T) - 2 * C * (P.T @ T) + C * C * P.sum(axis=0)[:, None]
        return 2 * self.theta * G

    def predict(self, X):
        """Predict with the current bandwidths."""
        a = scipy.linalg.lu_solve(self.solve()[1], self.targets - self.targets.mean())
        return np.exp(-self.distances(X)) @ a + self.targets.mean()


class AutogradLoop(PlainLoop):
    """The same with PyTorch's autograd, by a tensor (batch, centre, feature)."""

    def gradient(self, batch):
        import torch

        C, t = torch.as_tensor(self.centres), torch.as_tensor(self.targets)
        theta = torch.tensor(self.theta, requires_grad=True)

        def kernel(T):
            squared = ((theta * (torch.as_tensor(T)[:, None] - C)) ** 2).sum(dim=2)
            return torch.exp(-torch.sqrt(squared + 1e-16))

        system = kernel(self.centres) + ALPHA * torch.eye(len(C), dtype=C.dtype)
        a = torch.linalg.solve(system, t - t.mean())
        f = kernel(self.X[batch]) @ a + t.mean()
        ((f - torch.as_tensor(self.y[batch])) ** 2).mean().backward()
        return theta.grad.numpy()


def measure(X, y, X_test, y_test, loops, n_support, steps, n_fits, **shorter):
    """Run loops and fits in turns; return mean seconds and test R2 of the fits."""
    seconds, scores = [], []
    for seed in range(n_fits):
        with threadpool_limits(1):  # fastest for small matrices
            loops["plain loop"].run(steps // n_fits)
        if "autograd" in loops:
            loops["autograd"].run(10)
        model = LABRBFRegressor(
            "laplacian", max_support=n_support, random_state=seed, **shorter
        )
        seconds.append(timing.seconds(model.fit, X, y)[1])
        scores.append(model.score(X_test, y_test))
    return np.mean(seconds), np.mean(scores)


def main():
    """Measure and print."""
    parser = timing.parser(__doc__, "300 rows, 40 support points")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--fits", type=int, default=3)
    options = parser.parse_args()
    n, n_support, steps, shorter = 4700, 350, STEPS, {}
    if options.quick:
        n, n_support, steps, shorter = 300, 40, 30, {"max_iter": 100}
    data = rows(options.data, n)
    X, y, X_test, y_test = data
    loops = {"plain loop": PlainLoop(X, y, n_support)}
    if importlib.util.find_spec("torch"):
        loops["autograd"] = AutogradLoop(X, y, n_support)
        loops["autograd"].gradient(np.arange(BATCH))  # loads PyTorch
    seconds, score = measure(*data, loops, n_support, steps, options.fits, **shorter)
    totals = {name: STEPS * loop.seconds / loop.count for name, loop in loops.items()}
    reached = r2_score(y_test, loops["plain loop"].predict(X_test))
    print(f"{len(y):,} rows, {X.shape[1]} features, {n_support} support points")
    print(f"{'':20}{'seconds':>9}{'plain loop /':>14}{'test R2':>9}")
    for name, total, r2 in (
        ("plain loop", totals["plain loop"], reached),
        ("autograd", totals.get("autograd", np.nan), np.nan),
        ("LABRBFRegressor", seconds, score),
    ):
        ratio = totals["plain loop"] / total
        print(f"{name:20}{total:9.1f}{ratio:14.2f}{r2:9.4f}")


if __name__ == "__main__":
    main()
