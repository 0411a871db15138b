"""Decompositions and solutions of matrices, and Fourier transforms."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import JITTER, RANGE, Advice
from tb_debugger_plugin.analysis.diagnosis.evidence import finite_in, guess, holds, infinities, unless
from tb_debugger_plugin.analysis.diagnosis.known import BEYOND, INFINITE, NAN, Cause

TRANSFORMS: Final = (
    "FFT",
    "FFT2D",
    "FFT3D",
    "IFFT",
    "IFFT2D",
    "IFFT3D",
    "RFFT",
    "RFFT2D",
    "IRFFT",
    "IRFFT2D",
)
_DECOMPOSED: Final = ("Svd", "SelfAdjointEigV2", "Qr", "Eig", "Lu", "MatrixExponential", "MatrixInverse")
_REGULAR: Final = Advice(
    "The matrix has no inverse, or nearly none: add a small multiple of the identity, or use"
    " tf.linalg.lstsq or"
    " tf.linalg.pinv.",
    JITTER.rewrites,
    "tf.linalg.solve(a + 1e-6 * tf.eye(tf.shape(a)[-1], dtype=a.dtype), b)",
)

CAUSES: Final = (
    Cause(
        ("Cholesky",),
        NAN,
        "the matrix is not positive definite",
        finite_in,
        JITTER,
    ),
    Cause(
        ("MatrixInverse", "MatrixSolve", "MatrixSolveLs", "TridiagonalSolve"),
        (*INFINITE, *NAN),
        "the matrix is singular, or so nearly that the result is beyond the range of the dtype",
        guess(finite_in),
        _REGULAR,
    ),
    Cause(
        ("MatrixTriangularSolve", "BatchMatrixTriangularSolve"),
        (*INFINITE, *NAN),
        "the diagonal of the matrix has a 0, which divides",
        guess(holds(0, "zero")),
        _REGULAR,
    ),
    Cause(
        ("MatrixTriangularSolve", "BatchMatrixTriangularSolve"),
        (*INFINITE, *NAN),
        BEYOND,
        unless(holds(0, "zero"), finite_in),
        _REGULAR,
    ),
    Cause(
        ("LogMatrixDeterminant",),
        ("neg_inf",),
        "the matrix is singular: its determinant is 0, and the logarithm of 0 is −∞",
        finite_in,
        JITTER,
    ),
    Cause(("MatrixDeterminant", "MatrixExponential"), INFINITE, BEYOND, guess(finite_in), RANGE),
    Cause(
        ("MatrixExponential",),
        NAN,
        "its partial results are beyond the range of the dtype, and ∞ − ∞ is NaN",
        guess(finite_in),
        RANGE,
    ),
    Cause(
        ("MatrixLogarithm", "MatrixSquareRoot"),
        (*INFINITE, *NAN),
        "the matrix has none: an eigenvalue is 0",
        guess(finite_in),
        JITTER,
    ),
    Cause(_DECOMPOSED, NAN, "a matrix with ∞ has no decomposition", infinities),
    Cause(
        ("Cholesky", "LogMatrixDeterminant", "MatrixDeterminant"), NAN, "a matrix with ∞ has none", infinities
    ),
    Cause(TRANSFORMS, INFINITE, BEYOND, finite_in, RANGE),
    Cause(
        TRANSFORMS,
        NAN,
        "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN",
        finite_in,
        RANGE,
    ),
    Cause(TRANSFORMS, NAN, "∞ − ∞ is NaN", infinities),
)
