# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_infeed_queue: data to the steps of loops."""
from pando.ipu.queues import IPUInfeedQueue  # noqa: F401
