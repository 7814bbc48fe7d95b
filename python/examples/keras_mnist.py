# SPDX-License-Identifier: Apache-2.0
"""A convolutional network on MNIST, in the style of Keras, on a virtual IPU.

    python3 python/examples/keras_mnist.py [--epochs 3] [--ipus 1]
"""
import argparse

from pando import ipu, keras


def make_model():
    return keras.Sequential([
        keras.layers.Conv2D(16, 3, activation="relu", input_shape=(28, 28, 1)),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--ipus", type=int, default=1)
    options = parser.parse_args()

    (x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
    x_train, x_test = (x[..., None].astype("float32") / 255 for x in (x_train, x_test))

    config = ipu.config.IPUConfig()
    config.auto_select_ipus = options.ipus
    config.configure_ipu_system()
    with ipu.ipu_strategy.IPUStrategy().scope():
        model = make_model()
        model.summary()
        model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                      metrics=["accuracy"], steps_per_execution=50)
        model.fit(x_train, y_train, batch_size=64, epochs=options.epochs)
        loss, accuracy = model.evaluate(x_test, y_test, batch_size=100, verbose=0)
    print(f"Test loss {loss:.4f}, test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
