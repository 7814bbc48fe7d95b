# SPDX-License-Identifier: Apache-2.0
"""What test_arguments.py is made of: which functions there are, what they are given, and what comes of it."""
