# SPDX-License-Identifier: Apache-2.0
"""What ``__version__`` says in the packages that stand for others: the releases whose behaviour they follow."""

VERSIONS = {
    "tensorflow": "2.6.3+pando",
    "keras": "2.6.0+pando",
    "poptorch": "3.3.0+pando",
}
