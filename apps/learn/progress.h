// A learner's progress, kept in the file progress.json of their folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace heddle::learn {

struct ExerciseProgress {
    int checks = 0;
    int hints = 0;  ///< number of hints shown so far
    bool started = false, passed = false;
    bool asked_for_solution = false;
};

class Progress {
  public:
    /// Reads FOLDER/progress.json if it exists. Error if heddle learn did not write it.
    explicit Progress(const std::filesystem::path& folder);

    ExerciseProgress& of(const std::string& exercise) { return exercises_[exercise]; }
    /// The progress of an exercise, which may never have been started.
    ExerciseProgress at(const std::string& exercise) const;
    /// Writes the file; makes the folder if it is missing. Error if that fails.
    void save() const;

    const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
    std::map<std::string, ExerciseProgress> exercises_;
};

/// The folder to use when none is named: the current one if it has a progress.json of heddle learn's, else "heddle-learn".
std::filesystem::path usual_folder();

}  // namespace heddle::learn
