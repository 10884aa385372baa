"""A million tiny calls: memory does not grow."""

import resource

import numpy

import ulplab


def test_a_million_tiny_calls_do_not_grow():
    a, x = numpy.ones((4, 4), "f2"), numpy.ones(3, "f4")

    def calls(count):
        for _ in range(count):
            ulplab.matmul(a, a, unit="sm_90:wgmma.fp16.fp32")
            ulplab.round(x, "e4m3")

    calls(5_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(500_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000  # KiB
