"""ulplab.train, gradients and torch.export: nets as data, with the trainer's bits."""

import json
import re
import signal
import threading
import time

import numpy
import pytest

import ulplab
from conftest import same_bits


def test_trainings_are_those_of_the_command_line(program):
    for net, options in (("mlp", {"recipe": "bf16", "optimizer": "adam", "learning_rate": 0.01}),
                         ("transformer", {"recipe": "te_delayed", "unit": "h100", "scaler": "apex", "batch": 4})):
        given = {"steps": 3, "seed": 5, "images": 64, **options}
        spelt = {"unit": "--unit=soft:", "scaler": "--loss-scale="}
        words = [spelt.get(name, f"--{name.replace('_', '-')}=") + str(value) for name, value in given.items()]
        printed = program("train", "--net", net, *words)
        found = ulplab.train(net, **given)
        assert re.search("trace ([0-9a-f]{64})", printed)[1] == found.trace_digest
        assert len(found.losses) == len(found.digests) == 3 and found.losses.dtype == numpy.float64
        assert found.weights.keys() >= {"out.weight" if net == "transformer" else "fc1.weight"} and "3 steps" in repr(found)


def test_examples_and_weights_of_ones_own(tmp_path):
    x = numpy.random.default_rng(1).random((80, 6)).astype("f4")
    labels = (x.sum(1) > 3).astype("i8")
    net = {"name": "small", "task": "images", "input": {"shape": [6]}, "outputs": 2,
           "layers": [{"layer": "linear", "name": "fc1", "outputs": 8}, {"layer": "relu"},
                      {"layer": "linear", "name": "fc2"}]}
    first = ulplab.train(net, data=x, labels=labels, batch=16, steps=30, learning_rate=0.2)
    assert first.losses[-1] < first.losses[0] and first.weights["fc2.weight"].shape == (2, 8)
    first.save(tmp_path / "w.safetensors")
    (tmp_path / "net.json").write_text(json.dumps(net))
    again = [ulplab.train(what, data=x, labels=labels, batch=16, steps=2, weights=weights)
             for what, weights in ((net, first.weights), (tmp_path / "net.json", tmp_path / "w.safetensors"))]
    assert again[0].trace_digest == again[1].trace_digest and again[0].losses[0] < first.losses[0]


def test_what_is_wrong_is_one_sentence_in_pythons_names():
    for kind, text, arguments in (
            (ValueError, "learning_rate is -1", {"learning_rate": -1.0}), (ValueError, "steps and batch are", {"steps": 0}),
            (ValueError, "no recipe 'half'", {"recipe": "half"}), (ValueError, "no optimizer 'lion'", {"optimizer": "lion"}),
            (ValueError, "fp32 erf: the net has no such operation", {"fp32": ["erf"]}),
            (ulplab.DataError, "missing: fc1.bias", {"weights": {"fc1.weight": numpy.zeros((32, 784))}}),
            (ulplab.DataError, "labels: has 3|labels has 3", {"data": numpy.zeros((4, 784)), "labels": numpy.zeros(3)}),
            (ValueError, "data and labels go together", {"data": numpy.zeros((4, 784))})):
        with pytest.raises(kind, match=text):
            ulplab.train("mlp", **arguments)
    with pytest.raises(ulplab.DataError, match="/layers/0/layer is \"lstn\""):
        ulplab.train({"name": "x", "task": "images", "input": {"shape": [4]}, "outputs": 2, "layers": [{"layer": "lstn"}]})
    with pytest.raises(ValueError, match="mlp"):
        ulplab.train("mlq")


def test_ctrl_c_ends_a_training_within_a_second():
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ulplab.train("cnn", steps=1_000_000, images=64)
    assert time.monotonic() < started + 1.5 + 1  # and what Python takes where other tests run beside


def test_other_threads_run_meanwhile():
    count = 0
    thread = threading.Thread(target=ulplab.train, args=("mlp",), kwargs={"steps": 60, "images": 64})
    thread.start()
    while thread.is_alive():
        count += 1
    assert count > 1000  # far more often than the interpreter would switch between two that compute


def test_gradients_check_shapes():
    x = numpy.zeros((2, 784))
    y, found = ulplab.gradients("mlp", x, numpy.ones((2, 10)), recipe="fp32", unit="ieee")
    assert y.shape == (2, 10) and found["input"].shape == (2, 784)
    assert same_bits(found["fc2.bias"], numpy.full(10, 2, "f4"))
    with pytest.raises(ValueError, match=r"dy has the shape \(2, 9\), the net's result \(2, 10\)"):
        ulplab.gradients("mlp", x, numpy.ones((2, 9)))
