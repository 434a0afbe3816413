#include "tools/mpi/gather.hpp"

#include <algorithm>
#include <utility>

namespace skyrank::mpi {

Gathering::Gathering(int rank, int size, GatherShape shape) : receiver_(receiver_of(rank, shape)) {
  for (const int sender : senders_to(rank, size, shape)) receivings_.emplace_back(sender);
}

std::vector<PartAnswer> Gathering::receive(PartAnswer own, const std::stop_token& stop) {
  std::vector<PartAnswer> answers;
  answers.push_back(std::move(own));
  wait_until(
      [&] {
        bool all = true;
        for (Receiving& receiving : receivings_) all = receiving.advance() && all;
        return all;
      },
      stop);
  for (Receiving& receiving : receivings_) answers.push_back(part_answer(receiving.take()));
  return answers;
}

std::vector<PartAnswer> Gathering::finish(PartAnswer own, const Merge& merge, const std::stop_token& stop) {
  std::vector<PartAnswer> answers = receive(std::move(own), stop);
  const auto failed = std::ranges::find_if(answers, [](const PartAnswer& answer) { return answer.error.has_value(); });
  if (!receiver_) return failed == answers.end() ? std::move(answers) : std::vector<PartAnswer>{std::move(*failed)};
  PartAnswer merged;
  if (failed != answers.end()) {
    merged = std::move(*failed);
  } else if (answers.size() == 1) {
    merged = std::move(answers.front());
  } else {
    merged = merge(std::move(answers));
  }
  Sending(*receiver_, to_bytes(merged)).finish(stop);
  return {};
}

}  // namespace skyrank::mpi
