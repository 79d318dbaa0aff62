#include "apps/tasks/grammar.h"

#include <string_view>
#include <vector>

#include "apps/tasks/drawing.h"

namespace heddle::app {
namespace {

using Endings = std::array<std::array<const char*, 4>, 3>;  // [case][masculine, feminine, neuter, plural]

constexpr Endings definite_articles{{{"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}}};
constexpr Endings der_word_endings{{{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}}};
constexpr Endings ein_word_endings{{{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}}};
constexpr Endings adjective_after_der{{{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}}};
constexpr Endings adjective_after_ein{{{"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}}};

const char* ending(const Endings& endings, Case wanted, Gender gender, bool plural) {
    return endings[static_cast<std::size_t>(wanted)][plural ? 3 : static_cast<std::size_t>(gender)];
}

bool is_ein_word(Determiner determiner) { return determiner == Determiner::a || determiner == Determiner::my; }

std::string german_determiner(Determiner determiner, Case wanted, Gender gender, bool plural) {
    switch (determiner) {
        case Determiner::the: return ending(definite_articles, wanted, gender, plural);
        case Determiner::this_: return std::string("dies") + ending(der_word_endings, wanted, gender, plural);
        case Determiner::every: return std::string("jed") + ending(der_word_endings, wanted, gender, plural);
        case Determiner::a: return std::string("ein") + ending(ein_word_endings, wanted, gender, plural);
        case Determiner::my: return std::string("mein") + ending(ein_word_endings, wanted, gender, plural);
    }
    return {};
}

std::string english_determiner(Determiner determiner, std::string_view next, bool plural) {
    switch (determiner) {
        case Determiner::the: return "the";
        case Determiner::this_: return plural ? "these" : "this";
        case Determiner::every: return "every";
        case Determiner::a: return std::string_view("aeiou").find(next.front()) == std::string_view::npos ? "a" : "an";
        case Determiner::my: return "my";
    }
    return {};
}

std::string german_noun(const Noun& noun, Case wanted, bool plural) {
    if (plural) return wanted == Case::dative ? noun.german_dative_plural : noun.german_plural;
    return wanted == Case::nominative ? noun.german : noun.german_oblique;
}

/// Joins the parts that are not empty.
std::string phrase(const std::vector<std::string>& parts) {
    std::vector<std::string> words;
    for (const std::string& part : parts) {
        if (!part.empty()) words.push_back(part);
    }
    return spaced(words);
}

std::string english_verb(const Clause& clause) {
    const Verb& verb = *clause.verb;
    const bool third = !clause.subject.plural;
    if (clause.modal != nullptr) return phrase({third ? clause.modal->english_third : clause.modal->english, verb.english});
    if (clause.tense == Tense::past) return clause.negated ? phrase({"did not", verb.english}) : verb.english_past;
    if (clause.negated) return phrase({third ? "does not" : "do not", verb.english});
    return third ? verb.english_third : verb.english;
}

/// The conjugated verb, without a separable prefix.
std::string finite_verb(const Clause& clause) {
    const bool plural = clause.subject.plural;
    if (clause.modal != nullptr) return plural ? clause.modal->german_plural : clause.modal->german_singular;
    if (clause.tense == Tense::present) return plural ? clause.verb->german_plural : clause.verb->german_singular;
    if (clause.verb->with_sein) return plural ? "sind" : "ist";
    return plural ? "haben" : "hat";
}

/// The part of the verb at the end of a main clause: a separable prefix, an infinitive or a participle.
std::string verb_end(const Clause& clause) {
    if (clause.modal != nullptr) return std::string(clause.verb->prefix) + clause.verb->german_plural;
    return clause.tense == Tense::past ? clause.verb->participle : clause.verb->prefix;
}

/// In a subordinate clause prefix and verb are one word.
std::string whole_verb(const Clause& clause) {
    if (clause.modal == nullptr && clause.tense == Tense::present) return verb_end(clause) + finite_verb(clause);
    return phrase({verb_end(clause), finite_verb(clause)});
}

/// Everything between the two parts of the verb: pronouns, time, nouns, companion and place, in this order.
std::string middle(const Clause& clause) {
    std::string pronouns, nouns;
    const auto add = [&](const std::optional<NounPhrase>& object, Case wanted) {
        if (!object) return;
        std::string& part = object->pronoun ? pronouns : nouns;
        part = phrase({part, object->in(wanted)});
    };
    add(clause.dative, Case::dative);
    add(clause.accusative, Case::accusative);
    return phrase({pronouns, clause.time != nullptr ? clause.time->german : "", nouns,
                   clause.companion ? "mit " + clause.companion->in(Case::dative) : "",
                   clause.place != nullptr ? clause.place->german : "", clause.negated ? "nicht" : ""});
}

}  // namespace

NounPhrase noun_phrase(const Noun& noun, Determiner determiner, const Adjective* adjective, bool plural) {
    NounPhrase out;
    out.plural = plural;
    out.definite = determiner != Determiner::a && determiner != Determiner::every;
    const std::string name = plural ? noun.english_plural : noun.english;
    const std::string described = adjective != nullptr ? phrase({adjective->english, name}) : name;
    out.english = phrase({english_determiner(determiner, described, plural), described});
    out.english_object = out.english;
    const Endings& endings = is_ein_word(determiner) ? adjective_after_ein : adjective_after_der;
    for (const Case wanted : {Case::nominative, Case::accusative, Case::dative}) {
        const std::string german_adjective =
            adjective != nullptr ? adjective->german + std::string(ending(endings, wanted, noun.gender, plural)) : std::string();
        out.german[static_cast<std::size_t>(wanted)] = phrase(
            {german_determiner(determiner, wanted, noun.gender, plural), german_adjective, german_noun(noun, wanted, plural)});
    }
    return out;
}

NounPhrase noun_phrase(const Pronoun& pronoun) {
    return {.english = pronoun.english_subject,
            .english_object = pronoun.english_object,
            .german = {pronoun.german[0], pronoun.german[1], pronoun.german[2]},
            .plural = pronoun.plural,
            .pronoun = true};
}

std::string relative_pronoun(const Noun& noun, bool plural) {
    return ending(definite_articles, Case::nominative, noun.gender, plural);
}

std::string english_predicate(const Clause& clause) {
    return phrase({english_verb(clause), clause.dative ? clause.dative->english_object : "",
                   clause.accusative ? clause.accusative->english_object : "",
                   clause.companion ? "with " + clause.companion->english_object : "",
                   clause.place != nullptr ? clause.place->english : ""});
}

std::string english_clause(const Clause& clause) {
    return phrase({clause.subject.english, english_predicate(clause), clause.time != nullptr ? clause.time->english : ""});
}

std::string german_main(const Clause& clause) {
    return phrase({clause.subject.in(Case::nominative), finite_verb(clause), middle(clause), verb_end(clause)});
}

std::string german_inverted(const Clause& clause) {
    return phrase({finite_verb(clause), clause.subject.in(Case::nominative), middle(clause), verb_end(clause)});
}

std::string german_subordinate_predicate(const Clause& clause) { return phrase({middle(clause), whole_verb(clause)}); }

std::string german_subordinate(const Clause& clause) {
    return phrase({clause.subject.in(Case::nominative), german_subordinate_predicate(clause)});
}

}  // namespace heddle::app
