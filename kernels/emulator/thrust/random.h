// Thrust's random numbers: the C++ library's engines and distributions, which have Thrust's names. The engines give the same bits
// as Thrust's, the distributions do not.
#pragma once

#include <random>

namespace thrust {

using std::linear_congruential_engine;
using std::minstd_rand;
using std::minstd_rand0;
using std::normal_distribution;
using std::ranlux24;
using std::ranlux48;
using std::uniform_int_distribution;
using std::uniform_real_distribution;
using default_random_engine = std::minstd_rand;
namespace random {
using thrust::default_random_engine;
using thrust::minstd_rand;
using thrust::minstd_rand0;
using thrust::normal_distribution;
using thrust::uniform_int_distribution;
using thrust::uniform_real_distribution;
}  // namespace random

}  // namespace thrust
