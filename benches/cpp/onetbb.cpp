// oneTBB: a continue node for every task, every edge by `make_edge`; the sources are put once, on two threads.
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include <deque>

#include "common.hpp"

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

int main() {
  const Graph input;
  tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
  tbb::flow::graph graph;
  std::deque<Node> nodes;
  measure(
      [&] {
        for (uint32_t task = 0; task < input.tasks; ++task) {
          nodes.emplace_back(graph, [call = body(task)](const tbb::flow::continue_msg&) { call(); });
          for (uint32_t pred : input.preds_of(task)) tbb::flow::make_edge(nodes[pred], nodes[task]);
        }
      },
      [&] {
        for (uint32_t task = 0; task < input.tasks; ++task) {
          if (input.preds_of(task).empty()) nodes[task].try_put(tbb::flow::continue_msg());
        }
        graph.wait_for_all();
      });
}
