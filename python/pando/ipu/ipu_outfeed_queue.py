# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_outfeed_queue: results from the steps of loops."""
from pando.ipu.queues import IPUOutfeedMode, IPUOutfeedQueue  # noqa: F401
