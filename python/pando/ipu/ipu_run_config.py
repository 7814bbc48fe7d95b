# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_run_config: how an IPUEstimator runs."""
from pando.ipu.ipu_estimator import IPURunConfig, RunConfig  # noqa: F401
