"""DANK, the kernel products and the flagship on a GPU against the CPU.

    python benchmarks/gpu.py            # 20,000 rows; needs PyTorch; CUDA if present
    python benchmarks/gpu.py --quick    # 2,000 rows, only checks that it runs

NumPy arrays and PyTorch tensors use the same code: the same functions are timed on
both, in turns. Without a GPU the tensors stay on the CPU. float32 and float64 are
measured; the accuracy shows whether float32 is sufficient. The flagship, here with
kernel members only, always computes in float64.
"""

import numpy as np

from adakern import AdaptiveKernelClassifier
from adakern._utils.arrays import as_numpy
from adakern.dank import decomposed, working_set
from adakern.dank.working_set import RowsProblem
from adakern.datasets import make_covtype_like
from adakern.kernels import kernel_product
from adakern.svm.dual import classification_dual
from timing import parser, seconds

C, GAMMA, ROWS_PER_CLUSTER = 10.0, 0.5, 1000
KERNEL = {"kernel": "rbf", "gamma": GAMMA}


def arrays(library, dtype, device, *parts):
    """Convert arrays to this library on this device."""
    if library == "numpy":
        return [part.astype(dtype) for part in parts]
    import torch

    kind = getattr(torch, dtype)
    return [torch.as_tensor(part, dtype=kind, device=device) for part in parts]


def wait(device):
    """Wait for CUDA, whose calls are asynchronous."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def run(library, dtype, device, X, y, T, t):
    """Seconds of the decomposed fit, the whole fit and the prediction; the accuracy;
    and whether the whole fit converged.
    """
    X, y, T = arrays(library, dtype, device, X, y, T)
    box = classification_dual(y, C, fit_intercept=False)
    n_clusters = max(1, len(X) // ROWS_PER_CLUSTER)
    took = []

    def timed(function, *args, **options):
        wait(device)
        (result, _), time = seconds(lambda: (function(*args, **options), wait(device)))
        took.append(time)
        return result

    problem = RowsProblem(X, KERNEL, box, "svm")
    options = {"n_clusters": n_clusters, "max_iter": 200, "random_state": 0}
    fine = timed(decomposed.solve, problem, None, 1e-4, **options)
    problem = RowsProblem(X, KERNEL, box, fine.eta)
    whole = timed(working_set.solve, problem, fine.d, 1e-3)
    values = timed(kernel_product, T, X, whole.point.d, **KERNEL)
    positive = np.asarray((values > 0).cpu() if library == "torch" else values > 0)
    return took, float((positive == (t > 0)).mean()), whole.converged


def beside(times, reference):
    """Format each time with its speed-up over the reference."""
    pairs = zip(times, reference, strict=True)
    return " ".join(f"{now:8.2f} s {then / now:5.1f}x" for now, then in pairs)


def compare_flagship(device, X, y, T, t):
    """Print the flagship's times with NumPy and PyTorch, their ratio, and the
    accuracy.
    """
    print(f"{'flagship':20} {'fit':>16} {'predict':>16} {'acc %':>6}")
    kernels, reference = ["laplacian-ard", "l2-laplacian-ard", "rbf-ard"], None
    for library, place in (("numpy", "cpu"), ("torch", device)):
        model = AdaptiveKernelClassifier(members=kernels, random_state=0)
        rows, new = arrays(library, "float64", place, X, T)
        times = [seconds(model.fit, rows, y)[1]]
        # Predictions are returned on the CPU, so there is nothing to wait for.
        predicted, predicting = seconds(model.predict, new)
        times.append(predicting)
        reference = reference or times
        accuracy = 100 * (as_numpy(predicted) == t).mean()
        print(f"{f'{library} {place}':20} {beside(times, reference)} {accuracy:6.2f}")


def main():
    options = parser(__doc__, "2,000 rows")
    options.add_argument("--turns", type=int, default=2)
    arguments = options.parse_args()
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    n = 2000 if arguments.quick else 20_000
    X, y = make_covtype_like(n=n + n // 5)
    data = X[:n], y[:n].astype(float), X[n:], y[n:]
    print(f"{n:,} x {X.shape[1]}; PyTorch {torch.__version__} on {device}")
    cases = [
        ("numpy", "float64", "cpu"),
        ("numpy", "float32", "cpu"),
        ("torch", "float64", device),
        ("torch", "float32", device),
    ]
    best = {}
    for _ in range(arguments.turns):
        for case in cases:
            times, accuracy, converged = run(*case, *data)
            times = np.minimum(times, best[case][0]) if case in best else times
            best[case] = np.asarray(times), accuracy, converged
    reference = best[cases[0]][0]
    print(
        f"{'arrays':20} {'decomposed':>16} {'whole':>16} {'predict':>16} {'acc %':>6}"
    )
    for case in cases:
        times, accuracy, converged = best[case]
        columns = beside(times, reference)
        name = f"{case[0]} {case[1]} {case[2]}"
        note = "" if converged else "  whole did not converge"
        print(f"{name:20} {columns} {100 * accuracy:6.2f}{note}")
    few = n // 6 if arguments.quick else n
    compare_flagship(device, *(part[:few] for part in data))


if __name__ == "__main__":
    main()
