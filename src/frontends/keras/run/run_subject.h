// RunSubject: what a run trains, and on what. A checkpoint of another subject is not gone on from.
#pragma once
#include "frontends/keras/files/json_fields.h"
#include "frontends/keras/run/samples.h"

namespace pando::keras {

struct RunLayer {
  std::string name, kind;
  // All settings but the name, which may be made by counting.
  Json config;
};

struct RunSubject {
  // steps and samples are negative if they are not known.
  std::int64_t batch_size = 0, steps = 0, samples = 0;
  std::string columns;
  // Fingerprints of all values of the arrays that the samples are made of; empty if a program makes them, by
  // Dataset::from_generator.
  std::string values, validation_values;
  // Empty if one of them cannot be described, such as one with a function of the program in it.
  std::vector<RunLayer> layers;
  std::vector<std::string> losses;
  // "0: 1, 1: 2.5"
  std::string class_weight;
};

// `validation` may be null.
RunSubject subject_of(const Model& model, const std::vector<OutputGoals>& goals, const Samples& samples,
                      const Samples* validation, const std::map<std::int64_t, double>& class_weight);

Json to_json(const RunSubject& subject);
// Throws Error naming the member that makes no sense.
RunSubject subject_of(const JsonFields& fields);

// In what they differ, one sentence each, is added to `found`.
void compare(std::vector<std::string>& found, const RunSubject& there, const RunSubject& here);

}  // namespace pando::keras
