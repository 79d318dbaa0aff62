// A small English-German grammar. What a model has to learn: three genders and three cases with their articles and adjective
// endings, weak nouns (der Junge, den Jungen), verbs with a dative object, separable verbs (er ruft sie an, ... dass er sie
// anruft, er hat sie angerufen), the verb in second position, and at the end of subordinate and relative clauses.
#include "apps/tasks/drawing.h"
#include "apps/tasks/grammar.h"

namespace heddle::app {
namespace {

/// Generates random statements.
class Speaker {
  public:
    explicit Speaker(Sequence numbers) : numbers_(numbers) {}

    SentencePair sentence() {
        const double kind = numbers_.uniform();
        if (kind < 0.30) return statement();
        if (kind < 0.45) return time_first();
        if (kind < 0.60) return relative();
        if (kind < 0.75) return that_clause();
        if (kind < 0.90) return two_clauses();
        return condition();
    }

  private:
    /// The subject, and its noun unless it is a pronoun.
    struct Subject {
        NounPhrase phrase;
        const Noun* noun = nullptr;
    };

    NounPhrase described(const Noun& noun) {
        const bool plural = happens(numbers_, 0.3);
        constexpr std::array singular{Determiner::the, Determiner::the,   Determiner::a,    Determiner::a,
                                      Determiner::my,  Determiner::this_, Determiner::every};
        constexpr std::array many{Determiner::the, Determiner::the, Determiner::my, Determiner::this_};
        const Determiner determiner = plural ? pick(numbers_, many) : pick(numbers_, singular);
        const Adjective* adjective = happens(numbers_, 0.3) ? &pick(numbers_, adjectives()) : nullptr;
        return noun_phrase(noun, determiner, adjective, plural);
    }

    const Noun& living_noun() { return happens(numbers_, 0.7) ? pick(numbers_, people()) : pick(numbers_, animals()); }

    NounPhrase somebody() { return happens(numbers_, 0.25) ? noun_phrase(pick(numbers_, pronouns())) : described(living_noun()); }

    void add_objects(Clause& clause) {
        const double kind = numbers_.uniform();
        if (kind < 0.2) {
            clause.verb = &pick(numbers_, intransitive_verbs());
        } else if (kind < 0.4) {
            clause.verb = &pick(numbers_, living_object_verbs());
            clause.accusative = somebody();
        } else if (kind < 0.55) {
            clause.verb = &pick(numbers_, thing_object_verbs());
            clause.accusative = described(pick(numbers_, things()));
        } else if (kind < 0.7) {
            clause.verb = &pick(numbers_, openable_object_verbs());
            clause.accusative = described(pick(numbers_, openable_things()));
        } else if (kind < 0.85) {
            clause.verb = &pick(numbers_, dative_verbs());
            clause.dative = somebody();
        } else {
            clause.verb = &pick(numbers_, giving_verbs());
            clause.dative = somebody();
            clause.accusative = described(pick(numbers_, happens(numbers_, 0.5) ? things() : openable_things()));
        }
    }

    /// A statement without a time.
    Clause clause_about(const NounPhrase& subject) {
        Clause clause;
        clause.subject = subject;
        add_objects(clause);
        const double form = numbers_.uniform();
        if (form < 0.25) {
            clause.modal = &pick(numbers_, modals());
        } else if (form < 0.5) {
            clause.tense = Tense::past;
        }
        const double more = numbers_.uniform();
        if (more < 0.15) {
            clause.place = &pick(numbers_, places());
        } else if (more < 0.2 && !clause.dative && !clause.accusative) {
            clause.companion = somebody();
        } else if (more < 0.4 && clause.modal == nullptr && is_definite(clause.dative) && is_definite(clause.accusative)) {
            clause.negated = true;
        }
        return clause;
    }

    static bool is_definite(const std::optional<NounPhrase>& object) { return !object || object->definite; }

    Clause clause() { return clause_about(somebody()); }

    const Phrase* time_of(const Clause& clause) {
        return clause.tense == Tense::past ? &pick(numbers_, past_times()) : &pick(numbers_, times());
    }

    static SentencePair finished(const std::string& english, const std::string& german) {
        const auto capital = [](std::string text) {
            text.front() = static_cast<char>(text.front() - 'a' + 'A');  // no sentence begins with a letter outside a..z
            return text + ".";
        };
        return {capital(english), capital(german)};
    }

    SentencePair statement() {
        Clause said = clause();
        if (happens(numbers_, 0.3)) said.time = time_of(said);
        return finished(english_clause(said), german_main(said));
    }

    SentencePair time_first() {
        const Clause said = clause();
        const Phrase* time = time_of(said);
        return finished(std::string(time->english) + " " + english_clause(said),
                        std::string(time->german) + " " + german_inverted(said));
    }

    SentencePair relative() {
        const bool person = happens(numbers_, 0.7);
        const Noun& noun = person ? pick(numbers_, people()) : pick(numbers_, animals());
        Clause said = clause_about(described(noun));
        const Clause about = clause_about(said.subject);
        said.subject.english += std::string(person ? " who " : " that ") + english_predicate(about);
        std::string& subject = said.subject.german[static_cast<std::size_t>(Case::nominative)];
        subject += ", " + relative_pronoun(noun, said.subject.plural) + " " + german_subordinate_predicate(about) + ",";
        return finished(english_clause(said), german_main(said));
    }

    SentencePair that_clause() {
        Clause outer;
        outer.subject = somebody();
        outer.verb = &pick(numbers_, saying_verbs());
        const Clause said = clause();
        return finished(english_clause(outer) + " that " + english_clause(said),
                        german_main(outer) + ", dass " + german_subordinate(said));
    }

    SentencePair two_clauses() {
        const Clause first = clause(), second = clause();
        const Phrase& conjunction = pick(numbers_, conjunctions());
        return finished(english_clause(first) + " " + conjunction.english + " " + english_clause(second),
                        german_main(first) + ", " + conjunction.german + " " + german_subordinate(second));
    }

    SentencePair condition() {
        const Clause first = clause(), second = clause();
        return finished("if " + english_clause(first) + ", " + english_clause(second),
                        "wenn " + german_subordinate(first) + ", " + german_inverted(second));
    }

    Sequence numbers_;
};

}  // namespace

TaskCorpus sentences_task(std::uint64_t seed) {
    TaskCorpus task;
    task.name = "sentences";
    task.description = "a small English-German grammar: gender, case, verb-final clauses, separable verbs";
    task.source_language = "en";
    task.target_language = "de";
    task.vocabulary = {.type = VocabularyType::word, .size = 0};
    Speaker speaker(task_numbers(task.name, seed));
    draw_splits(task, {}, [&] { return speaker.sentence(); });
    return task;
}

}  // namespace heddle::app
