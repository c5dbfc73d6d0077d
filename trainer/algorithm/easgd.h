// SPDX-License-Identifier: Apache-2.0
// Update rules of Elastic Averaging SGD over packed flat parameters. Pure functions: no state, any thread, the same
// bits for the same input on the same machine.
//
// Sources: Zhang, Choromanska, LeCun, "Deep learning with Elastic Averaging SGD", NIPS 2015, equations (3) to (6);
// You, Buluc, Demmel, "Scaling Deep Learning on GPU and Knights Landing Clusters", SC 2017, equations (1) to (6).
// The momentum is SC 2017's classical one (heavy ball), not NIPS 2015's Nesterov form.
//
// Shapes: x, v, g, center have n floats, one for each parameter. Buffers of different sizes, and buffers that
// overlap, are errors of the caller.
#pragma once

#include <cstddef>
#include <span>

namespace sinew::trainer {

struct StepSize {
  float learning_rate = 0;
  float momentum = 0;  // 0 = plain SGD
};

// The moving rate: keeping beta and not alpha keeps the method stable when the number of workers changes.
inline double MovingRate(double beta, int workers) { return beta / workers; }

// A step without exchange: v = momentum * v - learning_rate * g; x += v.
void LocalStep(StepSize step, std::span<const float> g, std::span<float> v, std::span<float> x);

// A step with exchange, SC 2017 equations (5) and (6): as LocalStep, and x -= alpha * (x_old - center_old).
// `center` must still be the old one (Jacobi order): that is what makes it exact to gather x while g is computed.
void ElasticStep(StepSize step, float alpha, std::span<const float> g, std::span<const float> center,
                 std::span<float> v, std::span<float> x);

// The pull alone, for a worker that has no samples left: x -= alpha * (x - center_old).
void ElasticPull(float alpha, std::span<const float> center, std::span<float> x);

// SC 2017 equation (2): center += alpha * sum_i (x_i - center), with the x of before the step, rank after rank. The terms are added in
// the order of ranks, element by element, so that each worker's replica of the center has the same bits.
void CenterStep(float alpha, std::span<const std::span<const float>> all_x, std::span<float> center);

}  // namespace sinew::trainer
