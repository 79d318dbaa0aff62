#include "apps/tasks/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <unordered_map>

#include "core/error.h"

namespace heddle::app {
namespace {

class EveryTask : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Task, EveryTask, testing::ValuesIn(task_names()), [](const auto& info) { return info.param; });

TEST_P(EveryTask, NeverShowsAHeldOutSentenceInTraining) {
    const TaskCorpus task = generate_task(GetParam(), 1);
    EXPECT_EQ(task.name, GetParam());
    EXPECT_EQ(task.training.size(), 20000);
    EXPECT_EQ(task.validation.size(), 500);
    EXPECT_EQ(task.test.size(), 1000);
    std::set<std::string> seen;
    for (const Corpus* corpus : {&task.training, &task.validation, &task.test}) {
        for (const SentencePair& pair : corpus->pairs) {
            EXPECT_FALSE(pair.source.empty() || pair.target.empty());
            EXPECT_TRUE(seen.insert(pair.source).second) << pair.source << " twice";
        }
    }
}

TEST_P(EveryTask, IsAPureFunctionOfTheSeed) {
    const TaskCorpus task = generate_task(GetParam(), 5), again = generate_task(GetParam(), 5),
                     other = generate_task(GetParam(), 6);
    EXPECT_EQ(task.training.pairs, again.training.pairs);
    EXPECT_EQ(task.test.pairs, again.test.pairs);
    EXPECT_NE(task.training.pairs, other.training.pairs);
    EXPECT_NE(task.test.pairs, other.test.pairs);
}

TEST_P(EveryTask, HasOneRightAnswerForEachSource) {
    std::unordered_map<std::string, std::string> answers;
    for (const std::uint64_t seed : {1u, 2u}) {
        for (const SentencePair& pair : generate_task(GetParam(), seed).training.pairs) {
            EXPECT_EQ(answers.try_emplace(pair.source, pair.target).first->second, pair.target) << pair.source;
        }
    }
}

TEST_P(EveryTask, HasAVocabularyThatWritesEveryTestSentence) {
    const TaskCorpus task = generate_task(GetParam(), 1);
    EXPECT_TRUE(task.shared_vocabulary);
    std::vector<std::string_view> lines = task.training.source_views();
    for (const std::string_view target : task.training.target_views()) lines.push_back(target);
    const auto vocabulary = train_vocabulary(task.vocabulary, lines);
    EXPECT_LE(vocabulary->size(), 800);
    for (const SentencePair& pair : task.test.pairs) {
        for (const std::string& text : {pair.source, pair.target}) {
            const std::vector<std::int32_t> ids = vocabulary->encode(text);
            ASSERT_EQ(std::count(ids.begin(), ids.end(), unk_id), 0) << text;
            ASSERT_EQ(vocabulary->decode(ids), text);
            ASSERT_LT(ids.size(), 60u);
        }
    }
}

TEST(Tasks, NameThemselvesWhenAskedForAnother) {
    try {
        generate_task("poems", 1);
        FAIL() << "wanted an error";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "there is no task 'poems'; wanted one of numbers, dates, copy, digits, reverse");
    }
}

TEST(Numbers, AreCorrectEnglishAndGerman) {
    const std::tuple<std::int64_t, const char*, const char*> cases[] = {
        {0, "zero", "null"},
        {1, "one", "eins"},
        {12, "twelve", "zwölf"},
        {16, "sixteen", "sechzehn"},
        {17, "seventeen", "siebzehn"},
        {21, "twenty-one", "einundzwanzig"},
        {30, "thirty", "dreißig"},
        {66, "sixty-six", "sechsundsechzig"},
        {77, "seventy-seven", "siebenundsiebzig"},
        {100, "one hundred", "einhundert"},
        {101, "one hundred one", "einhunderteins"},
        {111, "one hundred eleven", "einhundertelf"},
        {1000, "one thousand", "eintausend"},
        {1001, "one thousand one", "eintausendeins"},
        {1101, "one thousand one hundred one", "eintausendeinhunderteins"},
        {21000, "twenty-one thousand", "einundzwanzigtausend"},
        {100000, "one hundred thousand", "einhunderttausend"},
        {101000, "one hundred one thousand", "einhunderteintausend"},
        {347201, "three hundred forty-seven thousand two hundred one", "dreihundertsiebenundvierzigtausendzweihunderteins"},
        {999999, "nine hundred ninety-nine thousand nine hundred ninety-nine",
         "neunhundertneunundneunzigtausendneunhundertneunundneunzig"}};
    for (const auto& [number, english, german] : cases) {
        EXPECT_EQ(english_number(number), english);
        EXPECT_EQ(german_number(number), german);
    }
    EXPECT_THROW(english_number(-1), Error);
    EXPECT_THROW(german_number(1000000), Error);
}

TEST(Numbers, HaveDifferentNames) {
    std::set<std::string> english, german;
    for (std::int64_t number = 0; number < 1000000; number += number < 2000 ? 1 : 37) {
        EXPECT_TRUE(english.insert(english_number(number)).second) << number;
        EXPECT_TRUE(german.insert(german_number(number)).second) << number;
    }
}

TEST(Numbers, BelowAHundredAreAlwaysShown) {
    const TaskCorpus task = numbers_task(3);
    for (std::int64_t number = 0; number < 100; ++number) {
        const SentencePair pair{english_number(number), german_number(number)};
        EXPECT_NE(std::find(task.training.pairs.begin(), task.training.pairs.end(), pair), task.training.pairs.end()) << number;
    }
}

TEST(Dates, AreRealDaysWithTheirRightWeekday) {
    int weekdays = 0;
    for (const SentencePair& pair : dates_task(1).training.pairs) {
        int year = 0, month = 0, day = 0;
        ASSERT_EQ(std::sscanf(pair.target.c_str(), "%4d-%2d-%2d", &year, &month, &day), 3);
        const std::chrono::year_month_day date = std::chrono::year(year) / month / day;
        ASSERT_TRUE(date.ok()) << pair.target;
        ASSERT_TRUE(year >= 1950 && year < 2050);
        constexpr std::array names{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
        const std::size_t comma = pair.source.find("day, ");
        if (comma == std::string::npos) continue;
        ++weekdays;
        EXPECT_EQ(pair.source.substr(0, comma + 3), names[std::chrono::weekday(std::chrono::sys_days(date)).c_encoding()])
            << pair.target;
    }
    EXPECT_GT(weekdays, 1000);
}

TEST(Dates, AreReadAsTheSignBetweenTheDigitsSays) {
    std::unordered_map<std::string, std::string> iso;
    for (const std::uint64_t seed : {1u, 2u}) {
        for (const SentencePair& pair : dates_task(seed).training.pairs) iso.emplace(pair.source, pair.target);
    }
    int slashes = 0, dots = 0, large_first = 0;
    for (const auto& [source, target] : iso) {
        int a = 0, b = 0, c = 0, year = 0, month = 0, day = 0;
        std::sscanf(target.c_str(), "%4d-%2d-%2d", &year, &month, &day);
        if (std::sscanf(source.c_str(), "%4d.%d.%d", &a, &b, &c) == 3) {
            EXPECT_TRUE(a == day && b == month && c == year) << source;
            ++dots;
        } else if (std::sscanf(source.c_str(), "%4d/%d/%d", &a, &b, &c) == 3 && a > 31) {
            EXPECT_TRUE(a == year && b == month && c == day) << source;
            ++large_first;
        } else if (std::sscanf(source.c_str(), "%4d/%d/%d", &a, &b, &c) == 3) {
            EXPECT_TRUE(a == month && b == day && (c == year || c == year % 100)) << source;
            ++slashes;
        }
    }
    EXPECT_GT(slashes, 1000);
    EXPECT_GT(dots, 1000);
    EXPECT_GT(large_first, 1000);
}

TEST(CopyAndReverse, DoWhatTheySay) {
    for (const SentencePair& pair : copy_task(1).test.pairs) EXPECT_EQ(pair.source, pair.target);
    for (const SentencePair& pair : reverse_task(1).test.pairs) {
        EXPECT_EQ(std::string(pair.source.rbegin(), pair.source.rend()), pair.target);
    }
}

}  // namespace
}  // namespace heddle::app
