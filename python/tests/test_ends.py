# SPDX-License-Identifier: Apache-2.0
"""How programs end: with threads that still train, in forked children, by Ctrl-C; and what is left of models."""
import os
import signal
import subprocess
import sys

import pytest

MODEL = """
import os, sys, threading, time
import numpy as np
import pando
from pando import keras

def make():
    model = keras.Sequential([keras.layers.Dense(8, activation="relu", input_shape=(4,)), keras.layers.Dense(2)])
    model.compile(optimizer="sgd", loss="mse")
    return model

x, y = np.random.rand(256, 4).astype("float32"), np.random.rand(256, 2).astype("float32")
"""


def test_a_thread_that_trains_does_not_keep_python_from_ending(run_python):
    program = MODEL + """
model = make()
thread = threading.Thread(target=lambda: model.fit(x, y, epochs=100000, verbose=0), daemon=True)
thread.start()
time.sleep(0.5)
print("end", thread.is_alive())
"""
    assert run_python("-c", program, timeout=300).stdout == "end True\n"


def test_a_thread_whose_callbacks_are_python_does_not_either(run_python):
    program = MODEL + """
class Counter(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        sum(range(1000))

model = make()
thread = threading.Thread(target=lambda: model.fit(x, y, epochs=100000, verbose=0, callbacks=[Counter()]), daemon=True)
thread.start()
time.sleep(0.5)
print("end", thread.is_alive())
"""
    assert run_python("-c", program, timeout=300).stdout == "end True\n"


def test_a_forked_child_says_what_to_do(run_python):
    program = MODEL + """
ipus = pando.ipu.config.IPUConfig()
ipus.auto_select_ipus = 2
ipus.configure_ipu_system()
with pando.ipu.ipu_strategy.IPUStrategy().scope():
    model = make()
    model.fit(x, y, verbose=0)
    sys.stdout.flush()
    if os.fork() == 0:
        try:
            model.fit(x, y, verbose=0)
            print("trained")
        except pando.Error as error:
            print("forked" in str(error))
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""
    assert run_python("-c", program, timeout=300).stdout == "True\n"


def test_ctrl_c_raises_keyboard_interrupt(tmp_path):
    from conftest import PACKAGES
    program = MODEL + """
class Ready(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 0:
            print("ready", flush=True)

model = make()
try:
    model.fit(x, y, epochs=1000000, verbose=0, callbacks=[Ready()])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={**os.environ, "PYTHONPATH": PACKAGES, "PATH": ""}) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate(timeout=300)
    assert shown == "interrupted\n"


@pytest.mark.skipif("PANDO_THREAD_SANITIZER" in os.environ, reason="a sanitizer has memory of its own")
def test_models_that_are_dropped_leave_nothing(run_python):
    program = MODEL + """
import gc, resource, weakref
def once():
    model = make()
    model.fit(x, y, verbose=0)
    return weakref.ref(model)
once()
lives = [once() for _ in range(20)]
gc.collect()
threads, references = threading.active_count(), sys.getrefcount(x)
memory = int(open("/proc/self/statm").read().split()[1])
lives += [once() for _ in range(200)]
gc.collect()
grown = int(open("/proc/self/statm").read().split()[1]) - memory
print(sum(life() is not None for life in lives), threading.active_count() - threads, sys.getrefcount(x) - references)
print(grown * os.sysconf("SC_PAGE_SIZE") < 40e6, len(os.listdir("/proc/self/task")) < 40)
"""
    assert run_python("-c", program).stdout == "0 0 0\nTrue True\n"


def test_two_threads_train_at_once(run_python):
    program = MODEL + """
sys.setswitchinterval(1e-5)
models = [make() for _ in range(2)]
results = []
threads = [threading.Thread(target=lambda model=model: results.append(model.fit(x, y, epochs=20, verbose=0)))
           for model in models]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(results))
"""
    assert run_python("-c", program, timeout=300).stdout == "2\n"


@pytest.mark.parametrize("kind", ["spawn"])
def test_spawned_processes_work(run_python, tmp_path, kind):
    (tmp_path / "program.py").write_text(MODEL + f"""
import multiprocessing
def work(seed):
    model = make()
    model.fit(x, y, verbose=0)
    return seed
if __name__ == "__main__":
    make().fit(x, y, verbose=0)
    with multiprocessing.get_context("{kind}").Pool(1) as pool:
        print(pool.map(work, [1, 2]))
""")
    assert run_python("program.py", timeout=300).stdout == "[1, 2]\n"
