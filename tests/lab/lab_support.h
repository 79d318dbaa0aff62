// Helpers for the tests of the lab's experiments.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "apps/lab/experiment.h"
#include "core/error.h"

namespace heddle {

/// Expects the parts of every result: a number per variant, three sentences, pictures with captions, a page with all of it.
inline void expect_complete(const lab::Experiment& experiment, const lab::Result& result) {
    EXPECT_GE(result.variants.size(), 2u);
    ASSERT_FALSE(result.findings.empty());
    for (const lab::Finding& finding : result.findings)
        EXPECT_EQ(finding.values.size(), result.variants.size()) << experiment.name << ": " << finding.what;
    int sentences = experiment.why.ends_with('.') ? 1 : 0;
    for (std::size_t at = experiment.why.find(". "); at < experiment.why.size(); at = experiment.why.find(". ", at + 1))
        ++sentences;
    EXPECT_EQ(sentences, 3) << experiment.name << ": " << experiment.why;
    EXPECT_FALSE(result.figures.empty()) << experiment.name;
    const std::string html = lab::page(experiment, result, "heddle lab " + std::string(experiment.name)).html();
    for (const picture::Figure& figure : result.figures) {
        EXPECT_TRUE(figure.svg.starts_with("<svg")) << experiment.name;
        EXPECT_FALSE(figure.caption.empty()) << experiment.name;
        EXPECT_TRUE(html.find(figure.svg) != std::string::npos) << experiment.name;
    }
}

/// Runs the experiment and expects its result to be complete. Error when there is no such experiment.
inline lab::Result run_experiment(const std::string& name) {
    const auto experiment = std::ranges::find(lab::experiments(), name, &lab::Experiment::name);
    if (experiment == lab::experiments().end()) fail("test: there is no experiment " + name);
    lab::Result result = experiment->run({});
    expect_complete(*experiment, result);
    return result;
}

}  // namespace heddle
