// Thrust's function objects.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thrust {

#define HEDDLE_BINARY(NAME, EXPRESSION)                                                \
    template <class T = void>                                                          \
    struct NAME {                                                                      \
        using first_argument_type = T;                                                 \
        using second_argument_type = T;                                                \
        using result_type = T;                                                         \
        constexpr auto operator()(const T& a, const T& b) const { return EXPRESSION; } \
    };                                                                                 \
    template <>                                                                        \
    struct NAME<void> {                                                                \
        template <class A, class B>                                                    \
        constexpr auto operator()(const A& a, const B& b) const {                      \
            return EXPRESSION;                                                         \
        }                                                                              \
    };
HEDDLE_BINARY(plus, a + b)
HEDDLE_BINARY(minus, a - b)
HEDDLE_BINARY(multiplies, a* b)
HEDDLE_BINARY(divides, a / b)
HEDDLE_BINARY(modulus, a % b)
HEDDLE_BINARY(equal_to, a == b)
HEDDLE_BINARY(not_equal_to, a != b)
HEDDLE_BINARY(greater, a > b)
HEDDLE_BINARY(less, a < b)
HEDDLE_BINARY(greater_equal, a >= b)
HEDDLE_BINARY(less_equal, a <= b)
HEDDLE_BINARY(logical_and, a&& b)
HEDDLE_BINARY(logical_or, a || b)
HEDDLE_BINARY(bit_and, a& b)
HEDDLE_BINARY(bit_or, a | b)
HEDDLE_BINARY(bit_xor, a ^ b)
HEDDLE_BINARY(maximum, a < b ? b : a)
HEDDLE_BINARY(minimum, b < a ? b : a)
#undef HEDDLE_BINARY

#define HEDDLE_UNARY(NAME, EXPRESSION)                                     \
    template <class T = void>                                              \
    struct NAME {                                                          \
        using argument_type = T;                                           \
        constexpr auto operator()(const T& a) const { return EXPRESSION; } \
    };                                                                     \
    template <>                                                            \
    struct NAME<void> {                                                    \
        template <class A>                                                 \
        constexpr auto operator()(const A& a) const {                      \
            return EXPRESSION;                                             \
        }                                                                  \
    };
HEDDLE_UNARY(negate, -a)
HEDDLE_UNARY(logical_not, !a)
HEDDLE_UNARY(identity, a)
HEDDLE_UNARY(square, a* a)
#undef HEDDLE_UNARY

template <class A, class B>
struct project1st {
    constexpr const A& operator()(const A& a, const B&) const { return a; }
};
template <class A, class B>
struct project2nd {
    constexpr const B& operator()(const A&, const B& b) const { return b; }
};
template <class Predicate>
struct unary_negate {
    Predicate predicate;
    template <class T>
    constexpr bool operator()(const T& a) const {
        return !predicate(a);
    }
};
template <class Predicate>
constexpr unary_negate<Predicate> not1(const Predicate& predicate) {
    return {predicate};
}
template <class A, class R = void>
struct unary_function {
    using argument_type = A;
    using result_type = R;
};
template <class A, class B = void, class R = void>
struct binary_function {
    using first_argument_type = A;
    using second_argument_type = B;
    using result_type = R;
};

/// f(get<0>(t), get<1>(t), ..).
template <class F>
struct zip_function_object {
    F function;
    template <class Tuple>
    constexpr decltype(auto) operator()(Tuple&& t) const {
        return std::apply(function, static_cast<Tuple&&>(t));
    }
};
template <class F>
constexpr zip_function_object<std::decay_t<F>> make_zip_function(F&& function) {
    return {static_cast<F&&>(function)};
}

namespace placeholders {

/// An expression of _1 and _2, as in a * _1 + _2.
template <class F>
struct Expression {
    F evaluate;
    template <class... A>
    constexpr auto operator()(const A&... arguments) const {
        return evaluate(std::tuple<const A&...>(arguments...));
    }
};
template <class F>
Expression(F) -> Expression<F>;
template <std::size_t N>
struct Argument {
    template <class Tuple>
    constexpr auto operator()(const Tuple& arguments) const {
        return std::get<N>(arguments);
    }
};
template <class T>
inline constexpr bool is_expression = false;
template <class F>
inline constexpr bool is_expression<Expression<F>> = true;
/// The value of an operand that is an expression, or a constant.
template <class Operand, class Tuple>
constexpr auto operand_of(const Operand& operand, const Tuple& arguments) {
    if constexpr (is_expression<Operand>)
        return operand.evaluate(arguments);
    else
        return operand;
}

inline constexpr Expression<Argument<0>> _1{};
inline constexpr Expression<Argument<1>> _2{};
inline constexpr Expression<Argument<2>> _3{};

#define HEDDLE_OPERATOR(SIGN)                                                                                                \
    template <class A, class B, class = std::enable_if_t<is_expression<A> || is_expression<B>>>                              \
    constexpr auto operator SIGN(const A& a, const B& b) {                                                                   \
        return Expression{[a, b](const auto& arguments) { return operand_of(a, arguments) SIGN operand_of(b, arguments); }}; \
    }
HEDDLE_OPERATOR(+)
HEDDLE_OPERATOR(-)
HEDDLE_OPERATOR(*)
HEDDLE_OPERATOR(/)
HEDDLE_OPERATOR(%)
HEDDLE_OPERATOR(==)
HEDDLE_OPERATOR(!=)
HEDDLE_OPERATOR(<)
HEDDLE_OPERATOR(>)
HEDDLE_OPERATOR(<=)
HEDDLE_OPERATOR(>=)
HEDDLE_OPERATOR(&&)
HEDDLE_OPERATOR(||)
HEDDLE_OPERATOR(&)
HEDDLE_OPERATOR(|)
HEDDLE_OPERATOR(^)
#undef HEDDLE_OPERATOR
template <class F>
constexpr auto operator-(const Expression<F>& a) {
    return Expression{[a](const auto& arguments) { return -a.evaluate(arguments); }};
}
template <class F>
constexpr auto operator!(const Expression<F>& a) {
    return Expression{[a](const auto& arguments) { return !a.evaluate(arguments); }};
}

}  // namespace placeholders
}  // namespace thrust
