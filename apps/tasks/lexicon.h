// The words of the `sentences` task.
#pragma once

#include <span>

namespace heddle::app {

enum class Gender { masculine, feminine, neuter };

struct Noun {
    const char* english;
    const char* english_plural;
    Gender gender;
    const char* german;
    const char* german_oblique;  ///< accusative and dative singular: der Junge, den Jungen
    const char* german_plural;
    const char* german_dative_plural;
};

/// The English past translates to the German perfect: "he slept", "er hat geschlafen".
struct Verb {
    const char* english;
    const char* english_third;  ///< he ...
    const char* english_past;
    const char* prefix;           ///< separable: "an" of anrufen; "" otherwise
    const char* german_singular;  ///< er ...
    const char* german_plural;    ///< sie ...; also the infinitive
    const char* participle;       ///< prefix included
    bool with_sein;               ///< ist gekommen, hat gesehen
};

struct Adjective {
    const char* english;
    const char* german;  ///< stem
};

/// A phrase with only one form in each language.
struct Phrase {
    const char* english;
    const char* german;
};

struct Modal {
    const char* english;
    const char* english_third;
    const char* german_singular;
    const char* german_plural;
};

/// German nominative, accusative and dative.
struct Pronoun {
    const char* english_subject;
    const char* english_object;
    const char* german[3];
    bool plural;
};

std::span<const Noun> people();
std::span<const Noun> animals();
std::span<const Noun> things();
std::span<const Noun> openable_things();
std::span<const Adjective> adjectives();
std::span<const Pronoun> pronouns();

std::span<const Verb> intransitive_verbs();
std::span<const Verb> living_object_verbs();    ///< accusative: a person, an animal or a pronoun
std::span<const Verb> thing_object_verbs();     ///< accusative: a thing
std::span<const Verb> openable_object_verbs();  ///< accusative: a thing with a lid
std::span<const Verb> dative_verbs();           ///< dative: a person, an animal or a pronoun
std::span<const Verb> giving_verbs();           ///< dative: somebody, accusative: a thing
std::span<const Verb> saying_verbs();           ///< with a that-clause

std::span<const Modal> modals();
std::span<const Phrase> times();       ///< with present tense
std::span<const Phrase> past_times();  ///< with past tense
std::span<const Phrase> places();
std::span<const Phrase> conjunctions();  ///< between two clauses; the German one sends the verb to the end

}  // namespace heddle::app
