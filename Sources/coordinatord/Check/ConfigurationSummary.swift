import ConcurrencySupport
import DaemonConfiguration
import Supervision

/// The output of `--check-config` for a file without problems.
struct ConfigurationSummary: Codable {
    struct Child: Codable {
        var name: String
        var kind: String
        /// The executable of a worker or a program.
        var executable: String?
        var restart: String
        var stopTimeout: String
        var instances: Int?
        /// The beginnings of the names of messages that the child gets; nil: none.
        var receives: [String]?
        /// The children of a group.
        var children: [Child]?

        private enum CodingKeys: String, CodingKey {
            case name, kind, executable, restart, instances, receives, children
            case stopTimeout = "stop_timeout"
        }
    }

    var file: String
    var valid = true
    var strategy: String
    var maxRestarts: Int
    var period: String
    var orphanGrace: String
    var children: [Child]

    private enum CodingKeys: String, CodingKey {
        case file, valid, strategy, period, children
        case maxRestarts = "max_restarts"
        case orphanGrace = "orphan_grace"
    }

    init(of configuration: DaemonConfiguration, file: String) {
        self.file = file
        strategy = configuration.supervision.strategy.configurationText
        maxRestarts = configuration.supervision.intensity
        period = configuration.supervision.period.configurationText
        orphanGrace = configuration.orphanGrace.configurationText
        children = configuration.children.map(Child.init)
    }

    var text: String {
        let count = children.count == 1 ? "1 child" : "\(children.count) children"
        let first = "\(file): ok; \(count), \(strategy), at most \(maxRestarts) restarts in \(period)\n"
        return first + children.map { $0.text(indentation: 1) }.joined()
    }
}

extension ConfigurationSummary.Child {
    init(_ child: ConfiguredChild) {
        name = child.key
        restart = child.restart.configurationText
        switch child.content {
        case .worker(let worker): (kind, executable) = ("worker", worker.executable)
        case .program(let program): (kind, executable) = (program.isOneshot ? "oneshot" : "program", program.command[0])
        case .group(let group): (kind, children) = ("group", group.children.map(Self.init))
        }
        instances = child.instances
        receives = child.receives.isEmpty ? nil : child.receives
        stopTimeout = child.shutdown.configurationText
    }

    func text(indentation: Int) -> String {
        let names = instances.map { "\(name)-1…\($0)" } ?? name
        let content = executable.map { "\(kind) \($0)" } ?? "\(kind) of \(children?.count ?? 0)"
        let receives = receives.map { ", receives \($0.joined(separator: " "))" } ?? ""
        let end = "restart \(restart), stop_timeout \(stopTimeout)\(receives)\n"
        return String(repeating: "  ", count: indentation) + "\(names): \(content), \(end)"
            + (children ?? []).map { $0.text(indentation: indentation + 1) }.joined()
    }
}
