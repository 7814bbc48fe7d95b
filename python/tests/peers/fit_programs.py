# SPDX-License-Identifier: Apache-2.0
"""All programs of training: each file adds its own to the table."""
import fits_of_batches  # noqa: F401
import fits_of_outputs  # noqa: F401
import fits_of_own_parts  # noqa: F401
import fits_of_state  # noqa: F401
from fit_table import cases, run  # noqa: F401
