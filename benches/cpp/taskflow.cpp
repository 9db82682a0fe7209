// Taskflow: every task emplaced in one graph, every edge by `precede`; run once on two workers.
#include <taskflow/taskflow.hpp>

#include "common.hpp"

int main() {
  const Graph graph;
  tf::Executor executor(2);
  tf::Taskflow flow;
  measure(
      [&] {
        std::vector<tf::Task> tasks;
        tasks.reserve(graph.tasks);
        for (uint32_t task = 0; task < graph.tasks; ++task) {
          tasks.push_back(flow.emplace(body(task)));
          for (uint32_t pred : graph.preds_of(task)) tasks[pred].precede(tasks[task]);
        }
      },
      [&] { executor.run(flow).wait(); });
}
