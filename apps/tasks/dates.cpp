// English dates of 1950-2049 in many formats to ISO 8601.
//
// Where digits alone would be ambiguous, the separator decides: 3/4/1998 is March 4 (American), 3.4.1998 is April 3 (German),
// 1998/3/4 is year, month, day. A two-digit year is in 1950-2049.
#include <array>
#include <chrono>

#include "apps/tasks/drawing.h"
#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::array months{"January", "February", "March",     "April",   "May",      "June",
                            "July",    "August",   "September", "October", "November", "December"};
constexpr std::array weekdays{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array ordinals{"first",     "second",    "third",       "fourth",     "fifth",      "sixth",      "seventh",
                              "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",    "thirteenth", "fourteenth",
                              "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"};

struct Date {
    int year = 0;
    unsigned month = 0;  ///< 1..12
    unsigned day = 0;    ///< 1..31

    std::string month_name() const { return months[month - 1]; }
    std::string short_month() const { return month_name().substr(0, 3); }
    std::string weekday() const {
        const std::chrono::sys_days days = std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
        return weekdays[std::chrono::weekday(days).c_encoding()];
    }
    /// 1st, 2nd, 3rd, 4th, 11th, 21st.
    std::string numbered_day() const {
        const unsigned last = day / 10 == 1 ? 0 : day % 10;
        return fmt::format("{}{}", day, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
    }
    std::string ordinal_day() const {
        if (day <= 20) return ordinals[day - 1];
        if (day == 30) return "thirtieth";
        return std::string(day > 30 ? "thirty-" : "twenty-") + ordinals[day % 10 - 1];
    }
    /// "nineteen ninety-eight", "two thousand seven", "twenty fourteen".
    std::string year_in_words() const {
        if (year >= 2000 && year < 2010) return english_number(year);
        return english_number(year / 100) + " " + english_number(year % 100);
    }
    std::string iso() const { return fmt::format("{:04}-{:02}-{:02}", year, month, day); }
};

Date draw_date(Sequence& numbers) {
    const int year = 1950 + static_cast<int>(numbers.below(100));
    const auto month = static_cast<unsigned>(1 + numbers.below(12));
    const std::chrono::year_month_day_last last = std::chrono::year(year) / static_cast<int>(month) / std::chrono::last;
    return {year, month, static_cast<unsigned>(1 + numbers.below(static_cast<unsigned>(last.day())))};
}

/// One date format.
using Style = std::string (*)(const Date&);

constexpr std::array<Style, 18> styles{
    [](const Date& d) { return fmt::format("{} {} {}", d.day, d.month_name(), d.year); },
    [](const Date& d) { return fmt::format("{} {}, {}", d.month_name(), d.day, d.year); },
    [](const Date& d) { return fmt::format("{} {}, {}", d.month_name(), d.numbered_day(), d.year); },
    [](const Date& d) { return fmt::format("the {} of {} {}", d.numbered_day(), d.month_name(), d.year); },
    [](const Date& d) { return fmt::format("{}, {} {} {}", d.weekday(), d.day, d.month_name(), d.year); },
    [](const Date& d) { return fmt::format("{}, {} {}, {}", d.weekday(), d.month_name(), d.numbered_day(), d.year); },
    [](const Date& d) { return fmt::format("{}, the {} of {}, {}", d.weekday(), d.numbered_day(), d.month_name(), d.year); },
    [](const Date& d) { return fmt::format("{} {} {}", d.day, d.short_month(), d.year); },
    [](const Date& d) { return fmt::format("{} {}, {}", d.short_month(), d.day, d.year); },
    [](const Date& d) { return fmt::format("{} {} '{:02}", d.short_month(), d.day, d.year % 100); },
    [](const Date& d) { return fmt::format("{}-{}-{:02}", d.day, d.short_month(), d.year % 100); },
    [](const Date& d) { return fmt::format("{}/{}/{}", d.month, d.day, d.year); },
    [](const Date& d) { return fmt::format("{:02}/{:02}/{:02}", d.month, d.day, d.year % 100); },
    [](const Date& d) { return fmt::format("{}.{}.{}", d.day, d.month, d.year); },
    [](const Date& d) { return fmt::format("{}/{}/{}", d.year, d.month, d.day); },
    [](const Date& d) { return fmt::format("the {} of {}, {}", d.ordinal_day(), d.month_name(), d.year); },
    [](const Date& d) { return fmt::format("{} the {}, {}", d.month_name(), d.ordinal_day(), d.year_in_words()); },
    [](const Date& d) { return fmt::format("the {} of {} {}", d.ordinal_day(), d.month_name(), d.year_in_words()); },
};

}  // namespace

TaskCorpus dates_task(std::uint64_t seed) {
    TaskCorpus task;
    task.name = "dates";
    task.description = "eighteen ways of writing a date in English to ISO 8601";
    task.source_language = "en";
    task.target_language = "iso";
    task.vocabulary = {.type = VocabularyType::character, .size = 0};
    Sequence numbers = task_numbers(task.name, seed);
    draw_splits(task, {}, [&] {
        const Date date = draw_date(numbers);
        return SentencePair{pick(numbers, styles)(date), date.iso()};
    });
    return task;
}

}  // namespace heddle::app
