// The grammar of the `sentences` task: noun phrases in three cases, clauses with the verb in second position or at the end.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "apps/tasks/lexicon.h"

namespace heddle::app {

enum class Case { nominative, accusative, dative };

/// the, this and every are declined like der; a and my like ein. `a` and `every` have no plural.
enum class Determiner { the, this_, every, a, my };

/// A noun phrase or pronoun in all its forms.
struct NounPhrase {
    std::string english;         ///< as a subject
    std::string english_object;  ///< he, him
    std::array<std::string, 3> german;
    bool plural = false;
    bool pronoun = false;
    bool definite = true;  ///< not a or every, which German negates with kein

    const std::string& in(Case wanted) const { return german[static_cast<std::size_t>(wanted)]; }
};

/// "the old dogs", die alten Hunde. `adjective` may be null.
NounPhrase noun_phrase(const Noun& noun, Determiner determiner, const Adjective* adjective, bool plural);
NounPhrase noun_phrase(const Pronoun& pronoun);
/// The nominative relative pronoun: der, die, das.
std::string relative_pronoun(const Noun& noun, bool plural);

enum class Tense { present, past };

/// One statement in both languages.
struct Clause {
    NounPhrase subject;
    const Verb* verb = nullptr;
    const Modal* modal = nullptr;      ///< present tense only
    std::optional<NounPhrase> dative;  ///< in English it comes before the other object
    std::optional<NounPhrase> accusative;
    const Phrase* time = nullptr;
    std::optional<NounPhrase> companion;  ///< with ...: mit and the dative
    const Phrase* place = nullptr;
    Tense tense = Tense::present;
    bool negated = false;  ///< without modal, companion and place, and with definite objects only
};

/// "he does not see the dog today".
std::string english_clause(const Clause& clause);
/// The English clause without subject and time: "does not see the dog".
std::string english_predicate(const Clause& clause);
/// The verb second, after the subject: er sieht heute den Hund nicht.
std::string german_main(const Clause& clause);
/// The verb first, for a clause that follows another constituent: sieht er heute den Hund nicht.
std::string german_inverted(const Clause& clause);
/// The verb at the end: er heute den Hund nicht sieht.
std::string german_subordinate(const Clause& clause);
/// The same without the subject, for relative clauses: heute den Hund nicht sieht.
std::string german_subordinate_predicate(const Clause& clause);

}  // namespace heddle::app
