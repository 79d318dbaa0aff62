// CUB's function objects and small types.
#pragma once

namespace cub {

struct NullType {};

template <class Key_, class Value_>
struct KeyValuePair {
    using Key = Key_;
    using Value = Value_;
    Key key;
    Value value;
    constexpr bool operator==(const KeyValuePair& other) const { return key == other.key && value == other.value; }
    constexpr bool operator!=(const KeyValuePair& other) const { return !(*this == other); }
};

struct Sum {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a + b);
    }
};
struct Difference {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a - b);
    }
};
struct Max {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return a < b ? b : a;
    }
};
struct Min {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return b < a ? b : a;
    }
};
struct Equality {
    template <class T>
    constexpr bool operator()(const T& a, const T& b) const {
        return a == b;
    }
};
struct Inequality {
    template <class T>
    constexpr bool operator()(const T& a, const T& b) const {
        return a != b;
    }
};
/// Of two pairs the one with the larger value; of equal ones that with the smaller key.
struct ArgMax {
    template <class Pair>
    constexpr Pair operator()(const Pair& a, const Pair& b) const {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class Pair>
    constexpr Pair operator()(const Pair& a, const Pair& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

}  // namespace cub
