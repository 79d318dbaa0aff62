"""The list of gradcheck_peers.py: functions and their backwards, right and wrong, in NumPy, as Heddle's tests plant them.

A function takes arrays and returns (outputs, saved, backward). backward(saved, cotangents, needs) returns a gradient, or None, for each
input. Each peer gives the same functions to its framework: arrays in `saved` are saved as the framework wants it.
"""
import dataclasses
from typing import Callable

import numpy as np

WRONG = "Wrong backwards, which must be refused"
RIGHT = "Right backwards, which must be accepted"
NOTHING = "Right backwards where differences cannot prove anything"

IMMUTABLE = "cannot be planted: arrays are immutable"
NO_STRIDES = "cannot be planted: arrays have no strides"
ENGINE_ADDS = "cannot be planted: a backward returns its gradient, and the framework adds it"


@dataclasses.dataclass
class Row:
    kind: str
    title: str
    make: Callable  # returns the function, with a state of its own
    inputs: list
    test: str  # Heddle's test of the same, "Suite.Name"
    says: str  # found in that test: the message that it demands, or the call that must be proven
    changes: bool = False  # an array is changed in place
    unsaved: bool = False  # backward keeps its arrays without the framework's own way of saving
    sees_needs: bool = False  # backward asks which inputs and outputs take part
    ignores_strides: bool = False  # backward reads the memory of its cotangents as if they were contiguous
    not_for: dict = dataclasses.field(default_factory=dict)  # framework: why the fault cannot be planted there

    def program(self):
        return "gradcheck_test" if self.test.startswith("Gradcheck.") else "gradcheck_faults_test"


def numbers(*values):
    return np.array(values, dtype=np.float64)


def normal(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


SOME = numbers(0.3, -1.2, 2.1, 0.7, -0.4)
LOGITS, GAMMA, SQUARE, ROWS = normal((3, 5), 1), normal(5, 2), normal((4, 4), 3), normal((6, 4), 4)
KINKED = normal(8, 1)
KINKED[3] = 0


def mapping(f, slope):
    """y = f(x), dx = dy slope(x)."""
    return lambda: lambda x: ([f(x)], [x], lambda saved, dy, needs: [dy[0] * slope(saved[0])])


def exponential(change):
    """y = exp(x), dx = change(dy y)."""
    return lambda: lambda x: ([np.exp(x)], [np.exp(x)], lambda saved, dy, needs: [change(dy[0] * saved[0])])


def softmax(mistake="", masked=None):
    """The softmax of each row, whose masked column is zero."""
    def make():
        runs = 0

        def function(x):
            y = np.exp(x)
            if masked is not None: y[:, masked] = 0
            y /= y.sum(1, keepdims=True)

            def backward(saved, dy, needs):
                nonlocal runs
                if mistake == "nothing": return [None]
                y, dy = saved[0], np.ones_like(dy[0]) if mistake == "ignores cotangent" else dy[0]
                dx = y * (dy - (0 if mistake == "dropped term" else (y * dy).sum(1, keepdims=True)))
                if mistake == "dropped mask": dx[:, masked] = 0.1 * dy[:, masked]
                if mistake == "sign": dx = -dx
                if mistake == "factor": dx *= 1.01
                if mistake == "dropped row": dx[-1] = 0
                if mistake == "NaN": dx[1, 0] = np.nan
                if mistake == "not zero for zero": dx[0, 0] += 1e-15
                if mistake == "not deterministic":
                    runs += 1
                    dx[0, 0] += 1e-15 * runs
                if mistake == "consumes saved": y[0, 0] = 0
                return [dx]

            return [y], [y], backward

        return function
    return make


def product(mistake=""):
    """a w^T."""
    def backward(saved, dy, needs):
        a, w = saved
        da, dw = dy[0] @ (np.roll(w, -1, 0) if mistake == "shifted" else w), dy[0].T @ a
        if mistake == "transposed": dw = dw.T.copy()
        if mistake == "last row alone": dw = np.outer(dy[0][-1], a[-1])
        if mistake == "wrong alone" and not needs[0]: dw[0, 0] *= 1.001
        return [da, dw]

    return lambda: lambda a, w: ([a @ w.T], [a, w], backward)


def layer_norm(mistake=""):
    """gamma (x - mean) / sqrt(variance + 1e-5)."""
    def function(x, gamma):
        rstd = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        hat = (x - x.mean(1, keepdims=True)) * rstd

        def backward(saved, dy, needs):
            hat, gamma, rstd = saved
            dhat = dy[0] * gamma
            mean = 0 if mistake == "dropped mean" else dhat.mean(1, keepdims=True)
            along = 0 if mistake == "dropped term" else (dhat * hat).mean(1, keepdims=True)
            return [rstd * (dhat - mean - hat * along), (dy[0] * hat).sum(0)]

        return [gamma * hat], [hat, gamma, rstd], backward

    return lambda: function


def two_outputs(mistake=""):
    """exp(x) and x^2."""
    def backward(saved, dy, needs):
        if mistake == "one alone" and (dy[0] is None or dy[1] is None): return [None]
        dx = np.zeros_like(saved[0])
        if dy[0] is not None: dx += dy[0] * saved[0]
        if dy[1] is not None and mistake != "forgets": dx += dy[1] * saved[1]
        return [dx]

    return lambda: lambda x: ([np.exp(x), x * x], [np.exp(x), 2 * x], backward)


def pair(factor):
    """a b and exp(a)."""
    return lambda: lambda a, b: ([a * b, np.exp(a)], [a, b, np.exp(a)],
                                 lambda saved, dy, needs: [dy[0] * saved[1] + factor * dy[1] * saved[2], dy[0] * saved[0]])


def shared_buffer():
    buffer = []

    def function(x):
        buffer[:] = [np.exp(x)]
        return [buffer[0]], [], lambda saved, dy, needs: [dy[0] * buffer[0]]

    return function


def used_up():
    def function(x):
        kept = [np.exp(x)]

        def backward(saved, dy, needs):
            if not kept: raise RuntimeError("exponential: nothing is kept")
            return [dy[0] * kept.pop()]

        return [kept[0]], [], backward

    return function


def changes_in_forward():
    def function(x):
        x[2] *= 2
        return [np.exp(x)], [np.exp(x)], lambda saved, dy, needs: [dy[0] * saved[0]]

    return function


def changes_in_backward():
    def backward(saved, dy, needs):
        saved[0][1] = 0
        return [dy[0] * saved[1]]

    return lambda x: ([np.exp(x)], [x, np.exp(x)], backward)


def reads_captured():
    return lambda x: ([np.exp(x)], [x], lambda saved, dy, needs: [dy[0] * np.exp(saved[0])])


def another_value():
    calls = 0

    def function(x):
        nonlocal calls
        calls += 1
        x = x.copy()
        x[0, 0] += 1e-9 * calls
        return softmax()()(x)

    return function


def rows_of():
    """y = x[i] for integers i."""
    def function(x, i):
        def backward(saved, dy, needs):
            dx = np.zeros_like(x)
            np.add.at(dx, saved[0], dy[0])
            return [dx, None]

        return [x[i]], [i], backward

    return function


def no_rows():
    def backward(saved, dy, needs):
        dx = np.zeros((4, 3))
        dx[2:2] = dy[0]
        return [dx]

    return lambda x: ([x[2:2].copy()], [], backward)


def concat():
    return lambda a, b: ([np.concatenate([a, b])], [], lambda saved, dy, needs: [dy[0][:len(a)], dy[0][len(a):]])


def checked_log():
    def function(x):
        if not (x > 0).all(): raise ValueError("log: x is outside of its domain")
        return mapping(np.log, lambda x: 1 / x)()(x)

    return function


def f32(x):
    return x.astype(np.float32).astype(np.float64)


def relu(x):
    return np.maximum(x, 0)


root = mapping(np.sqrt, lambda x: 0.5 / np.sqrt(x))
logarithm = mapping(np.log, lambda x: 1 / x)
absolute = mapping(np.abs, lambda x: np.where(x < 0, -1.0, 1.0))
square = mapping(np.square, lambda x: 2 * x)
waves = mapping(lambda x: np.sin(200 * x), lambda x: 200 * np.cos(200 * x))
peak = mapping(lambda x: np.exp(-1e6 * (x - 0.7)**2), lambda x: -2e6 * (x - 0.7) * np.exp(-1e6 * (x - 0.7)**2))
steps = mapping(lambda x: x + np.floor(x), np.ones_like)
one_wrong = mapping(np.square, lambda x: np.where(x == 0.5, 1.01, 2 * x))
in_single = lambda: lambda x: ([np.exp(x)], [f32(np.exp(x))], lambda saved, dy, needs: [dy[0] * saved[0]])
at_first = lambda: lambda x: ([np.exp(x)], [], lambda saved, dy, needs: [dy[0] * np.exp(SOME)])
ignores_dy = lambda: lambda x: ([np.exp(x)], [np.exp(x)], lambda saved, dy, needs: [saved[0].copy()])

LIST = [
    Row(WRONG, "softmax: sign flipped", softmax("sign"), [LOGITS], "Gradcheck.NamesAFlippedSign", "the sign is flipped"),
    Row(WRONG, "softmax: factor 1.01", softmax("factor"), [LOGITS], "Gradcheck.NamesAConstantFactor", "1.01 times the true gradient"),
    Row(WRONG, "exp: factor 1 + 5e-8", exponential(lambda dx: dx * (1 + 5e-8)), [SOME], "GradcheckFault.AFactorOfOnePlus5e8",
        "backward is 1.00000005 times the true gradient"),
    Row(WRONG, "exp: what is saved is rounded to f32", in_single, [SOME], "GradcheckFault.BackwardInSinglePrecision",
        "computes or stores something in single precision"),
    Row(WRONG, "x^2: one element wrong by 1 %, beside an input of 1e8", one_wrong, [numbers(1e8, 0.5, -2)],
        "GradcheckFault.AnErrorBesideAnInputOf1e8", "is wrong at [1]"),
    Row(WRONG, "softmax: the term with the dot product dropped", softmax("dropped term"), [LOGITS],
        "Gradcheck.CatchesSoftmaxWithoutItsDotProduct", "a term is dropped"),
    Row(WRONG, "layer norm: the term through the variance dropped", layer_norm("dropped term"), [LOGITS, GAMMA],
        "Gradcheck.CatchesLayerNormWithoutTheTermThroughTheVariance", "a term is dropped"),
    Row(WRONG, "layer norm: the term through the mean dropped", layer_norm("dropped mean"), [LOGITS, GAMMA],
        "Gradcheck.NamesATermThatIsTheSameAlongARow", "same along each row"),
    Row(WRONG, "softmax: the mask dropped", softmax("dropped mask", 2), [LOGITS], "Gradcheck.CatchesADroppedMask", "3 elements wrong"),
    Row(WRONG, "softmax: the last row dropped", softmax("dropped row"), [LOGITS], "Gradcheck.NamesADroppedRow", "row 2 dropped"),
    Row(WRONG, "matrix product: gradient transposed", product("transposed"), [ROWS, SQUARE], "Gradcheck.NamesATransposedGradient",
        "axes are transposed"),
    Row(WRONG, "matrix product: no sum over the batch", product("last row alone"), [ROWS, SQUARE],
        "Gradcheck.NamesAMissingSumOverTheBatch", "only row 5 of the output [6, 4] contributes"),
    Row(WRONG, "matrix product: operand read one row off", product("shifted"), [ROWS, SQUARE],
        "Gradcheck.CatchesAnOperandReadOneRowOff", "the gradient of input 0 [6, 4]"),
    Row(WRONG, "matrix product: wrong only if the other input needs no gradient", product("wrong alone"), [ROWS, SQUARE],
        "Gradcheck.CatchesAGradientWrongOnlyWhenItsInputAloneNeedsOne", "only these inputs need a gradient: 1", sees_needs=True),
    Row(WRONG, "softmax: NaN in the gradient", softmax("NaN"), [LOGITS], "Gradcheck.CatchesANaN", "a NaN or Inf in backward"),
    Row(WRONG, "softmax: no gradient at all", softmax("nothing"), [LOGITS], "Gradcheck.NamesAnInputThatGetsNothing",
        "hands this input nothing"),
    Row(WRONG, "softmax: not deterministic (1e-15)", softmax("not deterministic"), [LOGITS],
        "Gradcheck.CatchesABackwardThatIsNotDeterministic", "not deterministic"),
    Row(WRONG, "softmax: 1e-15 added, also for a cotangent of zeros", softmax("not zero for zero"), [LOGITS],
        "Gradcheck.CatchesAGradientThatIsNotZeroForAZeroCotangent", "a cotangent of zeros gives input 0 [3, 5] a gradient"),
    Row(WRONG, "exp: the cotangent ignored", ignores_dy, [LOGITS], "Gradcheck.NamesABackwardThatIgnoresTheOutputsGradient",
        "ignores the output's gradient"),
    Row(WRONG, "exp: gradient clipped to [-1000, 1000]", exponential(lambda dx: np.clip(dx, -1e3, 1e3)), [SOME],
        "GradcheckFault.AClippedGradient", "backward is not linear in the output's gradient"),
    Row(WRONG, "exp: `=` for `+=` in the gradient of a leaf", None, [SOME], "GradcheckFault.AssignmentForAddition",
        "the gradient that is already there is overwritten: `=` for `+=`", not_for={"torch": ENGINE_ADDS, "jax": ENGINE_ADDS}),
    Row(WRONG, "exp: the gradient that is already there counted twice", None, [SOME], "GradcheckFault.AdditionTwice",
        "backward uses the gradient that is already there", not_for={"torch": ENGINE_ADDS, "jax": ENGINE_ADDS}),
    Row(WRONG, "exp: a static buffer that two forward passes share", shared_buffer, [SOME], "GradcheckFault.AStaticBuffer",
        "reads a buffer that both passes share"),
    Row(WRONG, "exp: saved data used up by the first backward", used_up, [SOME],
        "GradcheckFault.SavedDataThatTheFirstBackwardUsesUp", "a second backward over the same (retained) tape fails"),
    Row(WRONG, "softmax: backward overwrites what was saved", softmax("consumes saved"), [LOGITS],
        "Gradcheck.CatchesABackwardThatOverwritesWhatItSaved", "changes or consumes what it saved", changes=True),
    Row(WRONG, "exp: the derivative at the first inputs, kept for all others", at_first, [SOME],
        "GradcheckFault.ASavedDerivativeOfTheFirstInputs", "at another point"),
    Row(WRONG, "exp: forward changes its input in place", changes_in_forward, [SOME], "GradcheckFault.InputsThatTheFunctionChanges",
        "the function changes input 0 in place", changes=True),
    Row(WRONG, "exp: backward changes its input in place", changes_in_backward, [SOME], "GradcheckFault.InputsThatBackwardChanges",
        "backward changes input 0 in place", changes=True, unsaved=True),
    Row(WRONG, "exp: backward reads an input that is not saved and may have changed", reads_captured, [SOME],
        "GradcheckFault.AnInputThatBackwardReadsWithoutSavingIt", "was changed in place between forward and backward", changes=True,
        unsaved=True),
    Row(WRONG, "softmax: another value at each call (1e-9)", another_value, [LOGITS], "Gradcheck.CatchesAValueThatChangesFromRunToRun",
        "two fresh runs give different values"),
    Row(WRONG, "exp: the cotangent's strides ignored (of a transposed one, or 0 of a repeated one)", exponential(lambda dx: dx), [LOGITS],
        "", "", ignores_strides=True, not_for={"jax": NO_STRIDES, "heddle": NO_STRIDES}),
    Row(WRONG, "exp(x), x^2: the second output forgotten", two_outputs("forgets"), [SOME], "GradcheckFault.AnOutputThatBackwardForgets",
        "the gradient of input 0 [5] is wrong"),
    Row(WRONG, "exp(x), x^2: no gradient if only one output takes part", two_outputs("one alone"), [SOME],
        "GradcheckFault.BackwardOfOneOutputAlone", "when backward starts from output 0 alone", sees_needs=True),
    Row(WRONG, "a b, exp(a): factor 1.01 in one term, no tape", pair(1.01), [SOME, normal(5, 1)], "GradcheckPlain.RefusesAWrongDerivative",
        "the gradient of input 0 [5] is wrong"),

    Row(RIGHT, "softmax", softmax(), [LOGITS], "Gradcheck.ProvesSoftmax", "check_softmax(Mistake::none)"),
    Row(RIGHT, "softmax with a mask", softmax("", 2), [LOGITS], "Gradcheck.ProvesMaskedSoftmax", "check_softmax(Mistake::none, 2)"),
    Row(RIGHT, "matrix product", product(), [ROWS, SQUARE], "Gradcheck.ProvesAProduct", "check_product(Mistake::none)"),
    Row(RIGHT, "layer norm", layer_norm(), [LOGITS, GAMMA], "Gradcheck.ProvesLayerNorm", "check_layer_norm(Mistake::none)"),
    Row(RIGHT, "exp(x), x^2", two_outputs(), [SOME], "GradcheckFault.NoneInAnOpOfSeveralOutputs", "check_two_outputs(both)"),
    Row(RIGHT, "a b, exp(a), no tape", pair(1), [SOME, normal(5, 1)], "GradcheckPlain.ProvesAPairOfFunctions", "gradcheck(pair(1)"),
    Row(RIGHT, "rows x[i], i an integer input", rows_of, [normal((4, 3), 5), np.array([1, 3, 1])], "GradcheckHard.IntegersAreCaptured",
        "expect_proven(gradcheck(rows, {x}), 1e-8)"),
    Row(RIGHT, "sqrt at .002, 1e-5, 3", root, [numbers(0.002, 1e-5, 3)], "GradcheckHard.SquareRootsAndLogarithmsNearZero",
        "numbers({0.002, 1e-5, 3})"),
    Row(RIGHT, "log at .01, 1e-6, 5", logarithm, [numbers(0.01, 1e-6, 5)], "GradcheckHard.SquareRootsAndLogarithmsNearZero",
        "numbers({0.01, 1e-6, 5})"),
    Row(RIGHT, "log at .004, 2, an error outside of its domain", checked_log, [numbers(0.004, 2)],
        "GradcheckHard.AFunctionThatThrowsOutsideOfItsDomain", "numbers({0.004, 2})"),
    Row(RIGHT, "sin(200 x)", waves, [SOME], "GradcheckHard.FastWaves", "expect_proven(gradcheck(waves"),
    Row(RIGHT, "exp(-1e6 (x - .7)^2) at .7003, .6995", peak, [numbers(0.7003, 0.6995)], "GradcheckHard.ANarrowPeak",
        "numbers({0.7003, 0.6995})"),
    Row(RIGHT, "x + 1e8", mapping(lambda x: x + 1e8, np.ones_like), [SOME], "GradcheckHard.ALargeConstant", "return x + 1e8;"),
    Row(RIGHT, "x^2 at 1e8, .5, -2", square, [numbers(1e8, 0.5, -2)], "GradcheckFault.AnErrorBesideAnInputOf1e8",
        "expect_proven(gradcheck(mapping(square, twice), {x}), 1e-8)"),
    Row(RIGHT, "x^2 at 1e150, 1e-150, 1", square, [numbers(1e150, 1e-150, 1)], "GradcheckHard.LargeAndSmallInputs",
        "numbers({1e150, 1e-150, 1})"),
    Row(RIGHT, "sin at 1e8, 1e-8, 1", mapping(np.sin, np.cos), [numbers(1e8, 1e-8, 1)], "GradcheckHard.LargeAndSmallInputs",
        "numbers({1e8, 1e-8, 1})"),
    Row(RIGHT, "abs at 1, -2, 1e-5", absolute, [numbers(1, -2, 1e-5)], "GradcheckHard.AKinkNearbyIsProvenAndAKinkHereIsNamed",
        "numbers({1, -2, 1e-5})"),
    Row(RIGHT, "x + floor(x) at .3, 1.5", steps, [numbers(0.3, 1.5)], "GradcheckHard.AJumpIsNotBlamedOnBackward", "numbers({0.3, 1.5})"),

    Row(NOTHING, "an output without elements", no_rows, [normal((4, 3), 1)], "GradcheckFault.AnOutputWithoutElements",
        "the output [0, 3] has no elements, so nothing can be proven"),
    Row(NOTHING, "one input without elements", concat, [normal((2, 3), 1), np.zeros((0, 3))], "GradcheckFault.AnInputWithoutElements",
        "input 1 [0, 3] has no elements"),
    Row(NOTHING, "relu where it is flat (-1, -2, -.5)", mapping(relu, np.zeros_like), [numbers(-1, -2, -0.5)],
        "GradcheckFault.AGradientOfZerosThatNobodyDeclared", "every derivative by input 0 [3] is zero within 0, so nothing can be proven"),
    Row(NOTHING, "abs at 0, derivative 1", absolute, [KINKED], "Gradcheck.TellsAKinkFromAWrongGradient",
        "a kink or jump within a step of this input"),
    Row(NOTHING, "abs at 1e-12", absolute, [numbers(1, -2, 1e-12)], "GradcheckHard.AKinkNearbyIsProvenAndAKinkHereIsNamed",
        "the function has a kink or jump within a step of this input"),
    Row(NOTHING, "relu at 0, derivative .5", mapping(relu, lambda x: np.heaviside(x, 0.5)), [numbers(1, -2, 0)],
        "GradcheckHard.AKinkNearbyIsProvenAndAKinkHereIsNamed", "the function has a kink at [2] of input 0 [3]"),
    Row(NOTHING, "x + floor(x) at 2", steps, [numbers(0.3, 2)], "GradcheckHard.AJumpIsNotBlamedOnBackward",
        "the function has a kink or jump"),
    Row(NOTHING, "x + 1e20", mapping(lambda x: x + 1e20, np.ones_like), [SOME], "GradcheckHard.ALargeConstant",
        "every derivative by input 0 [5] is zero within"),
    Row(NOTHING, "sin(x) + 1e9", mapping(lambda x: np.sin(x) + 1e9, np.cos), [SOME], "GradcheckHard.ALargeConstant", "hides the change"),
    Row(NOTHING, "sqrt at 1e-300", root, [numbers(1, 1e-300)], "GradcheckHard.ValuesThatAreNotFiniteNearby", "cannot be proven at [1]"),
    Row(NOTHING, "sqrt at -1, a NaN", root, [numbers(1, -1)], "GradcheckHard.ValuesThatAreNotFiniteNearby",
        "a derivative needs finite values"),
]
