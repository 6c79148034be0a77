// Makes a compiler write the location expressions of typical C++: containers, algorithms, exceptions and streams, inlined into each other.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

struct Edge {
    std::string to;
    double weight;
};

using Graph = std::unordered_map<std::string, std::vector<Edge>>;

Graph parse(std::istream &in) {
    static const std::regex line("(\\w+) *-> *(\\w+) *: *([0-9.]+)");
    Graph graph;
    for (std::string text; std::getline(in, text);) {
        std::smatch found;
        if (!std::regex_match(text, found, line))
            throw std::runtime_error("not an edge: " + text);
        graph[found[1]].push_back({found[2], std::stod(found[3])});
        graph[found[2]];
    }
    return graph;
}

std::optional<double> distance(const Graph &graph, const std::string &from, const std::string &to) {
    using Entry = std::pair<double, std::string>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open;
    std::map<std::string, double> known;
    open.emplace(0, from);
    while (!open.empty()) {
        auto [length, name] = open.top();
        open.pop();
        if (name == to)
            return length;
        if (!known.emplace(name, length).second)
            continue;
        auto edges = graph.find(name);
        if (edges == graph.end())
            continue;
        for (const Edge &edge : edges->second)
            open.emplace(length + edge.weight, edge.to);
    }
    return std::nullopt;
}

std::variant<std::string, std::vector<double>> summary(const Graph &graph) {
    std::vector<double> weights;
    for (const auto &[name, edges] : graph)
        std::transform(edges.begin(), edges.end(), std::back_inserter(weights), [](const Edge &edge) { return edge.weight; });
    if (weights.empty())
        return std::string("no edge");
    std::sort(weights.begin(), weights.end());
    std::partial_sum(weights.begin(), weights.end(), weights.begin());
    return weights;
}

std::string show(const Graph &graph) {
    std::ostringstream out;
    std::set<std::string> names;
    for (const auto &node : graph)
        names.insert(node.first);
    for (const std::string &name : names)
        out << name << '=' << distance(graph, *names.begin(), name).value_or(-1) << ' ';
    std::visit([&](const auto &found) {
        if constexpr (std::is_same_v<std::decay_t<decltype(found)>, std::string>)
            out << found;
        else
            out << std::accumulate(found.begin(), found.end(), 0.0);
    }, summary(graph));
    return out.str();
}

extern "C" int run(const char *text) {
    try {
        std::istringstream in(text);
        auto graph = std::make_unique<Graph>(parse(in));
        std::cout << show(*graph) << '\n';
        return 0;
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
