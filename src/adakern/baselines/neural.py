"""Residual network of the LAB RBF tables; PyTorch is needed only for training."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, constraints
from adakern.baselines.base import StandardisedRegressor
from adakern.baselines.optional import require

BATCH_SIZE = 64
PATIENCE = 20
VALIDATION_FRACTION = 0.1

LARGEST_SINGLE = float(np.finfo(np.float32).max)


@parameters
class ResNetRegressor(StandardisedRegressor):
    """Residual network for regression with blocks of three dense layers.

    Adam minimises the squared error; the weights that are best on a validation set are
    kept. Features and target are standardised. Requires the extra ``torch``.

    Parameters
    ----------
    width : int, default=64
        Number of units per layer.
    n_blocks : int, default=3
        Number of residual blocks.
    learning_rate : float, default=1e-3
    max_epochs : int, default=200
        Maximum number of epochs. Training stops after twenty epochs without improvement
        on the validation set, a tenth of the rows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    coefs_, intercepts_ : lists of ndarrays
        Weights and biases of the layers.
    n_iter_ : int
        Number of epochs.

    References
    ----------
    Chen, Hu, Nian, Yang. Deep Residual Learning for Nonlinear Regression. Entropy 22,
    2020.
    """

    width: int = 64
    n_blocks: int = 3
    learning_rate: float = 1e-3
    max_epochs: int = 200
    random_state: Any = None

    _required_packages = ("torch",)

    _parameter_constraints = constraints(
        "random_state",
        width=AT_LEAST_ONE,
        n_blocks=AT_LEAST_ONE,
        # Training is in single precision.
        learning_rate=[Interval(Real, 0, LARGEST_SINGLE, closed="neither")],
        max_epochs=AT_LEAST_ONE,
    )

    def _fit(self, X, y):
        torch = require("torch", type(self).__name__)
        rng = check_random_state(self.random_state)
        self._scaler = StandardScaler().fit(X)
        inputs = torch.tensor(self._scaler.transform(X)).float()
        targets = torch.tensor(self._targets(y)).float()
        order = rng.permutation(len(X))
        size = int(VALIDATION_FRACTION * len(X))
        hidden = [(self.width, self.width)] * (3 * self.n_blocks)
        layers = [
            [
                torch.tensor(a).float().requires_grad_()
                for a in _initial_layer(n_in, n_out, rng)
            ]
            for n_in, n_out in [(X.shape[1], self.width), *hidden, (self.width, 1)]
        ]
        self._train(torch, layers, inputs, targets, order[size:], order[:size], rng)

    def _outputs(self, X):
        layers = zip(self.coefs_, self.intercepts_, strict=True)
        return _forward(layers, self._scaler.transform(X))

    def _train(self, torch, layers, inputs, targets, train, validation, rng):
        parameters = [parameter for layer in layers for parameter in layer]
        optimizer = torch.optim.Adam(parameters, lr=self.learning_rate)

        def loss(rows):
            return ((_forward(layers, inputs[rows]) - targets[rows]) ** 2).mean()

        best = None
        best_loss = np.inf
        self.n_iter_ = 0
        stale = 0
        while self.n_iter_ < self.max_epochs and stale < PATIENCE:
            for rows in np.array_split(
                rng.permutation(train), -(-len(train) // BATCH_SIZE)
            ):
                optimizer.zero_grad()
                loss(rows).backward()
                optimizer.step()
            self.n_iter_ += 1
            stale += 1
            with torch.no_grad():
                current = float(loss(validation)) if len(validation) else -self.n_iter_
            if best is None or current < best_loss:
                best = [p.detach().numpy().astype(np.float64) for p in parameters]
                best_loss, stale = current, 0
        self.coefs_ = best[::2]
        self.intercepts_ = best[1::2]


def _forward(layers, X):
    (W, b), *hidden, (W_out, b_out) = layers
    h = X @ W + b
    for first in range(0, len(hidden), 3):
        (W1, b1), (W2, b2), (W3, b3) = hidden[first : first + 3]
        inner = _relu(_relu(h @ W1 + b1) @ W2 + b2)
        h = _relu(h + inner @ W3 + b3)
    return h @ W_out + b_out


def _initial_layer(n_in, n_out, rng):
    """Initial weights and biases, with PyTorch's default scale."""
    bound = n_in**-0.5
    return rng.uniform(-bound, bound, (n_in, n_out)), rng.uniform(-bound, bound, n_out)


def _relu(x):
    return x * (x > 0)
