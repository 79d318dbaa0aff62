// What a learner has done, in the file progress.json of their folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace heddle::learn {

struct ExerciseProgress {
    int checks = 0;
    int hints = 0;  ///< shown so far
    bool started = false, passed = false;
    bool asked_for_solution = false;
};

class Progress {
  public:
    /// Reads FOLDER/progress.json if it is there. Error if it is not one of heddle learn's.
    explicit Progress(const std::filesystem::path& folder);

    ExerciseProgress& of(const std::string& exercise) { return exercises_[exercise]; }
    /// Nothing done if it was never started.
    ExerciseProgress at(const std::string& exercise) const;
    /// Writes the file, and the folder if it is missing. Error.
    void save() const;

    const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
    std::map<std::string, ExerciseProgress> exercises_;
};

/// The folder to use when none is named: the current one if it has a progress.json of heddle learn's, else "heddle-learn".
std::filesystem::path usual_folder();

}  // namespace heddle::learn
