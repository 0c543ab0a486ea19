// SPDX-License-Identifier: MIT
// Elementary functions for procedural scenes, identical to the bit with every compiler and C
// library. The C library's sin, cos, tan, exp, log, pow, cbrt and hypot differ in the last bit from
// version to version, and so would every mesh and every tree; tests/structure/conventions.sh
// refuses them in scenes/. Functions that IEEE 754 defines to the bit (sqrt, fabs, floor, ceil,
// round, copysign, ldexp, frexp) are used directly.
//
// Each function of a float is computed in double by +, -, *, / and sqrt only, in a fixed order
// (-ffp-contract=off), and rounded to float once. Errors before that rounding are below 2^-45 of
// the result, so all but about one result in a million is the float nearest to the true value. The
// others, and those half-way between two floats, are adjacent to it.
#pragma once

namespace heapwood::scenes::exact {

// Require |x| < 2^20: for larger x the reduction to [-pi/4, pi/4] loses bits.
float sin(float x);
float cos(float x);
float tan(float x);
float exp(float x);           // 0 below -87, and at most e^88
float pow(float x, float y);  // x >= 0; 0 for x = 0; results are limited as in exp()
float cbrt(float x);          // x of any sign
float hypot(float x, float y);

}  // namespace heapwood::scenes::exact
