# SPDX-License-Identifier: Apache-2.0
"""The tensors of TensorFlow and what can be done with them; Keras, TensorFlow and IPU programs stand on them."""
