# SPDX-License-Identifier: Apache-2.0
"""tf.estimator: what model functions return; ipu.ipu_estimator.IPUEstimator calls them."""
from __future__ import annotations

from typing import Any

from pando.core.keywords import accepts

class ModeKeys:
    """What a model function is called for."""
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class EstimatorSpec:
    """The parts of a model that a model function describes."""

    @accepts("export_outputs", "training_chief_hooks", "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks")
    def __init__(self, mode: Any, predictions: Any = None, loss: Any = None, train_op: Any = None,
                 eval_metric_ops: Any = None) -> None:
        self.mode, self.predictions, self.loss = mode, predictions, loss
        self.train_op, self.eval_metric_ops = train_op, eval_metric_ops
