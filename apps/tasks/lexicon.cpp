#include "apps/tasks/lexicon.h"

namespace heddle::app {
namespace {

constexpr Gender m = Gender::masculine, f = Gender::feminine, n = Gender::neuter;

constexpr Noun people_words[] = {
    {"man", "men", m, "Mann", "Mann", "Männer", "Männern"},
    {"woman", "women", f, "Frau", "Frau", "Frauen", "Frauen"},
    {"child", "children", n, "Kind", "Kind", "Kinder", "Kindern"},
    {"girl", "girls", n, "Mädchen", "Mädchen", "Mädchen", "Mädchen"},
    {"boy", "boys", m, "Junge", "Jungen", "Jungen", "Jungen"},
    {"teacher", "teachers", m, "Lehrer", "Lehrer", "Lehrer", "Lehrern"},
    {"student", "students", m, "Student", "Studenten", "Studenten", "Studenten"},
    {"friend", "friends", m, "Freund", "Freund", "Freunde", "Freunden"},
    {"aunt", "aunts", f, "Tante", "Tante", "Tanten", "Tanten"},
    {"queen", "queens", f, "Königin", "Königin", "Königinnen", "Königinnen"},
};

constexpr Noun animal_words[] = {
    {"dog", "dogs", m, "Hund", "Hund", "Hunde", "Hunden"},
    {"cat", "cats", f, "Katze", "Katze", "Katzen", "Katzen"},
    {"horse", "horses", n, "Pferd", "Pferd", "Pferde", "Pferden"},
    {"bird", "birds", m, "Vogel", "Vogel", "Vögel", "Vögeln"},
    {"cow", "cows", f, "Kuh", "Kuh", "Kühe", "Kühen"},
    {"bear", "bears", m, "Bär", "Bären", "Bären", "Bären"},
};

constexpr Noun thing_words[] = {
    {"apple", "apples", m, "Apfel", "Apfel", "Äpfel", "Äpfeln"},
    {"flower", "flowers", f, "Blume", "Blume", "Blumen", "Blumen"},
    {"picture", "pictures", n, "Bild", "Bild", "Bilder", "Bildern"},
    {"chair", "chairs", m, "Stuhl", "Stuhl", "Stühle", "Stühlen"},
    {"lamp", "lamps", f, "Lampe", "Lampe", "Lampen", "Lampen"},
    {"car", "cars", n, "Auto", "Auto", "Autos", "Autos"},
    {"key", "keys", m, "Schlüssel", "Schlüssel", "Schlüssel", "Schlüsseln"},
    {"cup", "cups", f, "Tasse", "Tasse", "Tassen", "Tassen"},
    {"glass", "glasses", n, "Glas", "Glas", "Gläser", "Gläsern"},
    {"hat", "hats", m, "Hut", "Hut", "Hüte", "Hüten"},
};

constexpr Noun openable_words[] = {
    {"door", "doors", f, "Tür", "Tür", "Türen", "Türen"},
    {"window", "windows", n, "Fenster", "Fenster", "Fenster", "Fenstern"},
    {"letter", "letters", m, "Brief", "Brief", "Briefe", "Briefen"},
    {"book", "books", n, "Buch", "Buch", "Bücher", "Büchern"},
    {"box", "boxes", f, "Kiste", "Kiste", "Kisten", "Kisten"},
    {"bag", "bags", f, "Tasche", "Tasche", "Taschen", "Taschen"},
};

constexpr Adjective adjective_words[] = {
    {"small", "klein"}, {"big", "groß"},      {"old", "alt"},    {"new", "neu"},
    {"red", "rot"},     {"black", "schwarz"}, {"white", "weiß"}, {"beautiful", "schön"},
};

constexpr Pronoun pronoun_words[] = {
    {"he", "him", {"er", "ihn", "ihm"}, false},
    {"she", "her", {"sie", "sie", "ihr"}, false},
    {"we", "us", {"wir", "uns", "uns"}, true},
    {"they", "them", {"sie", "sie", "ihnen"}, true},
};

constexpr Verb intransitive_words[] = {
    {"sleep", "sleeps", "slept", "", "schläft", "schlafen", "geschlafen", false},
    {"laugh", "laughs", "laughed", "", "lacht", "lachen", "gelacht", false},
    {"sing", "sings", "sang", "", "singt", "singen", "gesungen", false},
    {"wait", "waits", "waited", "", "wartet", "warten", "gewartet", false},
    {"run", "runs", "ran", "", "rennt", "rennen", "gerannt", true},
    {"arrive", "arrives", "arrived", "an", "kommt", "kommen", "angekommen", true},
    {"leave", "leaves", "left", "ab", "fährt", "fahren", "abgefahren", true},
    {"get up", "gets up", "got up", "auf", "steht", "stehen", "aufgestanden", true},
    {"fall asleep", "falls asleep", "fell asleep", "ein", "schläft", "schlafen", "eingeschlafen", true},
    {"take part", "takes part", "took part", "teil", "nimmt", "nehmen", "teilgenommen", false},
};

constexpr Verb living_object_words[] = {
    {"see", "sees", "saw", "", "sieht", "sehen", "gesehen", false},
    {"find", "finds", "found", "", "findet", "finden", "gefunden", false},
    {"look for", "looks for", "looked for", "", "sucht", "suchen", "gesucht", false},
    {"love", "loves", "loved", "", "liebt", "lieben", "geliebt", false},
    {"meet", "meets", "met", "", "trifft", "treffen", "getroffen", false},
    {"visit", "visits", "visited", "", "besucht", "besuchen", "besucht", false},
    {"watch", "watches", "watched", "an", "sieht", "sehen", "angesehen", false},
    {"call", "calls", "called", "an", "ruft", "rufen", "angerufen", false},
    {"invite", "invites", "invited", "ein", "lädt", "laden", "eingeladen", false},
    {"laugh at", "laughs at", "laughed at", "aus", "lacht", "lachen", "ausgelacht", false},
};

constexpr Verb thing_object_words[] = {
    {"see", "sees", "saw", "", "sieht", "sehen", "gesehen", false},
    {"find", "finds", "found", "", "findet", "finden", "gefunden", false},
    {"look for", "looks for", "looked for", "", "sucht", "suchen", "gesucht", false},
    {"buy", "buys", "bought", "", "kauft", "kaufen", "gekauft", false},
    {"sell", "sells", "sold", "", "verkauft", "verkaufen", "verkauft", false},
    {"carry", "carries", "carried", "", "trägt", "tragen", "getragen", false},
    {"throw away", "throws away", "threw away", "weg", "wirft", "werfen", "weggeworfen", false},
    {"bring back", "brings back", "brought back", "zurück", "bringt", "bringen", "zurückgebracht", false},
    {"watch", "watches", "watched", "an", "sieht", "sehen", "angesehen", false},
};

constexpr Verb openable_object_words[] = {
    {"open", "opens", "opened", "auf", "macht", "machen", "aufgemacht", false},
    {"close", "closes", "closed", "zu", "macht", "machen", "zugemacht", false},
    {"forget", "forgets", "forgot", "", "vergisst", "vergessen", "vergessen", false},
};

constexpr Verb dative_words[] = {
    {"help", "helps", "helped", "", "hilft", "helfen", "geholfen", false},
    {"thank", "thanks", "thanked", "", "dankt", "danken", "gedankt", false},
    {"follow", "follows", "followed", "", "folgt", "folgen", "gefolgt", true},
    {"listen to", "listens to", "listened to", "zu", "hört", "hören", "zugehört", false},
};

constexpr Verb giving_words[] = {
    {"give", "gives", "gave", "", "gibt", "geben", "gegeben", false},
    {"show", "shows", "showed", "", "zeigt", "zeigen", "gezeigt", false},
    {"send", "sends", "sent", "", "schickt", "schicken", "geschickt", false},
    {"offer", "offers", "offered", "an", "bietet", "bieten", "angeboten", false},
};

constexpr Verb saying_words[] = {
    {"say", "says", "said", "", "sagt", "sagen", "gesagt", false},
    {"know", "knows", "knew", "", "weiß", "wissen", "gewusst", false},
    {"believe", "believes", "believed", "", "glaubt", "glauben", "geglaubt", false},
    {"hope", "hopes", "hoped", "", "hofft", "hoffen", "gehofft", false},
};

constexpr Modal modal_words[] = {
    {"can", "can", "kann", "können"},
    {"must", "must", "muss", "müssen"},
    {"want to", "wants to", "will", "wollen"},
    {"should", "should", "soll", "sollen"},
};

constexpr Phrase time_words[] = {
    {"today", "heute"}, {"now", "jetzt"}, {"every day", "jeden Tag"}, {"in the evening", "am Abend"}};
constexpr Phrase past_time_words[] = {{"yesterday", "gestern"}, {"today", "heute"}, {"in the evening", "am Abend"}};
constexpr Phrase place_words[] = {{"in the garden", "im Garten"},       {"at school", "in der Schule"},
                                  {"in the kitchen", "in der Küche"},   {"in front of the house", "vor dem Haus"},
                                  {"under the tree", "unter dem Baum"}, {"on the street", "auf der Straße"}};
constexpr Phrase conjunction_words[] = {{"because", "weil"}, {"although", "obwohl"}, {"while", "während"}, {"before", "bevor"}};

}  // namespace

std::span<const Noun> people() { return people_words; }
std::span<const Noun> animals() { return animal_words; }
std::span<const Noun> things() { return thing_words; }
std::span<const Noun> openable_things() { return openable_words; }
std::span<const Adjective> adjectives() { return adjective_words; }
std::span<const Pronoun> pronouns() { return pronoun_words; }
std::span<const Verb> intransitive_verbs() { return intransitive_words; }
std::span<const Verb> living_object_verbs() { return living_object_words; }
std::span<const Verb> thing_object_verbs() { return thing_object_words; }
std::span<const Verb> openable_object_verbs() { return openable_object_words; }
std::span<const Verb> dative_verbs() { return dative_words; }
std::span<const Verb> giving_verbs() { return giving_words; }
std::span<const Verb> saying_verbs() { return saying_words; }
std::span<const Modal> modals() { return modal_words; }
std::span<const Phrase> times() { return time_words; }
std::span<const Phrase> past_times() { return past_time_words; }
std::span<const Phrase> places() { return place_words; }
std::span<const Phrase> conjunctions() { return conjunction_words; }

}  // namespace heddle::app
