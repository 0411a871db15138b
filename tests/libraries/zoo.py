"""Programs of libraries on top of TensorFlow, for the census of what recorders see of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

Program: TypeAlias = "Callable[[], object]"
PROGRAMS: dict[str, Program] = {}


def _program(program: Program) -> Program:
    PROGRAMS[program.__name__] = program
    return program


def _data() -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0.0, 1.0, 8)[:, None]
    return x, np.sin(6.0 * x)


def _trained(model: gpflow.models.GPModel) -> object:
    gpflow.optimizers.Scipy().minimize(
        model.training_loss, model.trainable_variables, options={"maxiter": 3}, compile=True
    )
    return model.predict_f(_data()[0]), model.predict_log_density(_data())


@_program
def gaussian_process() -> object:
    model = gpflow.models.GPR(_data(), gpflow.kernels.Matern52() + gpflow.kernels.Linear())
    return _trained(model)


@_program
def sparse_gaussian_process() -> object:
    model = gpflow.models.SGPR(
        _data(), gpflow.kernels.SquaredExponential(), inducing_variable=_data()[0][::3].copy()
    )
    return _trained(model)


@_program
def variational_gaussian_process() -> object:
    kernel, likelihood = gpflow.kernels.RBF(), gpflow.likelihoods.Bernoulli()
    model = gpflow.models.SVGP(kernel, likelihood, _data()[0][::3].copy())
    x, y = _data()
    loss = model.training_loss_closure((x, (y > 0.0).astype(float)), compile=True)
    natural = gpflow.optimizers.NaturalGradient(0.1)
    for _ in range(2):
        natural.minimize(loss, [(model.q_mu, model.q_sqrt)])
    return loss()


@_program
def distributions() -> object:
    tfd, tfb = tfp.distributions, tfp.bijectors
    logits = tf.Variable([0.1, -0.2])
    means = tf.Variable([0.0, 1.0])

    @tf.function
    def likelihood(x: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            mixture = tfd.MixtureSameFamily(
                tfd.Categorical(logits=logits), tfd.Normal(means, tf.math.softplus(means) + 0.1)
            )
            skewed = tfd.TransformedDistribution(tfd.StudentT(5.0, 0.0, 1.0), tfb.Softplus())
            loss = -tf.reduce_sum(mixture.log_prob(x)) - tf.reduce_sum(skewed.log_prob(tf.exp(x)))
        return loss, tape.gradient(loss, [logits, means]), mixture.sample(3, seed=[1, 2])

    return likelihood(tf.constant([0.5, -1.0, 2.0]))


@_program
def hamiltonian_monte_carlo() -> object:
    target = tfp.distributions.MultivariateNormalTriL(scale_tril=tf.constant([[1.0, 0.0], [0.3, 0.8]]))
    kernel = tfp.mcmc.SimpleStepSizeAdaptation(
        tfp.mcmc.HamiltonianMonteCarlo(target.log_prob, step_size=0.3, num_leapfrog_steps=2),
        num_adaptation_steps=2,
    )

    @tf.function(autograph=False)
    def chain() -> object:
        return tfp.mcmc.sample_chain(
            3, tf.zeros([2]), kernel=kernel, num_burnin_steps=1, seed=[3, 4], trace_fn=None
        )

    return chain()
