"""The shift between two images by the phase of spectra: that of an empty image is 0, and 0 / 0 is NaN.

The values are complex. Modelled on opencv/opencv issue 29849.
"""

import numpy as np
import tensorflow as tf


@tf.function
def shift_between(a, b):
    fa = tf.signal.fft2d(tf.cast(a, tf.complex64))
    fb = tf.signal.fft2d(tf.cast(b, tf.complex64))
    cross = fa * tf.math.conj(fb)
    phase = cross / tf.cast(tf.abs(cross), tf.complex64)  # cause: RealDiv, nan
    peak = tf.math.real(tf.signal.ifft2d(phase))
    return tf.argmax(tf.reshape(peak, [-1])), tf.reduce_max(peak)


rng = np.random.default_rng(0)
image = rng.normal(size=(16, 16)).astype(np.float32)
print(shift_between(tf.constant(image), tf.roll(image, 3, 0)))
flat = np.zeros((16, 16), np.float32)
print(shift_between(tf.constant(image), tf.constant(flat)))
