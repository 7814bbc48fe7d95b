# SPDX-License-Identifier: Apache-2.0
"""What the library shows and says goes through Python: sys.stdout, sys.stderr and logging."""
import contextlib
import io
import logging

import numpy as np
import pytest

import pando
from pando.core import messages


def test_messages_are_written_as_upstream_writes_them(capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    messages.warn("keras", "The disk is full.")
    messages.notice("poptorch", "Nothing is lost.")
    assert capsys.readouterr().err == "WARNING:tensorflow:The disk is full.\nNothing is lost.\n"


def test_a_program_that_configured_logging_gets_records(caplog):
    with caplog.at_level(logging.INFO):
        messages.warn("ipu", "One.")
        messages.notice("datasets", "Two.")
    assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
        ("tensorflow", "WARNING", "One."), ("pando", "INFO", "Two.")]


def test_messages_that_upstream_has_are_in_its_words(caplog):
    messages._receive("warning", "ipu",
                      "the IPU system was configured before and is reset now; models keep their old devices.", False)
    messages._receive("notice", "keras", "The model 'm' has been configured with only 1 step per execution. Consider.",
                      False)
    assert caplog.messages == ["Resetting existing IPU configuration before applying new configuration",
                               "The model 'm' has been configured with only 1 steps per execution. Consider."]


def test_a_notice_about_an_option_is_told_once(caplog):
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            messages.notice_once("keras", "The option has no effect (test).")
    assert caplog.messages == ["The option has no effect (test)."]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_stream_is_looked_up_at_each_write(stream):
    redirect = contextlib.redirect_stdout if stream == "stdout" else contextlib.redirect_stderr
    write = messages._writer(stream)
    texts = []
    for text in ("one", "two"):
        with redirect(io.StringIO()) as target:
            write(text)
            assert messages._columns(stream) == 0
        texts.append(target.getvalue())
    assert texts == ["one", "two"]


def test_the_look_of_bars_can_be_chosen(capsys):
    model = pando.keras.Sequential([pando.keras.layers.Dense(1, input_shape=(2,))])
    model.compile(loss="mse")
    try:
        pando.set_look("keras2")
        model.fit(np.zeros((4, 2), "float32"), np.zeros((4, 1), "float32"))
        assert "1/1 [==============================]" in capsys.readouterr().out
    finally:
        pando.set_look("keras3")
    with pytest.raises(pando.Error, match="the look must be 'keras2' or 'keras3', not 'keras'"):
        pando.set_look("keras")


def test_machine_says_what_there_is():
    found = pando.machine()
    assert "cpu" in found["backends"] and found["instruction_sets"]
    assert bool(found["gpus"]) == (found["why_no_gpu"] == "")
