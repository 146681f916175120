import ConcurrencySupport
import DaemonConfiguration
import Supervision

/// The output of `--check-config` for a file without problems.
struct ConfigurationSummary: Codable {
    struct Child: Codable {
        /// The kinds of children.
        enum Kind: String, Codable, CaseIterable {
            case worker, program, oneshot, group
        }

        /// The name among its siblings.
        var name: String
        /// The kind of child.
        var kind: Kind
        /// The executable of a worker or a program.
        var executable: String?
        /// The word of the file: `always`, `on_failure` or `never`.
        var restart: String
        /// The time to stop, as in the file.
        var stopTimeout: String
        /// The number of equal children; nil for one child under the name itself.
        var instances: Int?
        /// The beginnings of the names of messages that the child gets; nil: none.
        var receives: [String]?
        /// The children of a group; nil for other kinds.
        var children: [Child]?

        private enum CodingKeys: String, CodingKey {
            case name, kind, executable, restart, instances, receives, children
            case stopTimeout = "stop_timeout"
        }
    }

    /// The file, as it was named.
    var file: String
    /// True.
    var valid = true
    /// The strategy of the file's supervision: `one_for_one`, `one_for_all` or `rest_for_one`.
    var strategy: String
    /// The restarts in the period that a child may have.
    var maxRestarts: Int
    /// The period of the restarts, a duration as in the file.
    var period: String
    /// The time that workers wait for a new daemon after the end of theirs, a duration as in the file.
    var orphanGrace: String
    /// The children in the order of the file.
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
        case .worker(let worker): (kind, executable) = (.worker, worker.executable)
        case .program(let program): (kind, executable) = (program.isOneshot ? .oneshot : .program, program.command[0])
        case .group(let group): (kind, children) = (.group, group.children.map(Self.init))
        }
        instances = child.instances
        receives = child.receives.isEmpty ? nil : child.receives
        stopTimeout = child.shutdown.configurationText
    }

    func text(indentation: Int) -> String {
        let names = instances.map { "\(name)-1…\($0)" } ?? name
        let content = executable.map { "\(kind.rawValue) \($0)" } ?? "\(kind.rawValue) of \(children?.count ?? 0)"
        let receives = receives.map { ", receives \($0.joined(separator: " "))" } ?? ""
        let end = "restart \(restart), stop_timeout \(stopTimeout)\(receives)\n"
        return String(repeating: "  ", count: indentation) + "\(names): \(content), \(end)"
            + (children ?? []).map { $0.text(indentation: indentation + 1) }.joined()
    }
}
