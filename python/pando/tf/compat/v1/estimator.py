# SPDX-License-Identifier: Apache-2.0
"""tf.estimator: what model functions return; ipu.ipu_estimator.IPUEstimator calls them."""
from __future__ import annotations

from typing import Any



class ModeKeys:
    """What a model function is called for."""
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class EstimatorSpec:
    """The parts of a model that a model function describes."""

    def __init__(self, mode: Any, predictions: Any = None, loss: Any = None, train_op: Any = None,
                 eval_metric_ops: Any = None, **kwargs: Any) -> None:
        self.mode, self.predictions, self.loss = mode, predictions, loss
        self.train_op, self.eval_metric_ops = train_op, eval_metric_ops
